"""Servers without the programs themselves: toys in their place, and what those would be told."""

import json
import os
import signal
import socket
import stat
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import psutil
import pytest
import typer

from infra.servers import __main__ as servers
from infra.servers import postgres, server
from infra.servers.__main__ import (
    announce_servers,
    main,
)
from infra.servers.secrets import load_secrets
from infra.servers.server import Server, StartError
from infra.servers.topology import Database, Files, Topology
from infra.servers.watch import (
    FIRST_WAIT_SECONDS,
    LONGEST_WAIT_SECONDS,
    describe_exit,
    restart,
    watch,
)
from tests.support.commands import invoke

ANSWER = """\
import signal, socket, subprocess, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
wait = [sys.executable, "-c", "import time; time.sleep(120)"]
child = subprocess.Popen(wait)
print("child", child.pid, flush=True)
time.sleep(120)
"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ANSWER
HEIR = ANSWER.replace("Popen(wait)", "Popen(wait, stdin=listener)")
"""Its child, too, holds the port, as the workers of a web server do."""
FAIL = "import sys; print('starting', flush=True); sys.exit('no such database')"


@dataclass(eq=False)
class Toy(Server):
    name = "toy"
    script: str = field(default=ANSWER, kw_only=False)

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def command(self):
        return [sys.executable, "-c", self.script, str(self.port)]

    def answers(self):
        with socket.socket() as caller:
            return caller.connect_ex((self.host, self.port)) == 0


@pytest.fixture(autouse=True)
def _umask():
    """What a program takes from others for itself, it takes from the process of the tests, too."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path)
    yield toy
    toy.kill()


def child(toy):
    while not toy.log.read_text().endswith("\n"):  # another thread writes it
        time.sleep(0.01)
    return psutil.Process(int(toy.log.read_text().split()[1]))


def gone(process):
    """Whether a process has ended; it lets go of its files a moment before."""
    end = time.monotonic() + 60
    with suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
    return True


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_nothing_is_left_of_a_server(toy, way):
    toy.start()
    left = child(toy)
    assert toy.running

    getattr(toy, way)()

    assert not toy.running
    assert not toy.answers()
    assert gone(left)


def test_a_server_that_does_not_listen_to_reason_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "GRACE_SECONDS", 0.3)
    deaf = Toy(tmp_path, DEAF)
    deaf.start()
    left = child(deaf)

    deaf.stop()

    assert not deaf.running
    assert gone(left)


def test_a_server_starts_again_where_it_was(toy):
    toy.start()
    address = toy.address
    toy.kill()
    toy.start()

    assert address == toy.address
    assert toy.answers()


def test_what_a_killed_main_process_leaves_makes_way(tmp_path):
    toy = Toy(tmp_path, HEIR)
    toy.start()
    left = child(toy)
    left.parent().kill()
    while toy.running:
        time.sleep(0.01)
    assert -signal.SIGKILL == toy.code

    assert toy.answers()

    end = time.monotonic() + 20
    while not toy.running:  # the system gives the port back a moment after who held it has ended
        with suppress(StartError) if time.monotonic() < end else nullcontext():
            toy.start()
    toy.kill()

    assert gone(left)


def test_a_server_that_ends_at_once_is_told_with_its_last_line(tmp_path):
    failing = Toy(tmp_path, FAIL)

    with pytest.raises(StartError, match=r"toy ended before it answered; .*'no such database'"):
        failing.start()
    assert "starting\nno such database\n" == failing.log.read_text()


def test_a_server_that_never_answers_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "READY_SECONDS", 0.2)
    silent = Toy(tmp_path, "import time; time.sleep(60)")

    with pytest.raises(StartError, match=r"toy does not answer at 127\.0\.0\.1:"):
        silent.start()
    silent.kill()


def test_a_taken_port_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        taken = Toy(tmp_path, port=number)

        with pytest.raises(StartError, match=f"toy cannot listen on 127.0.0.1:{number}, where"):
            taken.start()
    assert not taken.log.exists()


def test_a_place_where_we_may_not_listen_is_named(tmp_path):
    """Such as an address of another machine, here one that is kept for documents."""
    for port in (0, 4200):
        with pytest.raises(StartError, match=rf"toy cannot listen on 192\.0\.2\.1:{port}: Cannot"):
            Toy(tmp_path, host="192.0.2.1", port=port).start()


