import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import psutil
import pytest
import yaml

from flows import dvc
from flows.dvc import StageFailed
from stages import paths

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def fake_dvc(tmp_path, monkeypatch):
    """Put a program in the place of dvc: ``python -m dvc`` looks where it is run first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dvc, "GRACE_SECONDS", 1.0)

    def install(program: str) -> None:
        (tmp_path / "dvc").mkdir()
        (tmp_path / "dvc" / "__init__.py").touch()
        (tmp_path / "dvc" / "__main__.py").write_text(dedent(program))

    return install


def logged(stage: str) -> list[str]:
    lines: list[str] = []
    dvc.reproduce(stage, log=lines.append)
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
    order = dvc.stages(PROJECT / paths.PIPELINE)

    assert list(pipeline) == order
    for stage in order:
        for dependency in map(Path, pipeline[stage].get("deps", [])):
            for folder in (dependency, *dependency.parents):
                assert order.index(made_by.get(folder, stage)) <= order.index(stage)


def test_stages_come_in_the_order_of_the_file(tmp_path):
    pipeline = tmp_path / "dvc.yaml"
    pipeline.write_text("stages:\n  zebra: {cmd: 'true'}\n  ape: {cmd: 'true'}\n")

    assert dvc.stages(pipeline) == ["zebra", "ape"]


def test_one_stage_is_asked_for_and_its_lines_are_logged(fake_dvc):
    fake_dvc("""
        import os, sys
        print(*sys.argv[1:])
        print()
        print(os.environ["DVC_NO_ANALYTICS"], os.environ["PYTHONUNBUFFERED"], file=sys.stderr)
    """)

    assert logged("train") == ["repro --single-item train", "1 1"]


def test_a_failure_names_the_stage_its_own_code_and_the_cure(fake_dvc):
    fake_dvc("""
        import sys
        print("ERROR: failed to reproduce 'train': failed to run: python toy.py, exited with 3")
        sys.exit(255)
    """)

    message = "stage 'train' exited with 3; repeat it with: dvc repro --single-item train"
    with pytest.raises(StageFailed, match=message):
        logged("train")


def test_a_failure_before_the_stage_has_the_code_of_dvc(fake_dvc):
    fake_dvc("import sys; sys.exit(253)")

    with pytest.raises(StageFailed, match="exited with 253"):
        logged("train")


@pytest.mark.parametrize("message", dvc.LOCKED)
def test_a_lock_is_waited_for(fake_dvc, message, monkeypatch):
    monkeypatch.setattr(dvc, "LONGEST_WAIT_SECONDS", 0.1)
    fake_dvc(f"""
        import sys
        from pathlib import Path
        if not Path("tried").exists():
            Path("tried").touch()
            sys.exit("ERROR: {message}")
        print("done")
    """)

    assert logged("train")[-1] == "done"


def test_a_lock_is_not_waited_for_forever(fake_dvc, monkeypatch):
    monkeypatch.setattr(dvc, "LOCK_PATIENCE_SECONDS", 0.0)
    fake_dvc("import sys; sys.exit('ERROR: Unable to acquire lock.')")

    with pytest.raises(StageFailed, match="in use by another dvc"):
        logged("train")


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
        dvc.reproduce("train", log=interrupt)
    return stages[0]


@pytest.mark.parametrize("on_sigterm", ["signal.SIG_DFL", "signal.SIG_IGN"])
def test_an_exception_ends_the_stage_and_not_only_dvc(fake_dvc, on_sigterm):
    """A stage that ignores the polite signal is killed after the grace."""
    stage = interrupted(fake_dvc, on_sigterm)

    assert ([stage], []) == psutil.wait_procs([stage], timeout=5)


def test_a_stage_may_save_its_work_before_it_ends(fake_dvc, tmp_path):
    interrupted(fake_dvc, "lambda *_: (time.sleep(0.3), open('saved', 'w').close(), sys.exit())")

    assert (tmp_path / "saved").exists()


def test_dvc_does_not_outlive_a_killed_flow(fake_dvc, tmp_path):
    fake_dvc("""
        import os, time
        print(os.getpid(), flush=True)
        time.sleep(60)
    """)
    code = "from flows import dvc; dvc.reproduce('train', log=lambda line: print(line, flush=True))"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        text=True,
    ) as flow:
        program = psutil.Process(int(flow.stdout.readline()))
        flow.kill()

    assert ([program], []) == psutil.wait_procs([program], timeout=5)
