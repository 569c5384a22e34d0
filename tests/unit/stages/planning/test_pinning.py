"""Some time is worth so many tokens that a run of them is predicted to take that time."""

import re

import pytest

from nmt_core.base.errors import ConfigError
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from stages.planning.calibration import Range
from stages.planning.pinning import pin_budget
from tests.support.projects import PROJECT
from tests.unit.stages.planning.test_prediction import (
    CALIBRATION,
    build_training,
    plan,
    set_budget,
)


def pin(time, calibration=CALIBRATION):
    values = compose_settings(["data=demo", f"time={time}"], conf=PROJECT / "conf")
    return pin_budget(calibration, build_all(values, source="test")["train"])


@pytest.mark.parametrize("speed", [300.0, 1000.0, 20000.0])
@pytest.mark.parametrize(("time", "seconds"), [("45m", 2700), ("2h", 7200), ("26h30m10s", 95410)])
def test_pinned_budget_takes_the_time(time, seconds, speed):
    calibration = CALIBRATION._replace(tokens_per_second=Range(0.9 * speed, speed))
    pinned = pin(time, calibration)
    every = f"train.training.validate_every={pinned.validate_every}"
    predicted = plan(set_budget(tokens=pinned.budget.tokens), every, calibration=calibration)
    taken = predicted.seconds.middle + calibration.others.middle
    assert taken == pytest.approx(seconds, rel=0.11)  # tokens are rounded down to two digits
    assert taken < 1.02 * seconds
    assert 11 <= predicted.updates.low // pinned.validate_every <= 13
    assert [name for name, limit in pinned.budget.model_dump().items() if limit] == ["tokens"]
    assert len(str(pinned.budget.tokens).rstrip("0")) <= 2


def test_twice_the_time_is_worth_more_than_twice_the_tokens():
    once, twice = (pin(time).budget.tokens for time in ("1h", "2h"))
    assert 2 * once <= twice < 3 * once


def test_a_budget_without_seconds_is_refused():
    with pytest.raises(ConfigError, match="seconds is null; ask for a time"):
        pin_budget(CALIBRATION, build_training())


def test_time_for_too_few_updates_is_refused():
    """And the time that the message names is enough."""
    with pytest.raises(ConfigError, match=r"too short for 100 updates") as told:
        pin("2m", CALIBRATION._replace(share=0.3))
    assert "other programs take 70% of this machine's processor time" in str(told.value)
    [minutes] = re.findall(r"ask for TIME=(\d+)m or more", str(told.value))
    assert pin(f"{minutes}m", CALIBRATION._replace(share=0.3)).budget.tokens >= 45_000


def test_less_than_a_pass_is_told_with_time_for_one():
    calibration = CALIBRATION._replace(tokens_per_pass=20_000_000)
    warning = pin("1h", calibration).warning
    assert re.match(r"that is \d+% of one pass", warning)
    [minutes] = re.findall(r"ask for TIME=(\d+)m", warning)
    assert pin(f"{minutes}m", calibration).warning == pin("1h").warning == ""
