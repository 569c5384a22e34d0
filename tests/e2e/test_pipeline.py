"""The whole project in miniature, by its own commands: run, stopped, killed, changed, repeated.

All copies begin as one commit, so what they make must be the same to the byte.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from nmt_core import files
from tests.conftest import PRESETS, SHRUNK

PROJECT = Path(__file__).parents[2]
PARTS = ("conf", "flows", "nmt_core", "stages")
FILES = (".dvc/config", ".dvc/.gitignore", ".dvcignore", ".gitignore", "Makefile", "dvc.yaml")
STAGES = list(yaml.safe_load((PROJECT / "dvc.yaml").read_text())["stages"])
MAKE_REPRO = "make --silent --old-file .venv/ready repro"

STEPS, VALIDATE_EVERY, LOG_EVERY = 240, 80, 10
TINY = f"""
    data=demo model=transformer
    download.corpus.grammar.train_pairs=400 download.corpus.grammar.validation_pairs=20
    download.corpus.grammar.test_pairs=20 tokenize.subwords.pieces=400
    train.compute.threads=1 train.compute.precision=float32
    train.model.width=32 train.model.heads=2 train.model.feed_forward_width=64
    train.model.encoder_layers=1 train.model.decoder_layers=1 train.batching.max_tokens=256
    train.budget.steps={STEPS} train.training.validate_every={VALIDATE_EVERY}
    train.training.log_every={LOG_EVERY} train.training.validation_sentences=5
    train.training.average=0.9 evaluate.beam.width=2 evaluate.beam.max_length=30
    evaluate.threads=1 evaluate.resamples=10 evaluate.pictures=1 export.canaries=3
"""

pytestmark = pytest.mark.slow


@dataclass
class Copy:
    """A project of its own, and the log of what ran in it last."""

    folder: Path
    shared: Path

    @property
    def environment(self):
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PREFECT", "MLFLOW", "MAKE"))
        }
        return ours | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder),
            "PYTHONUNBUFFERED": "1",
            "MLFLOW_TRACKING_URI": f"sqlite:///{self.shared / 'mlflow.db'}",
            "PREFECT_HOME": str(self.shared / "prefect"),
            "DVC_SITE_CACHE_DIR": str(self.shared / "dvc"),
            "DO_NOT_TRACK": "1",
        }

    def start(self, command):
        with self.log_file.open("wb") as log:
            return subprocess.Popen(
                shlex.split(command),
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def fails(self, command):
        return self.start(command).wait()

    def run(self, command):
        assert self.fails(command) == 0, self.log
        return self

    @property
    def log_file(self):
        return self.folder / "log.txt"

    @property
    def log(self):
        return self.log_file.read_text(errors="replace")

    @property
    def ran(self):
        """The stages that the last command ran, in order."""
        return re.findall(r"^Running stage '(\w+)':", self.log, re.MULTILINE)

    @property
    def lock(self):
        return (self.folder / "dvc.lock").read_text()

    @property
    def model(self):
        return files.sha256(self.folder / "models/trained/model.safetensors")

    def checkpoints(self):
        """Steps at which training could continue."""
        return [int(path.stem[5:]) for path in self.folder.glob("checkpoints/*/step-*.json")]

    def trained_to(self, step):
        """Wait until training has come to a step."""
        for _ in range(6000):
            for journal in self.folder.glob("runs/*/journal.jsonl"):
                lines = journal.read_text().split("\n")[:-1]
                if any(json.loads(line).get("step", 0) >= step for line in lines):
                    return
            time.sleep(0.01)
        pytest.fail(f"training did not come to step {step}: {self.log}")

    def copy(self, folder):
        shutil.copytree(self.folder, folder, symlinks=True)
        return Copy(folder, self.shared)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A clone with parameters and nothing made yet."""
    shared = tmp_path_factory.mktemp("shared")
    copy = Copy(tmp_path_factory.mktemp("fresh") / "project", shared)
    for part in PARTS:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / part, copy.folder / part, ignore=ignore)
    for name in FILES:
        (copy.folder / name).parent.mkdir(exist_ok=True)
        shutil.copy2(PROJECT / name, copy.folder / name)
    (copy.folder / ".git").mkdir()
    copy.run("git init --quiet .")
    (copy.folder / ".git/info/exclude").write_text("/log.txt\n")
    copy.run(f"python -m stages.configure {TINY}")
    copy.run("git add --all")
    copy.run("git -c user.name=Tester -c user.email=tester@localhost commit --quiet -m Begin")
    return copy


@pytest.fixture(scope="module")
def prepared(fresh, tmp_path_factory):
    """Everything but the training is done."""
    return fresh.copy(tmp_path_factory.mktemp("prepared") / "project").run(
        "dvc repro embeddings shard"
    )


@pytest.fixture(scope="module")
def finished(prepared, tmp_path_factory):
    """What nobody disturbed, made by the command that people type."""
    return prepared.copy(tmp_path_factory.mktemp("finished") / "project").run(MAKE_REPRO)


def test_every_stage_runs_once(prepared, finished):
    assert sorted(STAGES) == sorted(prepared.ran + finished.ran)


