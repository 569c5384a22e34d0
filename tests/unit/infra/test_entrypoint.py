"""The first process of a container, within the process of the test: whom it asks for what."""

import os
import signal
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace

import psutil
import pytest

from tests.support.processes import wait_for
from tests.support.projects import PROJECT

PATH = PROJECT / "infra/docker/entrypoint.py"


@pytest.fixture
def entrypoint(monkeypatch):
    """The program, whose git succeeds, and all that it asks for."""
    spec = spec_from_file_location("entrypoint", PATH)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    module.asked, module.fails = [], None

    def run(command, *, check, **how):
        module.asked.append((command, check, how))
        code = int(bool(module.fails and module.fails in command))
        if code and check:
            raise subprocess.CalledProcessError(7, command)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(module.subprocess, "run", run)
    for name in ("NMT_REPOSITORY", "NMT_REVISION", "NMT_DVC_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    yield module
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ("fetch", "error: git fetch --quiet --force --tags origin ended with 7"),
        ("checkout", "error: git checkout --quiet --force --detach origin/HEAD ended with 7"),
        ("dvc", "store s3 ended with 7"),
    ],
)
def test_trouble_is_told_and_nothing_is_run(entrypoint, monkeypatch, fails, told):
    monkeypatch.setenv("NMT_REPOSITORY", "there")
    monkeypatch.setenv("NMT_DVC_REMOTE", "s3")
    monkeypatch.setattr(entrypoint, "run", lambda _: pytest.fail("it has begun"))
    entrypoint.fails = fails
    with pytest.raises(SystemExit) as ended:
        entrypoint.main()
    assert str(ended.value.code).endswith(told)


def test_without_a_repository_it_asks_for_one(entrypoint, monkeypatch):
    with pytest.raises(SystemExit, match="error: 'NMT_REPOSITORY' is not set; say what to work on"):
        entrypoint.main()


def test_it_ends_with_the_code_of_its_command_and_by_a_signal_before_it(entrypoint, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["entrypoint", "a", "b"])
    during = []

    def check_out():
        during.extend(signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT))

    monkeypatch.setattr(entrypoint, "check_out", check_out)
    monkeypatch.setattr(entrypoint, "run", lambda command: {("a", "b"): 7}[tuple(command)])
    with pytest.raises(SystemExit) as ended:
        entrypoint.main()
    assert ended.value.code == 7
    assert during == [entrypoint.leave] * 2
    for number in (signal.SIGTERM, signal.SIGINT):
        with pytest.raises(SystemExit) as ended:
            entrypoint.leave(number, None)
        assert ended.value.code == 128 + number


@pytest.mark.skipif(sys.platform != "linux", reason="containers are Linux")
def test_what_never_ends_is_given_up_in_time(entrypoint):
    """An orphan that ends before the command is neither its end nor its code."""
    assert 0 < entrypoint.LEAVE_SECONDS < 120
    program = f"""
import sys
own = {{"__name__": "own"}}
exec(open({str(PATH)!r}).read(), own)
own["LEAVE_SECONDS"] = 1
sys.exit(own["run"](sys.argv[1:]))
"""
    command = "(sh -c 'exit 3' &); sleep 1.5; (sleep 60 &); exit 7"
    with subprocess.Popen([sys.executable, "-c", program, "sh", "-c", command]) as process:
        entry = psutil.Process(process.pid)
        assert wait_for(lambda: [one.name() for one in entry.children()] == ["sleep"], seconds=60)
        [left] = entry.children()
        process.terminate()  # of the command, which has ended by now, nobody is there to be told
        assert process.wait(20) == 7
    left.kill()


def test_only_linux_gives_orphans_to_it(entrypoint, monkeypatch):
    monkeypatch.setattr(entrypoint.sys, "platform", "darwin")
    monkeypatch.setattr(entrypoint.ctypes, "CDLL", lambda _: pytest.fail("there is no prctl"))
    process = SimpleNamespace(pid=os.getpid())
    monkeypatch.setattr(entrypoint.subprocess, "Popen", lambda _: process)

    def wait():
        raise ChildProcessError

    monkeypatch.setattr(entrypoint.os, "wait", wait)
    assert entrypoint.run(["a"]) == 0
    told = []
    monkeypatch.setattr(entrypoint.os, "kill", lambda *to: told.append(to))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.getsignal(number)(number, None)
    assert told == [(process.pid, signal.SIGTERM)] * 2
