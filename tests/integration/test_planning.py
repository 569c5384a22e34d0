"""A run is planned, is run, and took what was predicted; what is wrong is one sentence."""

import json

import pytest

from stages.planning.calibration import STAGES
from stages.planning.prediction import Plan
from tests.support.projects import begin

PLAN = "make --silent --old-file .venv/ready plan"
BUSIER = 2.0
"""Factor by which other tests may leave a run more of the machine, or less, than its plan."""


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
    assert plan.training.updates.low == plan.training.updates.high == 240
    assert [stage for stage in [*STAGES, "all"] if f"\n {stage} " not in planned.log] == []
    assert "training: 240 updates of " in planned.log


@pytest.mark.slow
def test_planning_leaves_nothing_but_the_plan(planned):
    assert [path.name for path in (planned.folder / "runs").iterdir() if path.name != "usage"] == [
        "plan.json"
    ]
    assert not (planned.folder / "data/shards").exists()
    assert not (planned.folder / "checkpoints").exists()
    assert not (planned.folder / "models").exists()


@pytest.mark.slow
def test_the_range_of_what_was_predicted_holds_what_a_run_takes(planned, compared):
    predicted = read_plan(planned)
    trained = json.loads((planned.folder / "models/trained/training.json").read_text())
    foreseen = 240 * predicted.training.tokens_per_update
    assert foreseen == pytest.approx(trained["target_tokens"], rel=0.1)
    usages = {
        stage: json.loads((planned.folder / f"runs/usage/{stage}.json").read_text())
        for stage in STAGES
    }
    for stage, usage in usages.items():
        at_most = predicted.stages[stage].memory_bytes
        assert at_most / 3 < usage["memory_bytes"] < at_most, (stage, compared)
    seconds = sum(usage["seconds"] for usage in usages.values())
    total = predicted.total.seconds
    assert total.low / BUSIER < seconds < total.high * BUSIER, compared


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
    )
    assert list((other.folder / "runs").glob("plan-*")) == []
