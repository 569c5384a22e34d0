import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path

import psutil
import pytest
import yaml
from prefect.logging.configuration import setup_logging
from prefect.states import exception_to_failed_state

from flows import dvc_program, pipeline
from flows.dvc_program import StageError
from nmt_core.base.errors import NmtError
from stages import paths
from tests.support.projects import PROJECT


def logged(stage: str) -> list[str]:
    lines: list[str] = []
    dvc_program.reproduce(stage, log=lines.append)
    return lines


@pytest.mark.skipif(not (PROJECT / paths.PIPELINE).exists(), reason="no dvc.yaml yet")
def test_the_order_of_the_file_is_an_order_to_run_in():
    """Every stage stands below those that make what it reads."""
    pipeline = yaml.safe_load((PROJECT / paths.PIPELINE).read_text(encoding="utf-8"))["stages"]
    made_by = {
        Path(out if isinstance(out, str) else next(iter(out))): stage
        for stage, entry in pipeline.items()
        for kind in ("outs", "metrics", "plots")
        for out in entry.get(kind, [])
    }
    order = dvc_program.list_stages(PROJECT / paths.PIPELINE)

    assert list(pipeline) == order
    for stage in order:
        for dependency in map(Path, pipeline[stage].get("deps", [])):
            for folder in (dependency, *dependency.parents):
                assert order.index(made_by.get(folder, stage)) <= order.index(stage)


def test_one_stage_is_asked_for_and_its_lines_are_logged(fake_dvc):
    fake_dvc("""
        import os, sys
        print(*sys.argv[1:])
        print()
        print(os.environ["DVC_NO_ANALYTICS"], os.environ["PYTHONUNBUFFERED"], file=sys.stderr)
    """)

    assert logged("train") == ["repro --single-item train", "1 1"]


@pytest.mark.parametrize(
    ("program", "done"),
    [
        ("print('{}')", 3),
        ("""print('{"code": ["always changed"]}')""", 3),
        ("""print('{"code": [{"changed outs": {"code": "modified"}}, "always changed"]}')""", 0),
        ("""print('{"export": ["changed checksum"], "evaluate": ["changed checksum"]}')""", 1),
        ("""print('{"train": ["changed checksum"]}')""", 0),
        ("import sys; sys.exit('ERROR: Unable to acquire lock.')", 0),
    ],
    ids=[
        "all is there",
        "same code",
        "changed code",
        "the last are behind",
        "the first is behind",
        "another dvc is at work",
    ],
)
def test_all_stages_are_asked_for_at_once(fake_dvc, program, done):
    fake_dvc(f"{program}\nimport sys; open('asked', 'w').write(' '.join(sys.argv[1:]))")

    stages = (
        ["train", "evaluate", "export"] if "code" not in program else ["code", "train", "export"]
    )
    assert done == dvc_program.count_done(stages)
    asked = f"status --json {' '.join(stages)}"
    assert program.startswith("import") or Path("asked").read_text() == asked


@pytest.mark.parametrize("shared", [False, True])
def test_a_task_per_stage_asks_dvc_from_the_first_that_is_not_done(monkeypatch, shared):
    """What other clones made is only known to be there when DVC has looked at its remote."""
    told = []

    def task(**settings):
        return lambda stage, **how: told.append((settings["task_run_name"], stage, how["done"]))

    monkeypatch.setattr(dvc_program, "count_done", lambda stages: stages.index("evaluate"))
    monkeypatch.setattr(pipeline.reproduce, "with_options", task)
    pipeline.run_stages(["train", "evaluate", "export"], shared=shared)

    done = [not shared, False, False]
    stages = ["train", "evaluate", "export"]
    assert [*zip(stages, stages, done, strict=True)] == told


def test_a_table_is_one_entry_and_advice_to_nobody_is_none(fake_dvc):
    """The advice is that of the real dvc, for whom nobody is there to type it."""
    table = ["┏━━━┓", "┃ n ┃", "┡━━━┩", "│ 1 │", "└───┘"]
    advice = "To track the changes with git, run:\n\n\tgit add dvc.lock\n"
    advice += "\nTo enable auto staging, run:\n\n\tdvc config core.autostage true\n"
    advice += "Use `dvc push` to send your updates to remote storage."
    lines = ["Running stage 'train':", *table, "between", *table]
    lines += ["WARNING: No file hash info found for '/tmp/data/corpus'. It won't be created."]
    fake_dvc(f"print({chr(10).join([*lines, advice])!r})")

    whole = "\n".join(["", *table])
    assert logged("train") == ["Running stage 'train':", whole, "between", whole]


@pytest.mark.parametrize("name", ["prefect.flow_runs", "prefect.task_runs"])
def test_the_log_of_a_run_tells_errors_of_ours_in_a_sentence(name):
    """On a worker too, where Prefect starts the flow, and others with all that is known."""
    setup_logging()
    logger = logging.getLogger(name)
    kept = []
    for error in (NmtError("no text"), ValueError("a bug")):
        told = (type(error), error, None)
        record = logger.makeRecord(name, logging.ERROR, "", 0, "%r", (error,), told)
        assert logger.filter(record)
        kept.append(record.exc_info)

    assert kept == [None, told]


