"""The whole project in miniature, by its own commands: run, stopped, killed, changed, repeated.

All copies start from the same commit, so their results must be equal to the byte.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.support.pipeline import list_stages
from tests.support.presets import PRESETS, SHRUNK, shrunk
from tests.support.processes import wait_for
from tests.support.projects import (
    LOG_EVERY,
    SMALL,
    VALIDATE_EVERY,
    Copy,
    Untracked,
    begin,
    overrides,
)

MAKE_REPRO = "make --silent --old-file .venv/ready repro"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A clone with settings, before any stage ran."""
    shared = tmp_path_factory.mktemp("shared")
    return begin(tmp_path_factory.mktemp("fresh") / "project", shared)


@pytest.fixture(scope="module")
def prepared(fresh, tmp_path_factory):
    """A clone in which all stages before training are done."""
    return fresh.copy(tmp_path_factory.mktemp("prepared") / "project").run(
        "dvc repro embeddings shard"
    )


@pytest.fixture(scope="module")
def finished(prepared, tmp_path_factory):
    """Results of an undisturbed run by the user's command."""
    return prepared.copy(tmp_path_factory.mktemp("finished") / "project").run(MAKE_REPRO)


@pytest.mark.whole
def test_every_stage_runs_once(prepared, finished):
    assert sorted(list_stages()) == sorted(prepared.ran + finished.ran)


@pytest.mark.whole
def test_run_ends_with_a_summary(finished):
    assert "de → en" in finished.log
    assert "BLEU" in finished.log
    assert "nmt translate --model models/export" in finished.log