def test_a_log_does_not_grow_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "LOG_BYTES", 1000)
    chatty = Toy(tmp_path, "for number in range(1000): print('line', number)")

    with pytest.raises(StartError, match="line 999"):
        chatty.start()
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("toy.log*"))]
    assert 2 == len(sizes)
    assert max(sizes) <= 1000


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_a_server_keeps_is_its_users_alone(toy, tmp_path):
    """Also where an older version has let others in."""
    (tmp_path / "toy").mkdir(mode=0o755)
    (tmp_path / "toy.log").touch(mode=0o644)
    toy.start()

    assert (0o700, 0o600) == (mode(tmp_path / "toy"), mode(toy.log))


def test_servers_write_nothing_that_others_can_read(tmp_path):
    """Records hold all parameters of all runs; others pass through the folder, to no more."""
    folder = tmp_path / "servers"
    folder.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        with pytest.raises(typer.Exit):
            main(folder=folder, host="0.0.0.0")
    finally:
        during = os.umask(before)

    assert (0o077, 0o711) == (during, mode(folder))


# the real ones


def test_no_secret_stands_in_a_command(full, tmp_path):
    secrets = load_secrets(tmp_path / "secrets.json").model_dump().values()
    words = [word for one in full for word in one.command()]

    assert len(set(secrets)) == 6
    assert [] == [word for word in words for secret in secrets if secret in word]


def test_who_needs_a_secret_finds_it_in_its_environment(full, tmp_path):
    secrets = load_secrets(tmp_path / "secrets.json")
    told = {one.name: " ".join(one.variables().values()) for one in full}

    assert secrets.prefect in told["prefect"]
    assert secrets.password in told["prefect"]
    assert secrets.mlflow in told["mlflow"]
    assert secrets.key in told["mlflow"]
    assert f'"{secrets.key_id},{secrets.key}"' in told["store"]  # a list, as rclone wants it
    assert secrets.administrator not in " ".join(told.values())


def test_workers_need_the_three_that_answer_them(full):
    assert {
        "AWS_ACCESS_KEY_ID",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL_S3",
        "AWS_SECRET_ACCESS_KEY",
        "MLFLOW_TRACKING_PASSWORD",
        "MLFLOW_TRACKING_URI",
        "MLFLOW_TRACKING_USERNAME",
        "PREFECT_API_AUTH_STRING",
        "PREFECT_API_URL",
    } == set(full.environment)


def test_nobody_is_let_in_without_a_password(tmp_path):
    """Other accounts of a machine reach its loopback address, too."""
    here = Topology(tmp_path)
    password = load_secrets(tmp_path / "secrets.json").password

    assert f"admin:{password}" == here.prefect.variables()["PREFECT_SERVER_API_AUTH_STRING"]
    assert f"admin:{password}" == here.prefect.environment["PREFECT_API_AUTH_STRING"]
    assert "--app-name=nmt" in here.mlflow.command()
    assert password == here.mlflow.variables()["MLFLOW_AUTH_ADMIN_PASSWORD"]
    assert password == here.mlflow.environment["MLFLOW_TRACKING_PASSWORD"]


def test_prefect_answers_no_page_but_its_own(tmp_path):
    allowed = {
        host: Topology(tmp_path, host=host, ports={"prefect": 4200}).prefect.variables()[
            "PREFECT_SERVER_CORS_ALLOWED_ORIGINS"
        ]
        for host in ("127.0.0.1", "127.0.0.2")
    }

    assert {
        "127.0.0.1": "http://127.0.0.1:4200,http://localhost:4200",
        "127.0.0.2": "http://127.0.0.2:4200",
    } == allowed


def test_the_database_stays_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("infra.servers.postgres.find_programs", lambda: tmp_path)
    monkeypatch.setattr("infra.servers.programs.find_rclone", lambda: "/rclone")
    wide = Topology(tmp_path, database=Database.postgres, files=Files.s3, host="127.0.0.2")

    assert {
        "postgres": "127.0.0.1",
        "store": "127.0.0.2",
        "prefect": "127.0.0.2",
        "mlflow": "127.0.0.2",
    } == {one.name: one.host for one in wide}


