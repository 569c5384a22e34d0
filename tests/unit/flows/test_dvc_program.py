import logging
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from flows import dvc_program, train
from flows.dvc_program import StageError
from nmt_core.base.errors import NmtError
from stages import paths


def test_one_stage_runs_and_its_lines_are_logged(fake_dvc, monkeypatch):
    monkeypatch.setattr(dvc_program, "clear_leftovers", lambda _: pytest.fail("nothing failed"))
    fake_dvc("""
        import os, sys
        print(*sys.argv[1:])
        print()
        print(os.environ["DVC_NO_ANALYTICS"], os.environ["PYTHONUNBUFFERED"], file=sys.stderr)
    """)

    lines = []
    dvc_program.reproduce("train", log=lines.append)
    assert lines == ["repro --single-item train", "1 1"]


THREE = ("train", "evaluate", "export")
CODE = ("code", "train", "export")


@pytest.mark.parametrize(
    ("stages", "program", "done"),
    [
        (THREE, "print('{}')", 3),
        (CODE, """print('{"code": ["always changed"]}')""", 3),
        (
            CODE,
            """print('{"code": [{"changed outs": {"code": "modified"}}, "always changed"]}')""",
            0,
        ),
        (
            THREE,
            """print('{"export": ["changed checksum"], "evaluate": ["changed checksum"]}')""",
            1,
        ),
        (THREE, """print('{"train": ["changed checksum"]}')""", 0),
    ],
)
def test_stages_run_up_to_the_first_changed(fake_dvc, stages, program, done):
    fake_dvc(f"{program}\nimport sys; open('asked', 'w').write(' '.join(sys.argv[1:]))")
    assert dvc_program.count_done(stages) == done
    assert Path("asked").read_text() == f"status --json {' '.join(stages)}"


def test_leftovers_are_removed_and_dvc_run_again(fake_dvc, monkeypatch):
    """The first output of dvc then decides nothing."""
    fake_dvc("""
        import sys
        from pathlib import Path
        if not Path("cleared").exists():
            sys.exit("ERROR: Unable to read RWLock-file; exited with 7")
        print(*sys.argv[1:])
        sys.exit(3)
    """)
    monkeypatch.setattr(
        dvc_program, "clear_leftovers", lambda say: say("x") or not Path("cleared").touch()
    )
    lines = []

    with pytest.raises(StageError, match="exited with 3;"):
        dvc_program.reproduce("train", log=lines.append)
    assert lines[1:] == ["x", "repro --single-item train"]


AWAY = ("ERROR: unable to reach it", 255)
LOCKS = [(f"ERROR: {message}", 255) for message in dvc_program.LOCKED]
ELSEWHERE = ("ERROR: Unable to acquire lock.", 255)
FAILED = ("ERROR: failed to reproduce 'train': failed to run: python x, exited with 3", 255)
REPRO = "repro --single-item train"
PULLED = f"{REPRO} --pull"
PUSH = "push --quiet --run-cache"


@pytest.mark.parametrize(("shared", "calls"), [(False, [REPRO]), (True, [PULLED, PUSH])])
def test_shared_stage_is_pulled_and_pushed(asked, shared, calls):
    told, lines = asked(), []
    dvc_program.reproduce("train", shared=shared, log=lines.append)

    assert told() == calls
    assert lines == []


