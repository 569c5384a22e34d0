"""How a stage begins and ends, within one process: arguments, exit codes, sentences."""

import errno
import os
import signal
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest

from nmt_core.base.errors import ConfigError, CorpusError, NmtError, ServerError
from stages.runtime import entry


@pytest.fixture
def program(monkeypatch):
    """Be a program of some name, with some documentation, started with some arguments."""

    def be(name, described="", *arguments):
        module = ModuleType("__main__", described)
        module.__spec__ = SimpleNamespace(name=name) if name else None
        monkeypatch.setitem(sys.modules, "__main__", module)
        monkeypatch.setattr(sys, "argv", ["program", *arguments])

    be("elsewhere")
    return be


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("stages.train", "train"),
        ("stages.reporting.card", None),
        ("stages.configure.__main__", None),
        ("nmt_core.shard", None),
        ("stages", None),
        ("stages.", None),
        ("flows.train", None),
        ("mystages.train", None),
        (None, None),
    ],
)
def test_a_stage_is_a_module_right_below_stages(program, name, stage):
    program(name)
    assert entry.find_stage() == stage


PLAIN = "What it does.\n\nUsage: python -m stages.x\n\nReads: [all]"
OPTIONAL = "What it does.\n\nUsage: python -m stages.x [SECTION]\n"


@pytest.mark.parametrize("asked", ["-h", "--help"])
@pytest.mark.parametrize("name", ["stages.x", "stages.x.__main__"])
def test_help_is_the_documentation_and_the_end(program, capsys, asked, name):
    for described in (PLAIN, OPTIONAL):
        program(name, described, "y", asked)
        with pytest.raises(SystemExit) as ended:
            entry.answer_arguments()
        assert ended.value.code == 0
        assert capsys.readouterr().out.strip() == described.strip()


@pytest.mark.parametrize(
    ("name", "described", "arguments"),
    [
        ("stages.x", PLAIN, ()),
        ("stages.x", OPTIONAL, ("y",)),
        ("stages.x", "What it does.", ("--help",)),
        ("stages.x", "", ("y",)),
        ("flows.x", PLAIN.replace("stages", "flows"), ("--help",)),
        (None, PLAIN, ("--help",)),
    ],
)
def test_other_arguments_are_left_to_the_program(program, capsys, name, described, arguments):
    program(name, described, *arguments)
    assert entry.answer_arguments() is None
    assert capsys.readouterr().out == ""


def test_a_stage_without_arguments_refuses_the_first_by_name(program):
    program("stages.x", PLAIN, "first", "second")
    with pytest.raises(ConfigError, match=r"^stages\.x takes no arguments, got 'first'"):
        entry.answer_arguments()


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (None, 0, ""),
        (KeyboardInterrupt(), 130, ""),
        (CorpusError("[b]x[/b] is empty"), 1, "[b]x[/b] is empty\n"),
        (NmtError("x" * 300), 1, "x" * 300 + "\n"),
        (ServerError("away"), os.EX_TEMPFAIL, "away\n"),
        (MemoryError(), 1, "memory ran out; lower this stage's sizes, or end other programs\n"),
    ],
)
def test_an_end_is_a_code_and_at_most_a_line(project, program, capsys, error, code, told):
    def work():
        if error is not None:
            raise error

    assert entry._run(work) == code
    assert capsys.readouterr() == ("", told)


def test_a_full_disk_is_told_and_a_mistake_is_raised(project, program, capsys):
    def fill():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.txt")

    def err():
        raise ValueError("ours")

    assert entry._run(fill) == 1
    assert "a.txt" in capsys.readouterr().err
    with pytest.raises(ValueError, match="ours"):
        entry._run(err)


@pytest.mark.parametrize(
    ("name", "ends_well", "recorded"),
    [("stages.shard", True, ["shard"]), ("flows.shard", True, []), ("stages.shard", False, [])],
)
def test_a_stage_that_ends_well_leaves_its_usage(
    project, program, monkeypatch, name, ends_well, recorded
):
    def work():
        if not ends_well:
            raise NmtError("no")

    found = []
    monkeypatch.setattr("stages.runtime.usage.record_usage", found.append)
    program(name)
    entry._run(work)
    assert found == recorded


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
def test_a_missing_file_is_told_with_the_stage_that_makes_it(project, missing, stage):
    (project / "dvc.yaml").write_text(PIPELINE)
    told = stage and f"{missing} is missing; the {stage} stage makes it: make repro"
    for error in (
        FileNotFoundError(2, "No such file", missing),
        OSError(f"cannot open '{missing}'"),
    ):
        found = entry._missing(error)
        assert (found and str(found)) == told
    (project / missing).parent.mkdir(parents=True)
    (project / missing).touch()
    assert entry._missing(FileNotFoundError(2, "No such file", missing)) is None


def test_no_stage_is_named_without_a_pipeline_or_for_another_error(project):
    assert entry._missing(FileNotFoundError(2, "No such file", "data/one")) is None
    (project / "dvc.yaml").write_text(PIPELINE)
    assert entry._missing(KeyError("data/one")) is None


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("code", [0, 3, None, "words"])
def test_only_a_code_may_end_a_process_at_once_and_only_beside_a_thread(monkeypatch, left, code):
    def end(number):
        raise InterruptedError(number)

    threads = [SimpleNamespace(daemon=False), SimpleNamespace(daemon=left)]
    monkeypatch.setattr(threading, "enumerate", lambda: threads)
    monkeypatch.setattr(os, "_exit", end)
    at_once = left and isinstance(code, int)
    with pytest.raises(InterruptedError if at_once else SystemExit) as ended:
        entry._leave(code)
    assert (ended.value.args or (None,)) == (code,)


@pytest.mark.parametrize("ignored", [True, False])
def test_a_stage_ends_by_its_signals_and_leaves_none_to_itself(monkeypatch, program, ignored):
    """One that nohup has started outlives its terminal."""
    names = (signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.getsignal(name) for name in names}
    signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    during = {}
    monkeypatch.setattr(entry, "end_with_parent", lambda: None)
    monkeypatch.setattr(entry.gc, "freeze", lambda: None)
    monkeypatch.setattr(threading, "enumerate", list)  # no thread that tests of before have left

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
