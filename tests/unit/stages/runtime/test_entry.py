"""Arguments, exit codes, messages and signals of a stage."""

import errno
import os
import signal
import subprocess
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest

from nmt_core.base.errors import ConfigError, CorpusError, NmtError, ServerError
from stages.runtime import entry
from tests.support.processes import wait_for


@pytest.fixture
def program(monkeypatch):
    """Act as a program with a name, a docstring and arguments."""

    def pose(name, described="", *arguments):
        module = ModuleType("__main__", described)
        module.__spec__ = SimpleNamespace(name=name) if name else None
        monkeypatch.setitem(sys.modules, "__main__", module)
        monkeypatch.setattr(sys, "argv", ["program", *arguments])

    pose("elsewhere")
    return pose


PLAIN = "What it does.\n\nUsage: python -m stages.x\n\nReads: [all]"
OPTIONAL = "What it does.\n\nUsage: python -m stages.x [SECTION]\n"


@pytest.mark.parametrize(
    ("name", "described", "arguments", "outcome"),
    [
        ("stages.x", PLAIN, ("y", "-h"), "help"),
        ("stages.x", OPTIONAL, ("--help",), "help"),
        ("stages.x.__main__", PLAIN, ("--help",), "help"),
        ("stages.x", PLAIN, ("first", "second"), "error"),
        ("stages.x", PLAIN, (), None),
        ("stages.x", OPTIONAL, ("y",), None),
        ("stages.x", "What it does.", ("--help",), None),
        ("flows.x", PLAIN.replace("stages", "flows"), ("--help",), None),
        (None, PLAIN, ("--help",), None),
    ],
)
def test_help_is_shown_and_unused_arguments_are_refused(
    program, capsys, name, described, arguments, outcome
):
    program(name, described, *arguments)
    if outcome == "help":
        with pytest.raises(SystemExit) as ended:
            entry.answer_arguments()
        assert ended.value.code == 0
    elif outcome == "error":
        with pytest.raises(ConfigError, match=r"^stages\.x takes no arguments, got 'first'"):
            entry.answer_arguments()
    else:
        entry.answer_arguments()
    assert capsys.readouterr().out.strip() == (described.strip() if outcome == "help" else "")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (None, 0, ""),
        (KeyboardInterrupt(), 130, ""),
        (CorpusError("[b]x[/b] is empty"), 1, "[b]x[/b] is empty\n"),
        (NmtError("x" * 300), 1, "x" * 300 + "\n"),
        (ServerError("away"), os.EX_TEMPFAIL, "away\n"),
        (MemoryError(), 1, "out of memory"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.txt"), 1, "a.txt"),
    ],
)
def test_errors_become_a_code_and_a_line(project, program, capsys, error, code, message):
    def work():
        if error is not None:
            raise error

    assert entry._run(work) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", bool(message))
    assert message in err


def test_programming_errors_are_raised(project, program):
    with pytest.raises(ValueError, match="invalid literal"):
        entry._run(lambda: int("x"))


PIPELINE = """
stages:
  one: {cmd: x, outs: [data/one, {data/kept: {persist: true}}]}
  two: {cmd: x, metrics: [metrics/two.json], plots: [{plots/two.csv: {x: a}}]}
  three: {cmd: x}
"""


@pytest.mark.parametrize(
    ("missing", "stage"),
    [
        ("data/one", "one"),
        ("data/one/part.txt", "one"),
        ("data/kept", "one"),
        ("metrics/two.json", "two"),
        ("plots/two.csv", "two"),
        ("data/other", None),
    ],
)
def test_a_missing_output_is_reported_with_its_stage(project, missing, stage):
    error = FileNotFoundError(2, "No such file", missing)
    assert entry._missing(error) is None
    (project / "dvc.yaml").write_text(PIPELINE)
    expected = stage and f"{missing} is missing; the {stage} stage writes it: make repro"
    for reported in (error, OSError(f"cannot open '{missing}'")):
        message = entry._missing(reported)
        assert (message and str(message)) == expected
    assert entry._missing(KeyError(missing)) is None
    (project / missing).parent.mkdir(parents=True)
    (project / missing).touch()
    assert entry._missing(error) is None


@pytest.mark.parametrize("ignored", [True, False])
def test_signals_are_handled_until_the_end(monkeypatch, program, ignored):
    """A stage started by nohup continues after its terminal closes."""
    names = (signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.getsignal(name) for name in names}
    signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    during = {}
    monkeypatch.setattr(entry, "end_with_parent", lambda: None)
    monkeypatch.setattr(entry.gc, "freeze", lambda: None)
    monkeypatch.setattr(threading, "enumerate", list)  # other tests may have left threads

    def work():
        during.update({name: signal.getsignal(name) for name in names})
        signal.raise_signal(signal.SIGTERM)

    try:
        with pytest.raises(SystemExit) as ended:
            entry.run_stage(work)
        assert ended.value.code == 143
        assert during[signal.SIGTERM] is entry._exit
        assert (during[signal.SIGHUP] is entry._exit) is not ignored
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


PROGRAM = """
import atexit, gc, os, signal, sys, threading, time
from nmt_core.base.errors import CorpusError
from stages.runtime.entry import run_stage

def main():
    {body}

run_stage(main)
"""
THREAD = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); "
LATER = "atexit.register(print, 'later'); print('now'); print('end', end='', file=sys.stderr)"


@pytest.mark.parametrize(
    ("body", "code", "out", "err"),
    [
        ("assert gc.get_freeze_count() > 1000", 0, "", ""),
        (f"raise CorpusError({'x' * 200!r})", 1, "", "x" * 200 + "\n"),
        (LATER, 0, "now\nlater\n", "end"),
        (THREAD + LATER, 0, "now\n", "end"),  # Python's own exit could wait for the thread
        (f"{THREAD}{LATER}; sys.exit(3)", 3, "now\n", "end"),
        (f"{THREAD}{LATER}; sys.exit(' here')", 1, "now\nlater\n", "end here\n"),
        (  # a signal at the end leaves no traceback
            "atexit.register(lambda: (print('end', flush=True), os.kill(os.getpid(), 15)))",
            -signal.SIGTERM,
            "end\n",
            "",
        ),
    ],
)
def test_programs_end_with_code_and_output(body, code, out, err):
    command = [sys.executable, "-c", PROGRAM.format(body=body)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_stage_ends_with_its_parent(tmp_path):
    flag = tmp_path / "ended"
    body = "\n    try: print(os.getpid(), flush=True); time.sleep(60)\n"
    body += f"    finally: open({str(flag)!r}, 'w').close()"
    program = [sys.executable, "-c", PROGRAM.format(body=body)]
    child = f"import subprocess; subprocess.run({program!r})"
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) > 0
        os.kill(parent.pid, signal.SIGKILL)
    assert wait_for(flag.exists, seconds=60)