@pytest.mark.parametrize("engine", [pytest.param("auto", marks=pytest.mark.whole), "torch"])
def test_export_translates(finished, engine):
    done = subprocess.run(
        [sys.executable, "-m", "nmt_core.cli", "translate", "--engine", engine],
        cwd=finished.folder,
        env=finished.environment,
        input="Die Kommission antwortet.\n\nWir danken dem Berichterstatter.\n",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    lines = done.stdout.split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    assert lines[0]
    assert lines[2]


@pytest.mark.whole
def test_second_run_runs_nothing(finished, tmp_path):
    """Nothing runs even after Python has rewritten its bytecode."""
    copy = finished.copy(tmp_path / "project")
    source = copy.folder / "nmt_core/corpora/cleaning.py"
    [bytecode] = source.parent.glob("__pycache__/cleaning.*.pyc")
    before = bytecode.read_bytes()

    os.utime(source, (0, 0))
    copy.run("python -c 'import nmt_core.corpora.cleaning'")
    assert before != bytecode.read_bytes()

    assert copy.run("dvc repro").ran == []
    assert copy.lock == finished.lock


def test_clone_with_the_same_cache_runs_nothing(finished, tmp_path):
    """Its lock file is committed, and its Python has written its own bytecode."""
    copy = finished.copy(tmp_path / "project")
    copy.run("git add --all")
    copy.run("git -c user.name=Tester -c user.email=tester@localhost commit --quiet -m Made")
    copy.run(f"git clone --quiet . {tmp_path / 'other'}")
    other = Copy(tmp_path / "other", finished.shared)
    other.run(f"dvc cache dir --local {copy.folder / '.dvc/cache'}").run("dvc checkout")
    other.run("python -c 'import stages.download'")

    assert other.run("dvc repro").ran == []
    assert other.model == finished.model


def test_changed_setting_reruns_only_dependent_stages(finished, tmp_path):
    changed = finished.untracked(tmp_path / "project")
    changed.run("python -m stages.configure evaluate.beam.beam_size=1").run("dvc repro")

    assert changed.ran == ["evaluate", "export"]
    assert changed.model == finished.model
    decoding = json.loads((changed.folder / "models/export/decoding.json").read_text())
    assert decoding["beam"]["beam_size"] == 1


@pytest.fixture(scope="module")
def killed(prepared, tmp_path_factory):
    """Kill dvc and the training between two checkpoints, like a power failure."""
    copy = prepared.untracked(tmp_path_factory.mktemp("killed") / "project")
    process = copy.start("dvc repro")
    copy.trained_to(VALIDATE_EVERY + LOG_EVERY)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert copy.checkpoints() == [VALIDATE_EVERY]
    assert not (copy.folder / "models/trained").exists()
    return copy.run("dvc repro")


def test_killed_training_continues(killed):
    assert killed.ran == ["train", "evaluate", "export"]
    assert f"continuing from step {VALIDATE_EVERY}\n" in killed.log


def test_killed_training_ends_in_the_same_bytes(killed, finished):
    """It compares weights, history, scores and export: everything with a digest in dvc.lock."""
    assert killed.model == finished.model
    assert killed.lock == finished.lock


def test_second_run_waits_for_the_stopped_first(prepared, finished, tmp_path):
    """The second run waits, and continues from the first one's checkpoint."""
    copy = prepared.untracked(tmp_path / "project")
    first = copy.start(MAKE_REPRO)
    copy.trained_to(VALIDATE_EVERY + LOG_EVERY)
    second = Untracked(copy.folder, copy.shared, log_name="second.txt")
    process = second.start(MAKE_REPRO)
    assert wait_for(lambda: second.log, seconds=60)
    assert f"another run uses {copy.folder}; waiting until it ends\n" == second.log
    os.killpg(first.pid, signal.SIGINT)  # like Ctrl-C in its terminal

    assert first.wait() != 0
    assert "the same command continues from there" in copy.log
    assert process.wait() == 0, second.log
    [step] = re.findall(r"continuing from step (\d+)\n", second.log)
    assert int(step) > VALIDATE_EVERY
    assert (second.model, second.lock) == (finished.model, finished.lock)


@pytest.mark.parametrize("command", [MAKE_REPRO, "python -m flows.train"])
def test_leftovers_of_killed_dvc_block_nobody(finished, tmp_path, command):
    """dvc was killed while writing its lists of locks: both are empty."""
    copy = finished.copy(tmp_path / "project")
    for name in ("dvc.lock", ".dvc/tmp/rwlock"):
        (copy.folder / name).write_text("")
    copy.run(command)

    assert copy.log.count("which a killed dvc had") == 2
    assert copy.ran == []
    assert copy.lock == finished.lock


def test_terminated_training_saves_and_continues(prepared, finished, tmp_path):
    copy = prepared.untracked(tmp_path / "project")
    process = copy.start("python -m stages.train")
    copy.trained_to(VALIDATE_EVERY + LOG_EVERY)
    process.send_signal(signal.SIGTERM)

    assert process.wait() == 128 + signal.SIGTERM
    newest = max(copy.checkpoints())
    assert newest > VALIDATE_EVERY
    assert newest % VALIDATE_EVERY

    copy.run("dvc repro train")
    assert f"continuing from step {newest}\n" in copy.log
    assert copy.model == finished.model


def test_another_seed_starts_a_new_training(killed, finished, tmp_path):
    """Checkpoints of other settings are not continued."""
    copy = killed.untracked(tmp_path / "project")
    copy.run("python -m stages.configure train.seed=2").run("dvc repro train")

    assert "continuing from step" not in copy.log
    assert copy.model != finished.model


def edit(copy, path, old, new):
    """Change the code of a copy."""
    file = copy.folder / path
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def points(copy):
    """Return the steps at which a copy logged the training loss, by training."""
    journals = sorted(
        copy.folder.glob("runs/*/journal.jsonl"), key=lambda path: path.stat().st_mtime
    )
    entries = [[json.loads(line) for line in path.read_text().splitlines()] for path in journals]
    runs = [[e["step"] for e in each if "train/loss" in e.get("values", ())] for each in entries]
    return [run for run in runs if run]  # other runs are evaluations


def test_changed_comments_rerun_nothing(finished, tmp_path):
    copy = finished.untracked(tmp_path / "project")
    trainer = copy.folder / "nmt_core/training/trainer.py"
    trainer.write_text(f"# A comment.\n{trainer.read_text()}")
    edit(copy, "nmt_core/base/progress.py", 'f"step {step:,}, {done', 'f"update {step:,}, {done')

    assert copy.run("dvc repro").ran == []


def test_changed_constant_starts_a_new_training(finished, tmp_path):
    copy = finished.untracked(tmp_path / "project")
    edit(copy, "nmt_core/training/optimizer.py", "(10 + step)", "(11 + step)")
    copy.run("dvc repro train")

    assert "continuing from step" not in copy.log
    assert copy.model != finished.model
    assert points(copy) == 2 * points(finished)


@pytest.fixture(scope="module")
def unending(prepared, tmp_path_factory):
    """A copy before training, with a schedule that does not depend on the budget."""
    schedule = "'~train.schedule' '+train.schedule={kind:inverse_sqrt,warmup_steps:40}'"
    copy = prepared.copy(tmp_path_factory.mktemp("unending") / "project")
    return copy.run(f"python -m stages.configure {schedule}")


def test_finished_training_can_be_prolonged(unending, tmp_path):
    """Bytes, curve and lock file are those of a training with the longer budget from its start."""
    short, long = VALIDATE_EVERY + 2 * LOG_EVERY, 2 * VALIDATE_EVERY + LOG_EVERY
    whole = unending.untracked(tmp_path / "whole")
    whole.run(f"python -m stages.configure train.budget.steps={long}").run("dvc repro train")
    copy = unending.untracked(tmp_path / "project")
    copy.run(f"python -m stages.configure train.budget.steps={short}").run("dvc repro train")
    before = copy.model
    copy.run(f"python -m stages.configure train.budget.steps={long}").run("dvc repro train")

    assert f"continuing from step {VALIDATE_EVERY}\n" in copy.log
    assert copy.model == whole.model != before
    assert copy.lock == whole.lock
    assert points(copy) == [[*range(LOG_EVERY, short + 1, LOG_EVERY)], *points(whole)]


@pytest.mark.parametrize("command", [MAKE_REPRO, "python -m flows.train"])
def test_typo_is_reported_before_the_first_stage(fresh, tmp_path, command):
    """The typo is in the section of the sixth stage; the first stage does not run."""
    copy = fresh.copy(tmp_path / "project")
    params = copy.folder / "params.yaml"
    params.write_text(
        params.read_text().replace("validate_every:", "label_smoothin: 0.2, validate_every:")
    )
    began = time.monotonic()

    assert copy.fails(command) != 0
    assert time.monotonic() - began < 120
    sentence = "train.training.label_smoothin is not a parameter; did you mean 'label_smoothing'?"
    assert f"params.yaml: {sentence}" in copy.log
    assert "Traceback" not in copy.log
    assert not (copy.folder / "dvc.lock").exists()
    assert not (copy.folder / "data").exists()


PROGRAM = """
import json, os, sys
from importlib import import_module
stages = [import_module(f"stages.{name}") for name in sys.argv[1:]]
for folder, settings in json.load(sys.stdin).items():
    os.chdir(folder)
    sys.argv = ["", *settings]
    for stage in stages:
        stage.main()
    print(folder, flush=True)
"""
"""Runs stages in several folders in one process, which imports torch once."""


def small_settings(preset):
    """Return settings of a preset in miniature, with its own batches and optimizer."""
    settings = SMALL | {"train.budget.steps": 4, "train.training.validate_every": 2}
    settings |= {f"train.model.{key}": small for key, small in shrunk(PRESETS[preset]).items()}
    if preset.removesuffix("_lite").endswith("_article"):
        settings |= {
            "embeddings.vectors.dimensions": SHRUNK["width"],
            "embeddings.vectors.epochs": 1,
            "embeddings.vectors.buckets": 100,
        }
    return f"data=demo model={preset} {overrides(**settings)}".split()


@pytest.fixture(scope="module")
def exported(prepared, tmp_path_factory):
    """Copies in which every stage ran, by preset, and the output."""
    folder = tmp_path_factory.mktemp("presets")
    copies = {preset: prepared.untracked(folder / preset) for preset in PRESETS}
    orders = {str(copy.folder): small_settings(preset) for preset, copy in copies.items()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "configure.__main__", *list_stages()],
        cwd=prepared.folder,
        env=next(iter(copies.values())).environment,
        input=json.dumps(orders),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return copies, done.stderr


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_trains_and_exports(exported, preset):
    """Each preset has its own tokens, vectors, batches and optimizer."""
    copies, said = exported
    export = copies[preset].folder / "models/export/model.json"

    assert export.exists(), said
    metrics = json.loads((copies[preset].folder / "reports/export.json").read_text())
    assert metrics["golden_sentences"] == 3
    assert json.loads(export.read_text())["architecture"] == PRESETS[preset]["architecture"]
