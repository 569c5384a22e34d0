"""The whole project in miniature, in its own folders, run by its own commands."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from nmt_core.base import files

PROJECT = Path(__file__).parents[2]
PARTS = ("conf", "flows", "infra", "nmt_core", "stages")
FILES = (
    ".dvc/config",
    ".dvc/.gitignore",
    ".gitignore",
    "Makefile",
    "dvc.yaml",
    "prefect.yaml",
    "pyproject.toml",
)

STEPS, VALIDATE_EVERY, LOG_EVERY = 240, 80, 10
SMALL = {
    "download.corpora.demo.grammar.train_pairs": 400,
    "download.corpora.demo.grammar.validation_pairs": 20,
    "download.corpora.demo.grammar.test_pairs": 20,
    "tokenize.subwords.vocab_size": 400,
    "train.compute.threads": 1,
    "train.compute.precision": "float32",
    "train.training.log_every": LOG_EVERY,
    "train.training.validation_sentences": 5,
    "evaluate.beam.beam_size": 2,
    "evaluate.beam.max_length": 15,
    "evaluate.threads": 1,
    "evaluate.resamples": 10,
    "evaluate.pictures": 1,
    "evaluate.choose_length_penalty": "false",
    "export.shortlist": "null",
    "export.golden_sentences": 3,
}
"""Settings with which any small preset takes seconds."""

TRANSFORMER = {
    "train.model.width": 32,
    "train.model.heads": 2,
    "train.model.feed_forward_width": 64,
    "train.model.encoder_layers": 1,
    "train.model.decoder_layers": 1,
    "train.batching.max_tokens": 256,
}


def overrides(**settings):
    """Return settings as command-line arguments."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


SCHEDULE = {
    "evaluate.pictures": 0,
    "train.budget.steps": STEPS,
    "train.training.validate_every": VALIDATE_EVERY,
    "train.training.ema_decay": 0.9,
}
TINY = f"data=demo model=transformer {overrides(**(SMALL | TRANSFORMER | SCHEDULE))}"


def a_users_environment():
    """Return the environment of a user with our virtual environment and no other variables.

    Variables of the test machine, such as PYTHONDONTWRITEBYTECODE, would hide faults.
    """
    ours = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return ours | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@dataclass
class Copy:
    """A project, and the log of its last command."""

    folder: Path
    shared: Path
    log_name: str = "log.txt"

    @property
    def environment(self):
        return a_users_environment() | {
            "PYTHONPATH": str(self.folder),
            "MLFLOW_TRACKING_URI": f"sqlite:///{self.shared / 'mlflow.db'}",
            "PREFECT_HOME": str(self.shared / "prefect"),
            "DVC_SITE_CACHE_DIR": str(self.shared / "dvc"),
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

    def run_stages(self, *names, settings=""):
        """Run stages one after another in one process, which imports torch once."""
        program = (
            f"import importlib as i; [i.import_module('stages.' + name).main() for name in {names}]"
        )
        return self.run(f'python -c "{program}" {settings}')

    def fails(self, command):
        return self.start(command).wait()

    def run(self, command):
        assert self.fails(command) == 0, self.log
        return self

    @property
    def log_file(self):
        return self.folder / self.log_name

    @property
    def log(self):
        return self.log_file.read_text(errors="replace")

    @property
    def ran(self):
        """The stages that the last command ran, in order, without the stage ``code``."""
        return re.findall(r"^Running stage '(?!code')(\w+)':", self.log, re.MULTILINE)

    @property
    def lock(self):
        return (self.folder / "dvc.lock").read_text()

    @property
    def model(self):
        return files.sha256(self.folder / "models/trained/model.safetensors")

    def digests(self):
        """Return the digest of each file that stages wrote, by path."""
        parts = ("data", "metrics", "models", "reports")
        found = (path for part in parts for path in (self.folder / part).rglob("*"))
        made = [path for path in found if path.is_file() and path.name != ".gitignore"]
        return {str(path.relative_to(self.folder)): files.sha256(path) for path in made}

    def checkpoints(self):
        """The steps of checkpoints."""
        return [int(path.stem[5:]) for path in self.folder.glob("checkpoints/*/step-*.json")]

    def trained_to(self, step):
        """Wait until training has reached a step; busy machines get more time."""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            for journal in self.folder.glob("runs/*/journal.jsonl"):
                lines = journal.read_text().split("\n")[:-1]
                if any(json.loads(line).get("step", 0) >= step for line in lines):
                    return
            time.sleep(0.02)
        pytest.fail(f"training did not come to step {step}: {self.log}")

    def copy(self, folder):
        shutil.copytree(self.folder, folder, symlinks=True)
        return type(self)(folder, self.shared)

    def untracked(self, folder):
        """Return a copy in which MLflow cannot be imported."""
        there = self.copy(folder).folder
        return Untracked(there, self.shared)


@dataclass
class Untracked(Copy):
    """A project without MLflow, which would take longer than a short training."""

    @property
    def environment(self):
        none = self.shared / "untracked/mlflow.py"
        if not none.exists():
            none.parent.mkdir()
            none.write_text("raise ImportError('there is none')\n")
        return super().environment | {"PYTHONPATH": f"{none.parent}:{self.folder}"}


def copy_project(folder, *, parts=PARTS, names=FILES):
    """Copy packages and files of the top folder."""
    for part in parts:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT / part, folder / part, ignore=ignore)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy2(PROJECT / name, folder / name)


def begin(folder, shared, *, settings=""):
    """Return a clone with settings, before any stage ran, as one commit."""
    copy = Copy(folder, shared)
    copy_project(folder)
    (copy.folder / ".git").mkdir()
    copy.run("git init --quiet .")
    (copy.folder / ".git/info/exclude").write_text("/log.txt\n")
    copy.run(f"python -m stages.configure {TINY} {settings}")
    copy.run("git add --all")
    copy.run("git -c user.name=Tester -c user.email=tester@localhost commit --quiet -m Begin")
    return copy