@pytest.mark.parametrize(
    ("shared", "ends", "code", "message"),
    [
        (False, [AWAY], 255, "stage 'train' exited with 255; repeat it: .*dvc repro --single"),
        (False, [("", 253)], 253, "stage 'train' exited with 253"),
        (False, [FAILED], 3, f"stage 'train' exited with 3; repeat it: .*dvc {REPRO}"),
        (True, [FAILED], 3, "stage 'train' exited with 3"),
        (True, [AWAY], os.EX_TEMPFAIL, r"dvc repro --pull failed \(ERROR: unable to reach it\)"),
        (True, [("", 1)], os.EX_TEMPFAIL, r"dvc repro --pull failed \(no reason\)"),
        (True, [("", 0), AWAY], os.EX_TEMPFAIL, r"dvc push failed \(ERROR: unable to reach it\)"),
        (False, [ELSEWHERE], 75, f"'train' is in use by another dvc; repeat it: .*dvc {REPRO}"),
        *((True, [lock], 75, "'train' is in use by another dvc") for lock in LOCKS),
    ],
)
def test_a_failure_names_stage_code_and_remedy(asked, shared, ends, code, message):
    """By the exit code, Prefect decides whether to retry."""
    told = asked(*ends)
    with pytest.raises(StageError, match=message) as failure:
        dvc_program.reproduce("train", shared=shared, log=[].append)

    assert failure.value.code == code
    assert len(told()) == len(ends)


def collect(log):
    return train.collect.fn("lock: 1\n")


@pytest.mark.parametrize(
    ("call", "ends", "error"),
    [
        (collect, [("", 0), ("{}", 0)], None),
        (collect, [AWAY], "dvc pull failed .ERROR: unable"),
        (
            collect,
            [("", 0), ('{"shard": [], "train": []}', 0)],
            "differ from this clone's code or settings: shard, train",
        ),
        (lambda _: dvc_program.check_remote(), [("shared", 0)], None),
        (lambda _: dvc_program.check_remote(), [("", 0)], "DVC has no default remote"),
    ],
)
def test_dvc_reports_what_clones_share(asked, project, monkeypatch, call, ends, error):
    """Results of other clones are taken by their lock file, and must equal the results here."""
    monkeypatch.setattr(train, "get_run_logger", lambda: logging.getLogger("test"))
    told = asked(*ends)
    with pytest.raises(NmtError, match=error) if error else nullcontext():
        call(print)

    calls = ["pull --quiet", "status --json"] if call is collect else ["config core.remote"]
    assert told() == calls[: len(ends)]
    assert call is not collect or paths.LOCK.read_text() == "lock: 1\n"


def test_an_experiment_gets_its_settings_and_variables(fake_dvc):
    """It runs in a session of its own, without a terminal, with this Python first in PATH."""
    fake_dvc("""
        import os, sys
        print(*sys.argv[1:])
        print(os.environ["NAME"], os.environ["PATH"].split(os.pathsep)[0], sys.stdin.read())
        print(os.getsid(0) == os.getpid(), os.environ["HOME"])
        os.write(2, b"\\xff")
    """)
    lines, settings = [], ["model=rnn", "data=demo"]
    dvc_program.run_experiment(
        "x", settings, target="evaluate", environment={"NAME": "value"}, log=lines.append
    )

    assert lines == [
        "exp run --temp --name x -S model=rnn -S data=demo evaluate",
        f"value {Path(sys.executable).parent}",
        f"True {os.environ['HOME']}",
        "\N{REPLACEMENT CHARACTER}",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("on_sigterm", "saved"),
    [
        ("signal.SIG_DFL", False),
        ("signal.SIG_IGN", False),  # killed after the grace
        ("lambda *_: (time.sleep(0.3), open('saved', 'w').close(), sys.exit())", True),
    ],
)
def test_exception_ends_the_stage_and_not_only_dvc(fake_dvc, tmp_path, on_sigterm, saved):
    fake_dvc(f"""
        import subprocess, sys
        stage = "import os, signal, sys, time;"
        stage += "signal.signal(signal.SIGTERM, {on_sigterm});"
        stage += "print(os.getpid(), flush=True);"
        stage += "time.sleep(60)"
        subprocess.run([sys.executable, "-c", stage])
    """)
    stages = []

    def interrupt(line: str) -> None:
        stages.append(psutil.Process(int(line)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dvc_program.reproduce("train", log=interrupt)

    assert psutil.wait_procs(stages, timeout=60)[1] == []
    assert (tmp_path / "saved").exists() == saved