def test_dvc_still_gives_the_advice_that_is_left_out():
    """Under another wording it would come back."""
    dvc = files("dvc")
    places = ("commands/repro.py", "repo/scm_context.py")
    code = "".join(dvc.joinpath(place).read_text() for place in places)
    for beginning in dvc_program.ADVICE:
        assert beginning.replace("\t", "\\t") in code
    checkout = files("dvc_data").joinpath("hashfile/checkout.py").read_text()
    assert dvc_program.NO_OUTPUTS_YET.removeprefix("WARNING: ") in checkout


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (StageError("away", code=75), True),
        (StageError("wrong", code=1), False),
        (NmtError("wrong"), False),
        (RuntimeError(), False),
    ],
)
def test_only_what_was_away_is_tried_again(error, again):
    """All else would fail again, after six minutes of waiting."""
    state = asyncio.run(exception_to_failed_state(error))

    assert again == asyncio.run(pipeline.server_was_away(None, None, state))
    for task in (pipeline.reproduce, pipeline.collect):
        assert task.retry_condition_fn is pipeline.server_was_away
    assert sum(pipeline.RETRY_SECONDS) > 300  # so long a server may be away


def test_what_a_killed_dvc_has_left_is_cleared_and_dvc_asked_again(fake_dvc, monkeypatch):
    """Its first words then decide nothing."""
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


def test_temporary_files_are_cleared_before_dvc_works(fake_dvc, monkeypatch):
    fake_dvc("""
        from pathlib import Path
        assert Path("cleared").exists()
    """)
    monkeypatch.setattr(dvc_program, "clear_temporary_files", lambda: Path("cleared").touch())

    dvc_program.reproduce("train", log=print)


def test_an_experiment_that_is_stopped_leaves_no_folder_for_which_dvc_would_list_it(fake_dvc):
    fake_dvc("""
        import json, sys
        from pathlib import Path
        for name in ("stopped", "another"):
            record = Path(f".dvc/tmp/exps/standalone/run/{name}/{name}.run")
            record.parent.mkdir(parents=True)
            record.write_text(json.dumps({"name": name, "location": "tempdir", "root_dir": name}))
            Path(name).mkdir()
        sys.exit(143)
    """)

    with pytest.raises(StageError, match="exited with 143"):
        dvc_program.run_experiment("stopped", [], target="evaluate", environment={}, log=print)
    assert not Path("stopped").exists()
    assert Path("another").exists()


AWAY = ("ERROR: unable to reach it", 255)
ELSEWHERE = ("ERROR: Unable to acquire lock.", 255)
FAILED = ("ERROR: failed to reproduce 'train': failed to run: python x, exited with 3", 255)
REPRO = "repro --single-item train"
PULLED = f"{REPRO} --pull"
PUSH = "push --quiet --run-cache"


@pytest.mark.parametrize(
    ("shared", "ends", "calls"),
    [
        (False, [], [REPRO]),
        (True, [], [PULLED, PUSH]),
        (False, [ELSEWHERE], [REPRO, REPRO]),
        (True, [ELSEWHERE], [PULLED, PULLED, PUSH]),
    ],
)
def test_a_shared_stage_is_taken_from_the_remote_and_given_to_it(
    asked, monkeypatch, shared, ends, calls
):
    """Another dvc at work is waited for."""
    monkeypatch.setattr(dvc_program, "LONGEST_WAIT_SECONDS", 0.1)
    told, lines = asked(*ends), []
    dvc_program.reproduce("train", shared=shared, log=lines.append)

    assert told() == calls
    assert lines == [said for said, _ in ends]


@pytest.mark.parametrize(
    ("shared", "ends", "code", "message"),
    [
        (False, [AWAY], 255, "stage 'train' exited with 255; repeat it: .*dvc repro --single"),
        (False, [("", 253)], 253, "stage 'train' exited with 253"),
        (False, [FAILED], 3, f"stage 'train' exited with 3; repeat it: .*dvc {REPRO}"),
        (True, [FAILED], 3, "stage 'train' exited with 3"),
        (True, [AWAY], os.EX_TEMPFAIL, r"dvc repro --pull failed \(ERROR: unable to reach it\)"),
        (True, [("", 1)], os.EX_TEMPFAIL, r"dvc repro --pull failed \(it said nothing\)"),
        (True, [("", 0), AWAY], os.EX_TEMPFAIL, r"dvc push failed \(ERROR: unable to reach it\)"),
        (False, [ELSEWHERE], 255, f"'train' is in use by another dvc; repeat it: .*dvc {REPRO}"),
        (True, [ELSEWHERE], 255, "'train' is in use by another dvc"),
    ],
)
def test_a_failure_names_the_stage_its_own_code_and_the_cure(
    asked, monkeypatch, shared, ends, code, message
):
    """By the code Prefect knows whether to try again."""
    monkeypatch.setattr(dvc_program, "LOCK_PATIENCE_SECONDS", 0.0)
    told = asked(*ends)
    with pytest.raises(StageError, match=message) as failure:
        dvc_program.reproduce("train", shared=shared, log=[].append)

    assert failure.value.code == code
    assert len(told()) == len(ends)


