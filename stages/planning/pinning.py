"""Find the budget of target tokens that a time is worth, so that a run can be repeated."""

import math

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.progress import format_duration
from nmt_core.training.schedule import VALIDATIONS, Budget
from stages.configure.auto import round_down
from stages.params import TrainParams
from stages.planning.calibration import Calibration

LEAST_UPDATES = 100
"""Updates of a training that is worth its time."""


class PinnedBudget(Config):
    """A budget of target tokens, and how often it is validated."""

    budget: Budget
    validate_every: int
    warning: str = ""
    """A warning about the budget; empty if training reads the text at least once."""


def pin_budget(calibration: Calibration, params: TrainParams) -> PinnedBudget:
    """Return settings of ``train`` in which tokens stand for the seconds of a budget.

    The seconds cover all stages except the download, by the middle of the predicted ranges.

    Raises:
        ConfigError: if it has none, or the other stages leave training hardly any time.
    """
    asked = params.budget.seconds
    if asked is None:
        raise ConfigError("train.budget.seconds is null; ask for a time first: time=2h")
    others, an_update = calibration.others.middle, calibration.tokens_per_update
    validating = (VALIDATIONS + 1) * calibration.validation_seconds.middle
    overhead = others + calibration.start_seconds + validating
    speed = calibration.tokens_per_second.middle

    least = LEAST_UPDATES * an_update
    busy = f"; {calibration.load}" if calibration.load else ""
    if (needed := overhead + least / speed) > asked:
        raise ConfigError(
            f"{format_duration(asked)} are too short for {LEAST_UPDATES} updates, fewer of which "
            f"teach a model nothing, and for the other stages ({format_duration(others)}){busy}; "
            f"ask for TIME={math.ceil(needed / 60)}m or more"
        )
    tokens = max((asked - overhead) * speed, least)
    warning, a_pass = "", calibration.tokens_per_pass
    if tokens < a_pass:
        minutes = math.ceil((overhead + a_pass / speed) / 60)
        warning = (
            f"that is {tokens / a_pass:.0%} of one pass over the text; for a whole one ask "
            f"for TIME={minutes}m, or let MODEL=auto choose a model that fits"
        )
    rounded = max(1, round_down(int(tokens)))
    every = max(1, math.floor(rounded / an_update / VALIDATIONS))
    return PinnedBudget(budget=Budget(tokens=rounded), validate_every=every, warning=warning)
