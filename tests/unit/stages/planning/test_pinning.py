"""Some time is worth so many tokens that a run of them is predicted to take that time."""

from dataclasses import replace

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.base.progress import format_duration
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from stages.planning.pinning import pin_budget
from stages.planning.scratch import change_settings
from tests.support.projects import PROJECT
from tests.unit.stages.planning.test_prediction import CALIBRATION, SETTINGS, plan


def pin(time, calibration=CALIBRATION):
    values = compose_settings(["data=demo", f"time={time}"], conf=PROJECT / "conf")
    return pin_budget(calibration, build_all(values, source="test")["train"])


@pytest.mark.parametrize("speed", [300.0, 1000.0, 20000.0])
@pytest.mark.parametrize(("time", "seconds"), [("45m", 2700), ("2h", 7200), ("26h30m10s", 95410)])
def test_a_run_of_the_pinned_budget_is_predicted_to_take_the_time(time, seconds, speed):
    training = replace(CALIBRATION.training, tokens_per_second=speed)
    calibration = replace(CALIBRATION, training=training)
    pinned = pin(time, calibration)
    changes = {
        "train.budget": pinned["budget"],
        "train.training.validate_every": pinned["validate_every"],
    }
    predicted = plan(calibration, **changes)
    taken = sum(stage.seconds.middle for stage in predicted.stages.values())
    assert taken == pytest.approx(seconds, rel=0.11)  # tokens are rounded down to two digits
    assert taken < 1.02 * seconds
    updates = predicted.training.updates.low
    assert 11 <= updates // pinned["validate_every"] <= 13
    assert [name for name, limit in pinned["budget"].items() if limit] == ["tokens"]
    assert len(str(pinned["budget"]["tokens"]).rstrip("0")) <= 2


def test_twice_the_time_is_worth_more_than_twice_the_tokens():
    once, twice = (pin(time)["budget"]["tokens"] for time in ("1h", "2h"))
    assert 2 * once <= twice < 3 * once


def test_a_budget_without_seconds_is_refused():
    train = build_all(change_settings(SETTINGS, {}), source="test")["train"]
    with pytest.raises(ConfigError, match="seconds is null; ask for a time"):
        pin_budget(CALIBRATION, train)


def test_the_time_that_is_enough_is_twice_that_of_all_but_updates_and_validations():
    stages = plan().stages
    others = sum(stage.seconds.middle for name, stage in stages.items() if name != "train")
    with pytest.raises(ConfigError) as told:
        pin("1m")
    least = 2 * (others + CALIBRATION.training.start_seconds)
    assert f"take some {format_duration(others)} of it" in str(told.value)
    assert f"ask for {format_duration(least)} or more" in str(told.value)
    hours, minutes, seconds = format_duration(least).split(":")
    pin(f"{hours}h{minutes}m{seconds}s")
