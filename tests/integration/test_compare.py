"""The real comparison, by its own command: two models in miniature, side by side, then again."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from nmt_core.base import files
from tests.support.pipeline import list_data_stages
from tests.support.projects import (
    FILES,
    SMALL,
    TRANSFORMER,
    a_users_environment,
    copy_project,
    overrides,
)

MODELS = ["transformer", "transformer_base"]
SETTINGS = {**SMALL, **TRANSFORMER, "train.training.validate_every": 30, "evaluate.pictures": 0}
COMPARE = f"flows.compare {' '.join(MODELS)} data=demo --steps 60 {overrides(**SETTINGS)}"

pytestmark = pytest.mark.slow


@dataclass
class Clone:
    """A project of its own, as a fresh clone has it."""

    folder: Path

    def run(self, command, *, module=True):
        return subprocess.run(
            [*([sys.executable, "-m"] if module else []), *command.split()],
            cwd=self.folder,
            env=a_users_environment()
            | {
                "PYTHONPATH": str(self.folder),
                "PREFECT_HOME": str(self.folder.parent / "prefect"),
                "DVC_SITE_CACHE_DIR": str(self.folder.parent / "dvc"),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def git(self, command):
        done = self.run(f"git -c user.name=T -c user.email=t@localhost {command}", module=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def database(self, query):
        with closing(sqlite3.connect(self.folder / "mlflow.db")) as database:
            return list(database.execute(query))


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare") / "project"
    copy_project(folder, names=(*FILES, "params.yaml"))
    clone = Clone(folder)
    clone.git("init --quiet")
    clone.git("add --all")
    clone.git("commit --quiet -m Begin")
    return clone


@pytest.fixture(scope="module")
def compared(clone):
    first = clone.run(COMPARE)
    assert first.returncode == 0, first.stderr
    report = files.read_json(clone.folder / "reports/comparison/comparison.json")
    again = clone.run(COMPARE)
    assert again.returncode == 0, again.stderr
    return first, report, again


def test_both_models_are_in_the_table_on_equal_terms(clone, compared):
    first, report, _ = compared
    page = (clone.folder / "reports/comparison/comparison.md").read_text()

    assert sorted(run["system"] for run in report["runs"]) == MODELS
    assert {run["steps"] for run in report["runs"]} == {60}
    assert len({run["target_tokens"] for run in report["runs"]}) == 1
    for run in report["runs"]:
        assert run["train_seconds"] > 0
        assert run["sentences_per_second"] > 0
        assert run["system"] in first.stdout
        assert run["system"] in page
    assert "equal budgets of 60 steps" in page
    assert [pair["metric"] for pair in report["differences"]] == ["bleu", "chrf"]


def test_what_both_share_is_made_once(compared):
    first, _, _ = compared

    for stage in list_data_stages():
        assert first.stderr.count(f"Running stage '{stage}'") == 1
    assert first.stderr.count("Running stage 'train'") == 2


def test_finished_runs_are_counted(compared):
    first, _, _ = compared

    assert "1 of 2 runs are done\n" in first.stderr
    assert "2 of 2 runs are done\n" in first.stderr


def test_a_second_time_trains_nothing_and_reports_the_same(clone, compared):
    _, report, again = compared

    assert "Running stage" not in again.stderr
    assert again.stderr.count("has been run") == 2
    assert report == files.read_json(clone.folder / "reports/comparison/comparison.json")


def test_the_workspace_is_left_alone(clone, compared):
    assert clone.git("status --porcelain") == ""
    assert not (clone.folder / "data").exists()
    assert [*clone.folder.glob(".dvc/tmp/exps/standalone/tmp*")] == []
    assert len([*clone.folder.glob("checkpoints/*/step-*60.json")]) == 2


def test_runs_are_shown_below_the_comparison(clone, compared):
    _, report, _ = compared
    names = dict(clone.database("select name, run_uuid from runs"))
    below = dict(
        clone.database("select run_uuid, value from tags where key = 'mlflow.parentRunId'")
    )

    parent = names.pop(f"compare {' '.join(MODELS)}")
    assert sorted(run["experiment"] for run in report["runs"]) == sorted(names)
    trainings = {run for run, above in below.items() if above == parent}
    assert len(trainings) == len(report["runs"])
    assert {below[run] for run in below} == {parent, *trainings}  # evaluations are below those
    bleu = dict(
        clone.database("select key, value from latest_metrics where key like 'test_bleu/%'")
    )
    assert sorted(bleu) == [f"test_bleu/{name}" for name in MODELS]
    shown = dict(
        clone.database("select run_uuid, value from latest_metrics where key = 'test_bleu'")
    )
    assert shown[parent] == max(bleu.values())


def test_a_typo_is_told_in_one_sentence(clone):
    done = clone.run("flows.compare transformer data=demo train.sede=1")

    assert done.returncode == 1
    assert done.stderr.startswith("error: conf/: Could not override 'train.sede'")
    assert "Traceback" not in done.stderr