@pytest.mark.parametrize("message", dvc_program.LOCKED)
def test_a_lock_is_known_by_what_dvc_says(asked, message, monkeypatch):
    monkeypatch.setattr(dvc_program, "LOCK_PATIENCE_SECONDS", 0.0)
    asked((f"ERROR: {message}", 255))
    with pytest.raises(StageError, match="in use by another dvc"):
        logged("train")


def collect(log):
    return pipeline.collect.fn("lock: 1\n")


@pytest.mark.parametrize(
    ("call", "ends", "error"),
    [
        (collect, [("", 0), ("{}", 0)], None),
        (collect, [AWAY], "dvc pull failed .ERROR: unable"),
        (
            collect,
            [("", 0), ('{"shard": [], "train": []}', 0)],
            "is not what this clone would make: shard, train",
        ),
        (lambda _: dvc_program.check_remote(), [("shared", 0)], None),
        (lambda _: dvc_program.check_remote(), [("", 0)], "DVC has no remote, by which clones"),
    ],
)
def test_what_clones_share_is_asked_of_dvc(asked, project, monkeypatch, call, ends, error):
    """What other clones made is taken by their lock file, and must be what would be made here."""
    monkeypatch.setattr(pipeline, "get_run_logger", lambda: logging.getLogger("test"))
    told = asked(*ends)
    with pytest.raises(NmtError, match=error) if error else nullcontext():
        call(print)

    calls = ["pull --quiet", "status --json"] if call is collect else ["config core.remote"]
    assert told() == calls[: len(ends)]
    assert call is not collect or paths.LOCK.read_text() == "lock: 1\n"


def test_an_experiment_is_run_with_its_settings_and_variables(fake_dvc):
    """In a session of its own, with nobody at the keyboard, and this Python before any other."""
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


@pytest.mark.parametrize("on_sigterm", ["signal.SIG_DFL", "signal.SIG_IGN"])
def test_whoever_stops_all_ends_what_runs_in_threads_and_lets_nothing_begin(
    asked, monkeypatch, on_sigterm
):
    """Politely at first; it returns as soon as all have ended."""
    monkeypatch.setattr(dvc_program, "_stopped", threading.Event())
    monkeypatch.setattr(
        dvc_program, "GRACE_SECONDS", 0.2 if on_sigterm == "signal.SIG_IGN" else 20.0
    )
    code = f"import signal, time; signal.signal(signal.SIGTERM, {on_sigterm}); print(1, flush=True)"
    command = [sys.executable, "-c", f"{code}; time.sleep(60)"]
    begun, codes = threading.Event(), []

    def run():
        codes.append(dvc_program._run(command, lambda _: begun.set(), {}))

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    before = time.monotonic()
    dvc_program.stop_all()
    assert time.monotonic() - before < 10
    thread.join(60)

    number = signal.SIGTERM if on_sigterm == "signal.SIG_DFL" else signal.SIGKILL
    assert codes == [-number]
    asked()
    with pytest.raises(StageError, match="exited with 143"):
        logged("train")
    assert not Path("asked").exists()


def interrupted(fake_dvc, on_sigterm: str) -> psutil.Process:
    """Run a dvc whose stage sleeps, raise when it says its number, and return the stage."""
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
    return stages[0]


@pytest.mark.parametrize("on_sigterm", ["signal.SIG_DFL", "signal.SIG_IGN"])
def test_an_exception_ends_the_stage_and_not_only_dvc(fake_dvc, monkeypatch, on_sigterm):
    """A stage that ignores the polite signal is killed after the grace."""
    monkeypatch.setattr(dvc_program, "GRACE_SECONDS", 0.3)
    stage = interrupted(fake_dvc, on_sigterm)

    assert ([stage], []) == psutil.wait_procs([stage], timeout=60)


def test_a_stage_may_save_its_work_before_it_ends(fake_dvc, tmp_path):
    interrupted(fake_dvc, "lambda *_: (time.sleep(0.3), open('saved', 'w').close(), sys.exit())")

    assert (tmp_path / "saved").exists()


@pytest.mark.slow
def test_dvc_does_not_outlive_a_killed_flow(fake_dvc, tmp_path):
    fake_dvc("""
        import os, time
        print(os.getpid(), flush=True)
        time.sleep(60)
    """)
    code = (
        "from flows import dvc_program; "
        "dvc_program.reproduce('train', log=lambda line: print(line, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        text=True,
    ) as flow:
        program = psutil.Process(int(flow.stdout.readline()))
        flow.kill()

    assert ([program], []) == psutil.wait_procs([program], timeout=60)
