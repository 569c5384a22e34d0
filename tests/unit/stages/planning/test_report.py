"""What people read: ranges, what was observed beside them, and of what there is too little."""

import pytest

from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from stages.planning.prediction import Plan, PredictedTraining, Prediction, Range
from stages.planning.report import describe, show
from stages.planning.scratch import change_settings
from stages.planning.shortage import find_shortages
from stages.runtime.usage import Usage
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")


def exactly(value):
    return Range(low=value, high=value)


def make_plan(**changes):
    training = {
        "updates": exactly(1_000),
        "passes": exactly(1.0),
        "limit": "steps",
        "tokens_per_update": 500,
        "tokens_per_second": Range(low=500, high=2_000),
        "tokens_per_pass": 500_000,
        "first_validation": Range(low=59, high=121),
    }
    stages = {
        name: Prediction(
            seconds=Range(low=60, high=120),
            memory_bytes=memory,
            disk_bytes=10**9,
        )
        for name, memory in (("shard", 2**20), ("train", 2**30))
    }
    return Plan(settings="", stages=stages, training=PredictedTraining(**training | changes))


def shown(capsys, observed):
    show(make_plan(), observed, ["too small"])
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_plan_is_a_row_for_each_stage_and_one_for_all(capsys):
    _, shard, train, everything, *_, last = shown(capsys, {})

    assert shard.startswith("shard 0:01:00 to 0:02:00")
    assert train.startswith("train 0:01:00 to 0:02:00 1")
    assert everything.startswith("all 0:02:00 to 0:04:00")
    assert last == "too small"


@pytest.mark.parametrize(("seconds", "judged"), [(59, "below"), (90, "yes"), (121, "above")])
def test_what_was_observed_is_held_against_the_range(capsys, seconds, judged):
    took = Usage(seconds=seconds, processor_seconds=3.0, memory_bytes=2**28)
    _, shard, train, everything, *_ = shown(capsys, {"shard": took})
    assert shard.endswith(f"0.25 {judged}")
    assert not train.endswith(judged)
    assert not everything.endswith(judged)
    assert shown(capsys, {"shard": took, "train": took})[3].endswith(judged)


def test_all_stages_took_their_time_together_and_the_memory_of_the_largest(capsys):
    def took(memory):
        return Usage(seconds=90, processor_seconds=3.0, memory_bytes=memory)

    for pair in ((2**28, 2**29), (2**29, 2**28)):
        observed = dict(zip(("shard", "train"), map(took, pair), strict=True))
        assert shown(capsys, observed)[3].endswith("0:03:00 0.50 yes")


def test_a_figure_that_is_known_is_no_range():
    assert describe(exactly(1_234)) == "1,234"
    assert describe(Range(low=1_234, high=2_345)) == "1,200 to 2,300"
    assert describe(Range(low=1_234, high=1_240)) == "1,200"


ENOUGH = {"memory": 2**30, "disk": 2 * 10**9, "chosen": False}


def find(plan, schedule=None, **changes):
    changed = {"train.schedule": schedule} if schedule else {}
    train = build_all(change_settings(SETTINGS, changed), source="params.yaml")["train"]
    return list(find_shortages(plan, train, **ENOUGH | changes))


@pytest.mark.parametrize("chosen", [True, False])
def test_a_budget_that_ends_within_the_first_pass_is_too_small(chosen):
    [told] = find(make_plan(passes=Range(low=0.7, high=1.3), limit="seconds"), chosen=chosen)

    assert "\n" not in told
    assert "95 %" in told
    assert "500,000 target tokens, 0:08:20 of updates" in told  # of 1,000 a second
    assert "train.budget.seconds" in told
    assert ("MODEL=auto" in told) is not chosen


@pytest.mark.parametrize(
    "schedule",
    [
        {"kind": "inverse_sqrt", "warmup_steps": 1_000},
        {"kind": "cosine_restarts", "first_steps": 1_000},
    ],
)
def test_a_budget_that_ends_before_the_schedule_has_begun_is_too_small(schedule):
    assert find(make_plan(updates=exactly(1_000)), schedule) == []
    [told] = find(make_plan(updates=exactly(999)), schedule)
    assert "train.schedule" in told
    assert find(make_plan(updates=exactly(1))) == []  # where the schedule follows the budget


@pytest.mark.parametrize("what", ["memory", "disk"])
def test_a_machine_without_room_is_told_of_and_no_other(what):
    assert find(make_plan()) == []
    [told] = find(make_plan(), **{what: ENOUGH[what] - 1})
    assert what in told


@pytest.mark.parametrize("order", [1, -1])
def test_the_stage_that_needs_most_memory_is_named(order):
    plan = make_plan()
    stages = dict(zip(plan.stages, [*plan.stages.values()][::order], strict=True))
    [told] = find(plan.model_copy(update={"stages": stages}), memory=ENOUGH["memory"] - 1)

    assert f"{[*stages][::order][-1]} needs up to 1.07 GB" in told
