"""Who has too little is told so, and nobody else: to the update, and to the byte."""

import pytest

from stages.configure.compose import compose_settings
from stages.params import TrainParams, build_all
from stages.planning.prediction import Plan, PredictedTraining, Prediction
from stages.planning.scratch import change_settings
from stages.planning.shortage import Room, find_shortages
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")
ENOUGH = Room(memory_bytes=10**9, disk_bytes=3 * 10**9)


def plan(**changes):
    training = {
        "updates": 1_000,
        "target_tokens": 500_000,
        "passes": 1.0,
        "limit": "steps",
        "tokens_per_second": 1_000.0,
        "tokens_per_pass": 500_000,
        "validations": 4,
    }
    used = {"seconds": 1.0, "processor_seconds": 1.0, "disk_bytes": 10**9}
    stages = {
        "shard": Prediction(memory_bytes=10**6, **used),
        "train": Prediction(memory_bytes=10**9, **used),
        "export": Prediction(memory_bytes=10**8, **used),
    }
    return Plan(settings="", stages=stages, training=PredictedTraining(**training | changes))


def params(schedule=None):
    changes = {"train.schedule": schedule} if schedule else {}
    train = build_all(change_settings(SETTINGS, changes), source="params.yaml")["train"]
    assert isinstance(train, TrainParams)
    return train


def test_who_has_enough_is_told_nothing():
    assert find_shortages(plan(), params(), ENOUGH) == []


def test_a_budget_that_ends_within_the_first_pass_is_too_small():
    [told] = find_shortages(
        plan(passes=0.999, tokens_per_pass=3_661_000, limit="seconds"), params(), ENOUGH
    )

    assert "\n" not in told
    assert told == (
        "the budget is too small for the text, of which it reads 99 %: one pass takes 3,661,000 "
        "target tokens, 1:01:01 of updates; raise train.budget.seconds, or let MODEL=auto choose a "
        "model that fits"
    )


def test_what_was_done_already_is_no_advice():
    [told] = find_shortages(plan(passes=0.9, limit="seconds"), params(), ENOUGH, chosen=True)

    assert told.endswith("of updates; raise train.budget.seconds")


SCHEDULES = [
    {"kind": "inverse_sqrt", "warmup_steps": 1_000},
    {"kind": "cosine_restarts", "first_steps": 1_000},
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_budget_that_ends_before_the_schedule_has_begun_is_too_small(schedule):
    assert find_shortages(plan(updates=1_000), params(schedule), ENOUGH) == []
    [told] = find_shortages(plan(updates=999), params(schedule), ENOUGH)
    assert "begins with 1,000 updates, of 999 in all; raise train.budget.steps" in told


def test_a_schedule_that_follows_the_budget_is_never_too_long_for_it():
    assert find_shortages(plan(updates=1), params(), ENOUGH) == []


def test_memory_is_too_small_where_the_largest_stage_has_none():
    [told] = find_shortages(plan(), params(), Room(10**9 - 1, ENOUGH.disk_bytes))

    assert told.startswith("memory is too small: train needs 1.0 GB, of which 1,000 MB are free")


def test_the_disk_is_too_small_for_all_stages_together():
    [told] = find_shortages(plan(), params(), Room(ENOUGH.memory_bytes, 3 * 10**9 - 1))

    assert told == ("the disk is too small: the run writes 3.0 GB, and 3.0 GB are free; make room")


def test_a_machine_has_room():
    room = Room.find()

    assert room.memory_bytes > 0
    assert room.disk_bytes > 0
