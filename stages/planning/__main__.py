"""Predict time and memory of a run from a short calibration, or compare them with the run.

Usage: python -m stages.planning [compare]
Reads:  params.yaml, data/corpus/, data/vectors/, data/initial_model/, metrics/download.json;
        and observed usage: runs/usage/
Writes: runs/plan.json

The real stages run in a scratch folder, on a part of the text: first those of the data, then some
seconds of updates, a few translations and an export. Predictions are ranges, shown beside the
usage of earlier stages with the same settings. `compare` measures nothing.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from psutil import virtual_memory

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import paths
from stages.configure.compose import is_chosen
from stages.configure.sections import build_all
from stages.params import TrainParams
from stages.planning.calibration import STAGES, calibrate
from stages.planning.prediction import Plan, predict
from stages.planning.report import show
from stages.planning.shortage import find_shortages
from stages.runtime.entry import run_stage
from stages.runtime.params_file import read
from stages.runtime.usage import digest_settings, read_usage


def main() -> None:
    """Predict, or read the last prediction, and show it."""
    if sys.argv[1:] not in ([], ["compare"]):
        raise ConfigError(f"python -m stages.planning knows 'compare' alone, got {sys.argv[1]!r}")
    settings = read(paths.PARAMS)
    sections = build_all(settings, source=str(paths.PARAMS))
    train, workers = sections["train"], sections["workers"]
    assert isinstance(train, TrainParams)
    assert isinstance(workers, WorkersConfig)
    plan = read_plan(settings) if sys.argv[1:] else make_plan(settings, train, workers)
    observed = {name: used for name in plan.stages if (used := read_usage(name, settings))}
    chosen = plan.training.passes.middle < 1 and is_chosen(sections)
    free = {"memory": virtual_memory().available, "disk": shutil.disk_usage(".").free}
    show(plan, observed, find_shortages(plan, train, **free, chosen=chosen))


def make_plan(settings: dict[str, Any], train: TrainParams, workers: WorkersConfig) -> Plan:
    """Calibrate, predict, and write the prediction."""
    paths.RUNS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="plan-", dir=paths.RUNS) as folder:
        calibration = calibrate(settings, train, workers, Path(folder))
    plan = predict(calibration, train, settings=digest_settings(settings, STAGES[-1]))
    files.write_json(paths.PLAN, plan.model_dump(mode="json"))
    return plan


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