def test_servers_tell_nobody_of_themselves(full):
    for one in (full.prefect, full.mlflow):
        told = one.variables()
        assert ("1", "false", "true") == (
            told["DO_NOT_TRACK"],
            told["PREFECT_SERVER_ANALYTICS_ENABLED"],
            told["MLFLOW_DISABLE_TELEMETRY"],
        )


def test_secrets_are_made_once_and_for_their_owner(tmp_path):
    path = tmp_path / "servers" / "secrets.json"
    first = load_secrets(path)

    assert first == load_secrets(path)
    assert {48} == {len(secret) for secret in first.model_dump().values()}
    assert first != load_secrets(tmp_path / "other.json")
    assert 0o600 == path.stat().st_mode & 0o777


def test_what_an_older_file_lacks_is_made_up_once(tmp_path):
    path = tmp_path / "secrets.json"
    older = load_secrets(path).model_dump(exclude={"password"})
    path.write_text(json.dumps(older))

    completed = load_secrets(path)

    assert older == completed.model_dump(exclude={"password"})
    assert completed == load_secrets(path)


def test_programs_of_the_folder_find_the_servers_while_they_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = tmp_path / "servers" / "environment"
    environment.parent.mkdir()
    environment.write_text("export PREFECT_API_URL=http://127.0.0.1:1/api\n")

    for _ in range(2):
        with announce_servers(environment) as known:
            assert known
            assert "servers/environment" == str(Path(".env").readlink())
        assert not Path(".env").is_symlink()
        Path(".env").symlink_to("servers/environment")  # as a program leaves it that is killed


@pytest.mark.parametrize("dangling", [False, True])
def test_a_file_of_somebody_else_is_left_alone(tmp_path, monkeypatch, dangling):
    monkeypatch.chdir(tmp_path)
    if dangling:
        Path(".env").symlink_to("not/yet/mounted")
    else:
        Path(".env").write_text("MINE=1\n")

    with announce_servers(tmp_path / "environment") as known:
        assert not known
    assert Path(".env").is_symlink() == dangling
    assert dangling or "MINE=1\n" == Path(".env").read_text()


def test_without_postgresql_there_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "INSTALLED", tmp_path)

    with pytest.raises(StartError, match="not installed; run: apt-get install postgresql"):
        postgres.find_programs()


def test_a_program_of_the_database_that_fails_is_told_with_its_reason(tmp_path, monkeypatch):
    """A script by its own name, where sh runs it; what goes well is no matter of words."""
    monkeypatch.setattr(postgres, "find_programs", lambda: tmp_path)
    monkeypatch.setattr(postgres.os, "geteuid", lambda: 1000)
    database = postgres.Postgres(tmp_path, secrets=load_secrets(tmp_path / "secrets"))
    database.folder.mkdir()
    script = tmp_path / "make.sh"
    script.write_text('echo "$REASON" >&2; exit $CODE')

    database._run(["/bin/sh", str(script)], environment={"CODE": "0", "REASON": "a warning"})
    with pytest.raises(StartError, match=r"^make\.sh failed: no room$"):
        database._run(["/bin/sh", str(script)], environment={"CODE": "3", "REASON": "no room"})
    with pytest.raises(StartError, match=r"^false failed"):
        database._run(["/bin/false"])


def test_the_newest_postgresql_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "INSTALLED", tmp_path)
    for version in ("9.6", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "initdb").touch()

    assert tmp_path / "17" / "bin" == postgres.find_programs()


def test_a_closed_folder_on_the_way_is_named():
    with TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        closed = Path(made) / "closed"
        closed.mkdir(mode=0o700)

        with pytest.raises(StartError, match=f"postgres, who may not pass through {closed}; run"):
            postgres.check_reach(closed / "servers", "postgres")


# starting again


class Fake:
    name = "fake"
    log = "fake.log"
    code = 3

    def __init__(self):
        self.running = True
        self.launched = 0
        self.well = True

    def answers(self):
        return self.well

    def launch(self):
        self.launched += 1
        if not self.well:
            raise StartError("no")
        self.running = True


