"""A run is planned, is run, and took about what was predicted; what is wrong is one sentence."""

import json
import re

import pytest

from stages.planning.prediction import Plan
from tests.support.projects import begin

PLAN = "make --silent --old-file .venv/ready plan"
STAGES = ["tokenize", "vocabulary", "embeddings", "shard", "train", "evaluate", "export"]
TOLERANCE = 3.0
"""Within which factor predictions of processor time must lie: other tests slow memory meanwhile."""
SLACK = 2.0
"""Seconds by which they may be off all the same: a program's start takes as long."""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A project that was planned before it was run; MLflow would take longer than its training."""
    shared = tmp_path_factory.mktemp("shared")
    fresh = begin(tmp_path_factory.mktemp("fresh") / "project", shared)
    return fresh.untracked(tmp_path_factory.mktemp("planned") / "project").run(PLAN)


@pytest.fixture(scope="module")
def compared(planned):
    """The same once it was run, and what was printed of both."""
    planned.run("dvc repro")
    return planned.run("python -m stages.planning compare").log


def read_plan(project):
    return Plan(**json.loads((project.folder / "runs/plan.json").read_text()))


@pytest.mark.slow
def test_a_plan_names_all_stages_but_the_one_that_has_run(planned):
    plan = read_plan(planned)

    assert list(plan.stages) == STAGES
    assert plan.training.updates == 240
    assert plan.training.validations == 3
    assert [stage for stage in [*STAGES, "all"] if f"\n {stage} " not in planned.log] == []
    assert re.search(
        r"^training: about 240 updates of [\d,.]+ target tokens \([\d.]+ passes over the text\), "
        r"[\d,]+ tokens a second$",
        planned.log,
        re.MULTILINE,
    )


@pytest.mark.slow
def test_planning_leaves_nothing_but_the_plan(planned):
    assert [path.name for path in (planned.folder / "runs").iterdir() if path.name != "usage"] == [
        "plan.json"
    ]
    assert not (planned.folder / "data/shards").exists()
    assert not (planned.folder / "checkpoints").exists()
    assert not (planned.folder / "models").exists()


@pytest.mark.slow
def test_a_run_takes_about_what_was_predicted(planned, compared):
    predicted = read_plan(planned)
    trained = json.loads((planned.folder / "metrics/train.json").read_text())
    assert f"observed: 240 updates, {trained['target_tokens']:,} target tokens" in compared
    assert predicted.training.target_tokens == pytest.approx(trained["target_tokens"], rel=0.1)
    used = {
        stage: json.loads((planned.folder / f"runs/usage/{stage}.json").read_text())
        for stage in STAGES
    }
    for stage, usage in used.items():
        got = predicted.stages[stage]
        assert usage["memory_bytes"] / 2 < got.memory_bytes < usage["memory_bytes"] * 2
        assert is_near(got.processor_seconds, usage["processor_seconds"]), (stage, compared)
    all_used = sum(usage["processor_seconds"] for usage in used.values())
    assert 1 / TOLERANCE < predicted.total.processor_seconds / all_used < TOLERANCE, compared


def is_near(got, used):
    return used / TOLERANCE - SLACK < got < used * TOLERANCE + SLACK


@pytest.mark.slow
def test_the_comparison_divides_the_predicted_by_the_observed(planned, compared):
    rows = {cells[0]: cells for line in compared.splitlines() if (cells := line.split())}

    for stage, predicted in read_plan(planned).stages.items():
        used = json.loads((planned.folder / f"runs/usage/{stage}.json").read_text())
        ratio = predicted.seconds / used["seconds"]
        assert float(rows[stage][-1]) == pytest.approx(ratio, abs=0.006)


@pytest.mark.slow
def test_a_plan_of_other_settings_is_not_compared(planned):
    other = planned.copy(planned.folder.parent / "other")
    other.run("python -m stages.configure train.seed=2")

    assert other.fails("python -m stages.planning compare") == 1
    assert other.log == "runs/plan.json is of other settings; run: make plan\n"


@pytest.mark.slow
def test_a_stage_that_fails_is_told_in_a_sentence(planned):
    other = planned.copy(planned.folder.parent / "failing")
    other.run("python -m stages.configure tokenize.subwords.vocab_size=90000")

    assert other.fails("python -m stages.planning") == 1
    [told] = [line for line in other.log.splitlines() if "fails" in line]
    assert told.startswith(
        "the tokenize stage fails on a part of the text, so that nothing can be predicted: 90000 "
        "pieces cannot be learnt from this text"
    )
    assert list((other.folder / "runs").glob("plan-*")) == []