def test_the_end_is_a_summary(finished):
    assert "de → en" in finished.log
    assert "BLEU" in finished.log
    assert "nmt translate --model models/export" in finished.log


def test_the_export_translates(finished):
    done = subprocess.run(
        [sys.executable, "-m", "nmt_core.cli", "translate", "--model", "models/export"],
        cwd=finished.folder,
        env=finished.environment,
        input="Die Kommission antwortet.\n\nWir danken dem Berichterstatter.\n",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    lines = done.stdout.split("\n")
    assert len(lines) == 4
    assert lines[0]
    assert lines[1] == ""


def test_a_second_time_runs_nothing(finished, tmp_path):
    again = finished.copy(tmp_path / "project").run("dvc repro")

    assert again.ran == []
    assert again.lock == finished.lock


def test_a_changed_parameter_runs_its_cone_alone(finished, tmp_path):
    changed = finished.copy(tmp_path / "project")
    changed.run("python -m stages.configure evaluate.beam.width=1").run("dvc repro")

    assert changed.ran == ["evaluate", "export"]
    assert changed.model == finished.model
    decoding = json.loads((changed.folder / "models/export/decoding.json").read_text())
    assert decoding["beam"]["width"] == 1


@pytest.fixture(scope="module")
def killed(prepared, tmp_path_factory):
    """The power fails between two checkpoints, of dvc as of training."""
    copy = prepared.copy(tmp_path_factory.mktemp("killed") / "project")
    process = copy.start("dvc repro")
    copy.trained_to(VALIDATE_EVERY + LOG_EVERY)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert copy.checkpoints() == [VALIDATE_EVERY]
    assert not (copy.folder / "models/trained").exists()
    return copy.run("dvc repro")


def test_a_killed_training_continues(killed):
    assert killed.ran == ["train", "evaluate", "export"]
    assert f"continuing from step {VALIDATE_EVERY}\n" in killed.log


def test_a_killed_training_ends_in_the_same_bytes(killed, finished):
    """Weights, history, scores and export: whatever dvc.lock has a digest of."""
    assert killed.model == finished.model
    assert killed.lock == finished.lock


def test_a_terminated_training_saves_and_continues(prepared, finished, tmp_path):
    copy = prepared.copy(tmp_path / "project")
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


def test_another_seed_begins_anew(killed, finished, tmp_path):
    """Checkpoints of other settings are not continued."""
    copy = killed.copy(tmp_path / "project")
    copy.run("python -m stages.configure train.seed=2").run("dvc repro train")

    assert "continuing from step" not in copy.log
    assert copy.model != finished.model


def test_the_flow_makes_what_dvc_makes(fresh, finished, tmp_path):
    flow = fresh.copy(tmp_path / "project").run("python -m flows.train")

    assert flow.lock == finished.lock


@pytest.mark.parametrize("command", [MAKE_REPRO, "python -m flows.train"])
def test_a_typo_costs_seconds(fresh, tmp_path, command):
    """It is in the section of the sixth stage, and the first does not run."""
    copy = fresh.copy(tmp_path / "project")
    params = copy.folder / "params.yaml"
    params.write_text(params.read_text().replace("label_smoothing:", "label_smoothin:"))
    began = time.monotonic()

    assert copy.fails(command) != 0
    assert time.monotonic() - began < 30
    sentence = "train.training.label_smoothin is not a parameter; did you mean 'label_smoothing'?"
    assert f"params.yaml: {sentence}" in copy.log
    assert "Traceback" not in copy.log
    assert not (copy.folder / "dvc.lock").exists()
    assert not (copy.folder / "data").exists()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_trains_and_exports(prepared, preset, tmp_path):
    """By the command that people type, with its own tokens, vectors, batches and optimizer."""
    copy = prepared.copy(tmp_path / "project")
    shape = {f"train.model.{key}": SHRUNK[key] for key in SHRUNK if PRESETS[preset].get(key)}
    settings = {
        **shape,
        "train.budget.steps": 4,
        "train.training.validate_every": 2,
        "train.training.validation_sentences": 5,
        "train.compute.threads": 1,
        "tokenize.subwords.pieces": 400,
        "evaluate.resamples": 10,
        "evaluate.beam.max_length": 20,
        "export.canaries": 3,
    }
    group = yaml.safe_load((PROJECT / f"conf/model/{preset}.yaml").read_text())
    if "dimensions" in group["embeddings"]["vectors"]:
        settings |= {
            "embeddings.vectors.dimensions": SHRUNK["width"],
            "embeddings.vectors.epochs": 1,
            "embeddings.vectors.buckets": 100,
        }
    chosen = " ".join(f"-S {name}={value}" for name, value in settings.items())
    grammar = " ".join(
        f"-S download.corpus.grammar.{split}_pairs={pairs}"
        for split, pairs in {"train": 400, "validation": 20, "test": 20}.items()
    )
    copy.run(f"dvc exp run -S data=demo -S model={preset} {grammar} {chosen}")

    assert "export" in copy.ran
    assert json.loads((copy.folder / "metrics/export.json").read_text())["canaries"] == 3
    assert json.loads((copy.folder / "models/export/model.json").read_text())["architecture"]