class Clock:
    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_what_fails_again_is_started_ever_more_rarely(monkeypatch):
    clock, fake, said = Clock(monkeypatch), Fake(), []
    watched = restart(fake, said.append)
    fake.running = fake.well = False
    moments = []
    while len(moments) < 10:
        before = fake.launched
        next(watched)
        if fake.launched > before:
            moments.append(clock.now)
        clock.now += 0.5

    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert FIRST_WAIT_SECONDS == moments[0]
    assert sorted(waits) == waits
    assert [2.0, 4.0, 8.0] == waits[:3]
    assert LONGEST_WAIT_SECONDS == waits[-1]
    assert said[:2] == [
        "fake: ended with code 3, see fake.log; starting it again in 1 s",
        "fake: no; starting it again in 2 s",
    ]


def test_an_end_is_told_with_its_own_reason_and_not_that_of_a_start_before(monkeypatch):
    clock, fake, said = Clock(monkeypatch), Fake(), []
    watched = restart(fake, said.append)
    for well in (False, True, True):  # it fails to start, starts, and ends again
        fake.well, fake.running = well, False
        for _ in range(4):
            next(watched)
            clock.now += 0.5

    assert "fake: no; starting it again in 2 s" in said
    assert said[-2].startswith("fake: ended with code 3, see fake.log")


def test_all_servers_are_looked_at_until_a_signal_ends_it(monkeypatch):
    """The first of which has died, and is started again."""
    servers, rounds = [Fake(), Fake()], iter(range(5))
    servers[0].running = servers[1].well = False

    def sleep(_):
        if next(rounds, None) is None:
            raise SystemExit

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr("infra.servers.watch.FIRST_WAIT_SECONDS", 0.0)
    said = []
    with pytest.raises(SystemExit):
        watch(servers, said.append)

    assert [1, 0] == [one.launched for one in servers]
    assert "fake answers again" == said[-1]


@pytest.mark.parametrize(
    ("code", "told"), [(0, "ended"), (1, "ended with code 1"), (-9, "was killed by SIGKILL")]
)
def test_who_was_killed_is_not_said_to_have_ended_well(code, told):
    assert told == describe_exit(code)


def test_what_answered_again_is_started_soon_the_next_time(monkeypatch):
    clock, fake, said = Clock(monkeypatch), Fake(), []
    watched = restart(fake, said.append)
    for _ in range(2):
        fake.running = False
        for _ in range(4):
            next(watched)
            clock.now += 0.5

    assert 2 == fake.launched
    assert 2 == said.count("fake answers again")
    assert {"fake: ended with code 3, see fake.log; starting it again in 1 s"} == set(said[::2])


def test_a_server_is_back_when_it_answers_not_when_it_runs(monkeypatch):
    clock, fake, said = Clock(monkeypatch), Fake(), []
    watched = restart(fake, said.append)
    fake.running = False
    next(watched)
    clock.now += FIRST_WAIT_SECONDS
    next(watched)
    assert fake.running

    fake.well = False
    next(watched)
    assert "fake answers again" not in said
    fake.well = True
    next(watched)
    assert "fake answers again" == said[-1]


# what a user may say


@pytest.mark.parametrize("words", [[], ["--leashed"]])
def test_who_is_told_so_ends_with_the_program_that_started_it(tmp_path, monkeypatch, words):
    leashed = []
    monkeypatch.setattr(servers, "end_with_parent", lambda: leashed.append("--leashed"))
    refused = invoke(main, *words, "--folder", str(tmp_path), "--host", "0.0.0.0")

    assert refused.exit_code == 1
    assert words == leashed


def test_what_stops_is_told_and_long_sentences_stay_whole(tmp_path, monkeypatch):
    stopped = []
    topology = SimpleNamespace(stop=lambda: stopped.append("all"))
    long = "mlflow " * 60
    for name, value in {
        "Topology": lambda *_, **__: topology,
        "start": lambda *_: None,
        "announce_servers": nullcontext,
        "write_environment": lambda *_: True,
        "tell": lambda *_, **__: None,
        "watch": lambda _, say: say(long),
    }.items():
        monkeypatch.setattr(servers, name, value)
    told = invoke(main, "--folder", str(tmp_path)).output

    assert told == f"{long}\nstopping\n"
    assert stopped == ["all"]
