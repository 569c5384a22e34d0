"""Predict time and memory of a run from a short calibration, or compare them with the run.

Usage: python -m stages.planning [compare | pin]
Reads:  params.yaml, data/corpus/, data/vectors/, data/initial_model/, reports/download.json;
        and observed usage: runs/usage/
Writes: runs/plan.json; pin writes params.yaml and runs/pinned.json

The real stages run in a scratch folder, on a part of the text: first those of the data, then some
seconds of updates, a few translations and an export. Predictions are ranges, shown beside the
usage of earlier stages with the same settings. `compare` measures nothing. `pin` writes to
params.yaml the tokens that a budget of seconds is worth, and shows nothing.
"""

import math
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from psutil import virtual_memory
from rich.console import Console

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.base.progress import format_duration
from stages import paths
from stages.configure.compose import is_chosen, write_params
from stages.configure.sections import build_all
from stages.params import TrainParams
from stages.planning.calibration import STAGES, Calibration, calibrate
from stages.planning.pinning import PinnedBudget, pin_budget
from stages.planning.prediction import Plan, predict
from stages.planning.report import show
from stages.planning.shortage import find_shortages
from stages.runtime.entry import run_stage
from stages.runtime.params_file import read
from stages.runtime.usage import digest_settings, read_usage

MEASURING = 0.1
"""Share of a time asked for in which it is measured what it is worth."""


def main() -> None:
    """Predict, or read the last prediction, and show it."""
    if sys.argv[1:] not in ([], ["compare"], ["pin"]):
        raise ConfigError(f"stages.planning takes 'compare' or 'pin', got {sys.argv[1]!r}")
    settings = read(paths.PARAMS)
    sections = build_all(settings, source=str(paths.PARAMS))
    train, workers = sections["train"], sections["workers"]
    assert isinstance(train, TrainParams)
    assert isinstance(workers, WorkersConfig)
    if sys.argv[1:] == ["pin"]:
        pin(settings, train, workers)
        return
    plan = read_plan(settings) if sys.argv[1:] else make_plan(settings, train, workers)
    observed = {name: used for name in plan.stages if (used := read_usage(name, settings))}
    chosen = plan.training.passes.middle < 1 and is_chosen(sections)
    free = {"memory": virtual_memory().available, "disk": shutil.disk_usage(".").free}
    show(plan, observed, find_shortages(plan, train, **free, chosen=chosen))


def pin(settings: dict[str, Any], train: TrainParams, workers: WorkersConfig) -> None:
    """Write a budget of tokens in the place of one of seconds.

    What the same settings up to training came to before holds: whoever is stopped goes on with that
    training, and whoever changes what comes after it keeps its model.
    """
    known = files.read_json(paths.PINNED) if paths.PINNED.exists() else {}
    key = digest_settings(settings, "train")
    if key not in known:
        bound = MEASURING * (train.budget.seconds or math.inf)
        pinned = pin_budget(measure(settings, train, workers, bound), train)
        known[key] = pinned.model_dump(mode="json")
        files.write_json(paths.PINNED, known)
    pinned = config.build(PinnedBudget, known[key], at=str(paths.PINNED))
    settings["train"]["budget"] = pinned.budget.model_dump(mode="json")
    settings["train"]["training"]["validate_every"] = pinned.validate_every
    write_params(build_all(settings, source=str(paths.PARAMS)))
    seconds = format_duration(train.budget.seconds or 0.0)
    say = partial(Console(stderr=True).print, highlight=False, soft_wrap=True)
    say(
        f"{seconds} are worth {pinned.budget.tokens:,} target tokens on this machine, which now "
        f"stand in {paths.PARAMS}"
    )
    if pinned.warning:
        say(pinned.warning, style="yellow")


def make_plan(settings: dict[str, Any], train: TrainParams, workers: WorkersConfig) -> Plan:
    """Calibrate, predict, and write the prediction."""
    calibration = measure(settings, train, workers)
    plan = predict(calibration, train, settings=digest_settings(settings, STAGES[-1]))
    files.write_json(paths.PLAN, plan.model_dump(mode="json"))
    return plan


def measure(
    settings: dict[str, Any],
    train: TrainParams,
    workers: WorkersConfig,
    seconds: float = math.inf,
) -> Calibration:
    """Calibrate in a folder that is thrown away."""
    paths.RUNS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="plan-", dir=paths.RUNS) as folder:
        return calibrate(settings, train, workers, Path(folder), seconds)


def read_plan(settings: dict[str, Any]) -> Plan:
    """Return the prediction for these settings.

    Raises:
        ConfigError: if there is none.
    """
    try:
        plan = config.build(Plan, files.read_json(paths.PLAN), at=str(paths.PLAN))
    except (OSError, ValueError, TypeError):
        raise ConfigError(f"{paths.PLAN} holds no plan; run: make plan") from None
    if plan.settings != digest_settings(settings, STAGES[-1]):
        raise ConfigError(f"{paths.PLAN} is of other settings; run: make plan")
    return plan


if __name__ == "__main__":
    run_stage(main)
