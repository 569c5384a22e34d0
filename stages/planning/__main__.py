"""Predict the time of a run from a short calibration on this machine, or pin a budget to it.

Usage: python -m stages.planning [pin]
Reads:  params.yaml, data/corpus/, data/vectors/, data/initial_model/, reports/download.json
Writes: nothing; pin writes params.yaml and runs/pinned.json

The real stages run in a temporary folder on a sample of the text. `pin` writes to params.yaml the
target tokens that a budget of seconds is worth, and prints no plan.
"""

import sys
from functools import partial
from typing import Any

from psutil import virtual_memory
from rich.console import Console

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError
from nmt_core.base.progress import format_duration
from stages import paths
from stages.configure.compose import is_chosen, write_params
from stages.configure.sections import build_all, read_settings
from stages.params import TrainParams
from stages.planning.calibration import SECONDS, calibrate
from stages.planning.pinning import PinnedBudget, pin_budget
from stages.planning.prediction import describe_plan, find_shortages, predict
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import hash_json
from stages.tracking.run_metadata import UP_TO_TRAINING

CALIBRATION_SHARE = 0.1
"""Share of the requested time that its calibration may take."""


def main() -> None:
    """Print a plan, or pin a budget."""
    if sys.argv[1:] not in ([], ["pin"]):
        raise ConfigError(f"stages.planning takes no argument or 'pin', got {sys.argv[1]!r}")
    settings = read_settings()
    sections = build_all(settings, source=str(paths.PARAMS))
    train = sections["train"]
    assert isinstance(train, TrainParams)
    if sys.argv[1:]:
        pin(settings, train)
        return
    calibration = calibrate(settings)
    plan = predict(calibration, train)
    say = partial(Console().print, highlight=False, soft_wrap=True)
    say(describe_plan(plan, calibration))
    free, chosen = virtual_memory().available, is_chosen(sections)
    for shortage in find_shortages(plan, calibration, train, memory=free, chosen=chosen):
        say(shortage, style="yellow")


def pin(settings: dict[str, Any], train: TrainParams) -> None:
    """Replace a budget of seconds by one of tokens.

    The same settings up to training keep their first budget, so that an interrupted training
    continues, and a change to a later stage keeps the model.
    """
    say = partial(Console(stderr=True).print, highlight=False, soft_wrap=True)
    known = files.read_json(paths.PINNED) if paths.PINNED.exists() else {}
    key = hash_json([settings.get(name) for name in UP_TO_TRAINING])
    if key not in known:
        calibration = calibrate(settings, CALIBRATION_SHARE * (train.budget.seconds or SECONDS))
        known[key] = pin_budget(calibration, train).model_dump(mode="json")
        files.write_json(paths.PINNED, known)
        if calibration.load:
            say(f"{calibration.load}; without them, the time is worth more tokens", style="yellow")
    pinned = config.build(PinnedBudget, known[key], at=str(paths.PINNED))
    settings["train"]["budget"] = pinned.budget.model_dump(mode="json")
    settings["train"]["training"]["validate_every"] = pinned.validate_every
    write_params(build_all(settings, source=str(paths.PARAMS)))
    seconds = format_duration(train.budget.seconds or 0.0)
    say(
        f"{seconds} are worth {pinned.budget.tokens:,} target tokens on this machine, which now "
        f"stand in {paths.PARAMS}"
    )
    if pinned.warning:
        say(pinned.warning, style="yellow")


if __name__ == "__main__":
    run_stage(main)
