"""The budget of tokens that some time is worth on this machine: that a run can be had again."""

import math
from functools import partial

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.progress import format_duration
from nmt_core.training.budget import VALIDATIONS, Budget
from stages.configure.auto import round_down
from stages.params import TrainParams
from stages.planning.calibration import STAGES, Calibration
from stages.planning.prediction import predict_stage, predict_training

CLOSE = 0.01
"""Share of the time by which a prediction may miss it."""

ROUNDS = 100
"""Predictions in which that is reached."""

LEAST_UPDATES = 100
"""Updates of a training that is worth its time."""

BUSY = 0.5
"""Share of this machine's processor time below which other programs are mentioned."""


class PinnedBudget(Config):
    """A budget of target tokens, and how often it is validated."""

    budget: Budget
    validate_every: int
    warning: str = ""
    """What to know of it; empty if the text is read once at least."""


def pin_budget(calibration: Calibration, params: TrainParams) -> PinnedBudget:
    """Return settings of ``train`` in which tokens stand for the seconds of a budget.

    The seconds are those of all stages but the download, by the middle of what is predicted.

    Args:
        calibration: measurements of this machine.
        params: the training, with a budget of seconds.

    Raises:
        ConfigError: if it has none, or the other stages leave training hardly any time.
    """
    asked = params.budget.seconds
    if asked is None:
        raise ConfigError("train.budget.seconds is null; ask for a time first: time=2h")
    others = sum(
        predict_stage(name, calibration).seconds.middle for name in STAGES if name != "train"
    )
    measured, training = calibration.training, partial(predict_training, calibration)
    an_update = measured.tokens_per_update

    def predict_time(tokens: float) -> float:
        tried = change_budget(params, int(tokens), an_update)
        return others + training(tried)[0].seconds.middle

    least = LEAST_UPDATES * an_update
    busy = (
        f"; other programs take {1 - calibration.share:.0%} of this machine's processor time"
        if calibration.share < BUSY
        else ""
    )
    if (needed := predict_time(least)) > asked:
        raise ConfigError(
            f"{format_duration(asked)} are too short for {LEAST_UPDATES} updates, fewer of which "
            f"teach a model nothing, and for the other stages ({format_duration(others)}){busy}; "
            f"ask for {_name_time(needed)} or more"
        )
    tokens = measured.tokens_per_second * asked
    for _ in range(ROUNDS):
        taken = predict_time(tokens)
        if abs(taken - asked) <= CLOSE * asked:
            break
        tokens *= (asked - others) / (taken - others)
    tokens = max(tokens, least)
    warning, a_pass = "", measured.tokens_per_pass
    if tokens < a_pass:
        warning = (
            f"that is {tokens / a_pass:.0%} of one pass over the text{busy}; for a whole one ask "
            f"for {_name_time(predict_time(a_pass))}, or let MODEL=auto choose a model that fits"
        )
    pinned = change_budget(params, round_down(int(tokens)), an_update)
    every = pinned.training.validate_every
    return PinnedBudget(budget=pinned.budget, validate_every=every, warning=warning)


def _name_time(seconds: float) -> str:
    return f"TIME={math.ceil(seconds / 60)}m"


def change_budget(params: TrainParams, tokens: int, tokens_per_update: float) -> TrainParams:
    """Return a training of so many target tokens, validated as often as one of seconds."""
    every = max(1, math.floor(tokens / tokens_per_update / VALIDATIONS))
    training = params.training.model_copy(update={"validate_every": every})
    return params.model_copy(update={"budget": Budget(tokens=max(1, tokens)), "training": training})
