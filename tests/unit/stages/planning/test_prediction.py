"""A plan holds what a planted machine takes, and warns of what is too little."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.configure.compose import apply_changes, compose_settings
from stages.configure.sections import build_all
from stages.planning.calibration import Calibration, Range
from stages.planning.prediction import describe, describe_plan, find_shortages, predict
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")
CALIBRATION = Calibration(
    others=Range(200, 450),
    start_seconds=10.0,
    validation_seconds=Range(2.0, 6.0),
    tokens_per_second=Range(800, 1250),
    tokens_per_update=500.0,
    tokens_per_pass=600_000,
    memory_bytes=10**8,
    share=1.0,
)


def build_training(*changes):
    return build_all(apply_changes(SETTINGS, list(changes)), source="test")["train"]


def set_budget(**limits):
    unset = dict.fromkeys(("steps", "epochs", "tokens", "seconds"), "null")
    values = ",".join(f"{name}:{limit}" for name, limit in (unset | limits).items())
    return f"train.budget={{{values}}}"


def plan(*changes, calibration=CALIBRATION):
    return predict(calibration, build_training(*changes))


@pytest.mark.parametrize(
    ("limit", "amount", "updates"),
    [
        ("steps", 700, (700, 700)),
        ("epochs", 3, (3600, 3600)),
        ("tokens", 50_001, (101, 101)),
        ("seconds", 60.0, (96, 150)),
        ("seconds", 0.001, (1, 1)),
    ],
)
def test_every_limit_becomes_updates(limit, amount, updates):
    made = plan(set_budget(**{"steps": 10**6, limit: amount}))
    assert (made.updates, made.limit) == (updates, limit)
    assert made.passes == pytest.approx([count * 500 / 600_000 for count in updates])


@settings(max_examples=20)
@given(st.integers(1, 10**5), st.integers(1, 10**7), st.floats(1, 1e5))
def test_first_reached_limit_ends_training(steps, tokens, seconds):
    limits = {"steps": steps, "tokens": tokens, "seconds": seconds}
    made = plan(set_budget(**limits))
    alone = {name: plan(set_budget(**{name: most})).updates for name, most in limits.items()}
    assert made.updates == tuple(map(min, zip(*alone.values(), strict=True)))


@pytest.mark.parametrize(
    ("limits", "every", "seconds"),
    [
        ({"steps": 600}, 300, (10 + 240 + 2 * 2, 10 + 375 + 2 * 6)),
        ({"steps": 601}, 300, (10 + 240.4 + 3 * 2, 10 + 375.625 + 3 * 6)),
        ({"seconds": 240.0}, 10**6, (10 + 240 + 12 * 2, 10 + 240 + 12 * 6)),
    ],
)
def test_time_covers_start_updates_and_validations(limits, every, seconds):
    made = plan(set_budget(**limits), f"train.training.validate_every={every}")
    assert made.seconds == pytest.approx(seconds)


def test_each_process_needs_memory():
    one, four = (plan(f"train.compute.processes={count}").memory_bytes for count in (1, 4))
    assert four == 4 * one > 10**8


def test_plan_prints_figures_or_ranges():
    printed = describe_plan(plan(set_budget(steps=1200)), CALIBRATION)
    for text in ("800 to 1,200 target tokens", "updates: 1,200 of about 500", "1 passes"):
        assert text in printed
    assert describe(Range(1_234, 1_234)) == "1,234"
    assert describe(Range(1_234, 2_345)) == "1,200 to 2,300"
    assert describe(Range(1_234, 1_240)) == "1,200"


def find(*changes, calibration=CALIBRATION, memory=10**9, chosen=False):
    params = build_training(*changes)
    found = find_shortages(
        predict(calibration, params), calibration, params, memory=memory, chosen=chosen
    )
    return "\n".join(found)


@pytest.mark.parametrize("chosen", [True, False])
def test_less_than_one_pass_is_too_small(chosen):
    assert find(set_budget(steps=1200), chosen=chosen) == ""
    found = find(set_budget(steps=1199), chosen=chosen)
    assert re_percent(found) == math.floor(100 * 1199 / 1200)
    assert "600,000 target tokens, 0:10:00 of updates; raise train.budget.steps" in found
    assert ("MODEL=auto" in found) is not chosen


def re_percent(text):
    return int(text.partition(" %")[0].rpartition(" ")[2])


@pytest.mark.parametrize(
    "schedule", ["{kind:inverse_sqrt,warmup_steps:2000}", "{kind:cosine_restarts,first_steps:2000}"]
)
def test_budget_must_outlast_warm_up_or_first_cycle(schedule):
    change = f"train.schedule={schedule}"
    assert find(set_budget(steps=2000), change) == ""
    assert "train.schedule" in find(set_budget(steps=1999), change)


def test_missing_memory_and_busy_machine_are_reported():
    budget = set_budget(steps=1200)
    assert "needs up to 0.16 GB" in find(budget, memory=10**8)
    busy = find(budget, calibration=CALIBRATION._replace(share=0.3))
    assert busy == "other programs take 70% of this machine's processor time"
