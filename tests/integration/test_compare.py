"""A comparison by its command: two models in miniature, in parallel, then again."""

import sqlite3
from contextlib import closing

import pytest

from nmt_core.base import files
from tests.support.pipeline import list_data_stages
from tests.support.projects import SMALL, TRANSFORMER, begin, overrides

MODELS = ["transformer", "transformer_base"]
SETTINGS = {**SMALL, **TRANSFORMER, "train.training.validate_every": 30, "evaluate.pictures": 0}
COMPARE = f"python -m flows.compare {' '.join(MODELS)} data=demo --steps 60 {overrides(**SETTINGS)}"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    return begin(folder / "project", folder)


@pytest.fixture(scope="module")
def compared(clone):
    first = clone.run(COMPARE).log
    report = files.read_json(clone.folder / "reports/comparison/comparison.json")
    return first, report, clone.run(COMPARE).log


def query(clone, text):
    with closing(sqlite3.connect(clone.shared / "mlflow.db")) as database:
        return dict(database.execute(text))


def test_report_compares_both_models_with_equal_budgets(clone, compared):
    first, report, _ = compared
    page = (clone.folder / "reports/comparison/comparison.md").read_text()

    assert sorted(run["system"] for run in report["runs"]) == MODELS
    assert {run["steps"] for run in report["runs"]} == {60}
    assert len({run["target_tokens"] for run in report["runs"]}) == 1
    for run in report["runs"]:
        assert run["train_seconds"] > 0
        assert run["sentences_per_second"] > 0
        assert run["system"] in first
        assert run["system"] in page
    assert "equal budgets of 60 steps" in page
    assert [pair["metric"] for pair in report["differences"]] == ["bleu", "chrf"]


def test_shared_outputs_are_made_once(compared):
    first, _, _ = compared

    for stage in list_data_stages():
        assert first.count(f"Running stage '{stage}'") == 1
    assert first.count("Running stage 'train'") == 2
    assert "1 of 2 runs are done\n" in first
    assert "2 of 2 runs are done\n" in first


def test_second_comparison_trains_nothing(clone, compared):
    _, report, again = compared

    assert "Running stage" not in again
    assert again.count("is finished already") == 2
    assert report == files.read_json(clone.folder / "reports/comparison/comparison.json")


def test_workspace_is_not_changed(clone, compared):
    assert clone.run("git status --porcelain").log == ""
    assert not (clone.folder / "data").exists()
    assert [*clone.folder.glob(".dvc/tmp/exps/standalone/tmp*")] == []
    assert len([*clone.folder.glob("checkpoints/*/step-*60.json")]) == 2


def test_runs_are_shown_below_the_comparison(clone, compared):
    _, report, _ = compared
    names = query(clone, "select name, run_uuid from runs")
    below = query(clone, "select run_uuid, value from tags where key = 'mlflow.parentRunId'")

    parent = names.pop(f"compare {' '.join(MODELS)}")
    assert sorted(run["experiment"] for run in report["runs"]) == sorted(names)
    trainings = {run for run, above in below.items() if above == parent}
    assert len(trainings) == len(report["runs"])
    assert {below[run] for run in below} == {parent, *trainings}  # evaluations are below these
    metrics = "value from latest_metrics where key"
    bleu = query(clone, f"select key, {metrics} like 'test_bleu/%'")
    assert sorted(bleu) == [f"test_bleu/{name}" for name in MODELS]
    assert query(clone, f"select run_uuid, {metrics} = 'test_bleu'")[parent] == max(bleu.values())


def test_typo_is_reported_in_one_sentence(clone):
    assert clone.fails("python -m flows.compare transformer data=demo train.sede=1")
    assert clone.log.startswith("error: conf/: Could not override 'train.sede'")
    assert "Traceback" not in clone.log
