"""The budget of tokens that some time is worth on this machine: that a run can be had again."""

import math
from typing import Any

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
"""In which that is reached, or never."""


def pin_budget(calibration: Calibration, params: TrainParams) -> dict[str, Any]:
    """Return settings of ``train`` in which tokens stand for the seconds of a budget.

    The seconds are those of all stages but the download, by the middle of what is predicted.

    Args:
        calibration: measurements of this machine.
        params: the training, with a budget of seconds.

    Raises:
        ConfigError: if it has none, or the other stages leave training no time.
    """
    asked = params.budget.seconds
    if asked is None:
        raise ConfigError("train.budget.seconds is null; ask for a time first: time=2h")
    others = sum(
        predict_stage(name, calibration).seconds.middle for name in STAGES if name != "train"
    )
    an_update = calibration.training.tokens_per_update
    tokens = calibration.training.tokens_per_second * asked
    for _ in range(ROUNDS):
        tried = change_budget(params, int(tokens), an_update)
        taken = predict_training(calibration, tried)[0].seconds.middle
        if abs(others + taken - asked) <= CLOSE * asked:
            break
        tokens *= max(asked - others, 0.0) / taken
    else:
        least = 2 * (others + calibration.training.start_seconds)
        raise ConfigError(
            f"{format_duration(asked)} leave training no time, for the other stages take some "
            f"{format_duration(others)} of it; ask for {format_duration(least)} or more"
        )
    pinned = change_budget(params, round_down(int(tokens)), an_update)
    return {
        "budget": pinned.budget.model_dump(mode="json"),
        "validate_every": pinned.training.validate_every,
    }


def change_budget(params: TrainParams, tokens: int, tokens_per_update: float) -> TrainParams:
    """Return a training of so many target tokens, validated as often as one of seconds."""
    every = max(1, math.floor(tokens / tokens_per_update / VALIDATIONS))
    training = params.training.model_copy(update={"validate_every": every})
    return params.model_copy(update={"budget": Budget(tokens=max(1, tokens)), "training": training})
