"""Say what a run will take, from a short calibration on this machine, or compare that with the run.

Usage: python -m stages.planning [compare]
Reads:  params.yaml, data/corpus/, data/vectors/, data/initial_model/, metrics/download.json;
        and what was observed: runs/usage/, metrics/train.json
Writes: runs/plan.json

The real stages run in a folder that is thrown away, on a part of the text: first those of the data,
then a few updates, a few translations and an export. Beside what is predicted stands what stages
have taken that have run with the same settings; `compare` shows that alone, and measures nothing.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError
from stages import paths
from stages.configure.compose import is_chosen
from stages.params import SECTIONS, TrainParams, build_all, read
from stages.planning.calibration import calibrate
from stages.planning.prediction import Plan, predict
from stages.planning.report import render, show
from stages.planning.shortage import Room, find_shortages
from stages.runtime.entry import run_stage
from stages.runtime.usage import digest_settings, read_usage

LAST = [name for name in SECTIONS if name != "workers"][-1]
"""The stage on whose settings, and those before it, a whole run depends."""


def main() -> None:
    """Predict, or read what was predicted, and show it."""
    if sys.argv[1:] not in ([], ["compare"]):
        raise ConfigError(f"python -m stages.planning knows 'compare' alone, got {sys.argv[1]!r}")
    settings = read(paths.PARAMS)
    sections = build_all(settings, source=str(paths.PARAMS))
    plan = read_plan(settings) if sys.argv[1:] else make_plan(settings, sections)
    train = sections["train"]
    assert isinstance(train, TrainParams)
    observed = {name: used for name in plan.stages if (used := read_usage(name, settings))}
    seen = describe_observed() if "train" in observed else ""
    chosen = plan.training.passes < 1 and is_chosen(sections)
    shortages = find_shortages(plan, train, Room.find(), chosen=chosen)
    show(render(plan, observed, shortages, seen=seen))


def make_plan(settings: dict[str, Any], sections: dict[str, config.Config]) -> Plan:
    """Calibrate, predict, and write what was predicted."""
    paths.RUNS.mkdir(exist_ok=True)
    say = Console(stderr=True).print
    with tempfile.TemporaryDirectory(prefix="plan-", dir=paths.RUNS) as folder:
        calibration = calibrate(settings, sections, Path(folder), say=say)
    plan = predict(calibration, sections, settings=digest_settings(settings, LAST))
    files.write_json(paths.PLAN, plan.model_dump(mode="json"))
    return plan


def read_plan(settings: dict[str, Any]) -> Plan:
    """Return what was predicted for these settings.

    Raises:
        ConfigError: if nothing was.
    """
    try:
        plan = config.build(Plan, files.read_json(paths.PLAN), at=str(paths.PLAN))
    except (OSError, ValueError, TypeError):
        raise ConfigError(f"{paths.PLAN} holds no plan; run: make plan") from None
    if plan.settings != digest_settings(settings, LAST):
        raise ConfigError(f"{paths.PLAN} is of other settings; run: make plan")
    return plan


def describe_observed() -> str:
    """Return how much was trained in the last run."""
    trained = files.read_json(paths.METRICS / "train.json")
    return f"observed: {trained['steps']:,} updates, {trained['target_tokens']:,} target tokens"


if __name__ == "__main__":
    run_stage(main)
