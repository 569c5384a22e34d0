"""Predict time and memory of a training from a short one, or replace a budget of seconds.

Usage: python -m stages.planning [pin]
Reads:  params.yaml, data/, reports/shard.json
Writes: nothing; pin writes params.yaml and runs/pinned.json

`pin` replaces a budget of seconds in params.yaml by one of target tokens, and prints no plan.
"""

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.progress import format_duration
from nmt_core.training.settings import MIN_VALIDATIONS, Budget
from stages import paths
from stages.configure.auto import count_tokens, round_down
from stages.configure.compose import apply_changes, write_params
from stages.configure.sections import build_all, read_settings
from stages.params import TrainParams
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import hash_json
from stages.runtime.params_file import dump_yaml
from stages.tracking.run_metadata import UP_TO_TRAINING

SENTENCES = 128
"""Maximum number of validation sentences of the short training."""

CHANGES = (
    "train.budget={seconds:15.0}",  # validated every 5 seconds
    "train.training.validate_every=1000000000",
    f"train.training.validation_sentences={SENTENCES}",
)
"""Settings of the short training."""

LINKED = ("stages", "nmt_core", "dvc.yaml", "data")
"""Paths that the short training's folder links to: code and the inputs of training."""

HIDDEN = ("DVC_", "NMT_", "MLFLOW_", "TORCHELASTIC")
"""Prefixes of environment variables that are removed, because they name a run or a server."""

GROWTH = 1.6
"""Maximum factor by which the memory of a training grows after its first seconds."""

MIN_UPDATES = 100
"""Minimum number of updates of a useful training."""

say = partial(Console(stderr=True).print, highlight=False, soft_wrap=True)


class Calibration(NamedTuple):
    """Measurements of a short training on this machine; tokens are target tokens."""

    start_seconds: float
    validation_seconds: float
    """Upper limit: a barely trained model translates up to the maximum length."""
    tokens_per_second: tuple[float, float]
    """The slowest and the fastest measurement."""
    tokens_per_update: float
    tokens_per_pass: float
    memory_bytes: int


def main() -> None:
    """Print a plan, or pin a budget."""
    if sys.argv[1:] not in ([], ["pin"]):
        raise ConfigError(f"stages.planning accepts no argument or 'pin', got {sys.argv[1]!r}")
    settings = read_settings()
    train = build_all(settings, source=str(paths.PARAMS))["train"]
    if sys.argv[1:]:
        pin(settings, train.budget)
        return
    Console().print(describe_plan(calibrate(settings), train), highlight=False, soft_wrap=True)


def calibrate(settings: dict[str, Any]) -> Calibration:
    """Return the measurements of a short training in a temporary folder.

    Raises:
        NmtError: if the training text is missing, or training fails.
    """
    report = paths.REPORTS / "shard.json"
    if not report.exists():
        raise NmtError(f"{report} is missing; run: make plan")
    shards = files.read_json(report)
    say("calibrating: training for less than a minute")
    limit = settings["train"]["training"]["validation_sentences"]
    validated = min(limit, shards["validation_pairs"])
    paths.RUNS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="plan-", dir=paths.RUNS) as name:
        folder = Path(name)
        for path in filter(Path.exists, map(Path, LINKED)):
            (folder / path).symlink_to(path.absolute())
        changed = apply_changes(settings, [*CHANGES])
        files.write_text(folder / paths.PARAMS, dump_yaml(changed))
        files.write_text(folder / "mlflow.py", "raise ImportError('not tracked')\n")
        elapsed, memory = run_training(folder)
        points = read_validations(folder)
    speeds = [(b[1] - a[1]) / max(b[2] - a[2], 1e-9) for a, b in pairwise(points)]
    speeds = speeds[1:] or speeds  # the first updates are slower
    steps, tokens, updating, end = points[-1]
    duration = end - points[0][3]
    validation = max(0.0, duration - updating) / (len(points) - 1)
    return Calibration(
        start_seconds=max(0.0, elapsed - duration),
        validation_seconds=validation * validated / min(validated, SENTENCES),
        tokens_per_second=(min(speeds), max(speeds)),
        tokens_per_update=tokens / steps,
        tokens_per_pass=shards["train_target_tokens"] + shards["train_pairs"],
        memory_bytes=memory,
    )


def run_training(folder: Path) -> tuple[float, int]:
    """Train in a folder; return the duration in seconds and the peak of memory in bytes.

    Raises:
        NmtError: if training fails, with its last message.
    """
    log = folder / "log.txt"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    command = [sys.executable, "-u", "-m", "stages.train"]
    start = time.monotonic()
    with log.open("wb") as out:
        training = subprocess.run(
            command, cwd=folder, env=environment, stdout=out, stderr=out, check=False
        )
    if training.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit code {training.returncode}"
        raise NmtError(f"the short training failed: {reason}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return time.monotonic() - start, peak * (1 if sys.platform == "darwin" else 1024)


def read_validations(folder: Path) -> list[tuple[int, int, float, float]]:
    """Return updates, target tokens, seconds of updates and time, at the start and validations."""
    [journal] = folder.glob("runs/*/journal.jsonl")
    entries = [json.loads(line) for line in files.read_lines(journal)]
    points = [(0, 0, 0.0, entries[0]["milliseconds"] / 1000)]
    for entry in entries:
        if "validation/loss" in (values := entry.get("values", {})):
            tokens, seconds = values["train/target_tokens"], values["train/seconds"]
            points.append((entry["step"], tokens, seconds, entry["milliseconds"] / 1000))
    return points


def predict(calibration: Calibration, params: TrainParams, speed: float) -> tuple[int, float]:
    """Return updates and seconds of a training at a speed in tokens/s, without early stopping."""
    each, a_pass = calibration.tokens_per_update, calibration.tokens_per_pass
    limits = count_tokens(params.budget, epoch=a_pass, batch_tokens=each, speed=speed)
    updates = max(1, math.ceil(min(limits.values()) / each - 1e-9))
    every = min(params.training.validate_every, params.budget.validation_seconds * speed / each)
    validating = math.ceil(updates / every) * calibration.validation_seconds
    return updates, calibration.start_seconds + updates * each / speed + validating


def describe_plan(calibration: Calibration, params: TrainParams) -> str:
    """Return the output of ``make plan``, with a warning if the budget is too small."""
    speeds = calibration.tokens_per_second
    updates, seconds = zip(*(predict(calibration, params, speed) for speed in speeds), strict=True)
    each, a_pass = calibration.tokens_per_update, calibration.tokens_per_pass
    passes = [count * each / a_pass for count in updates]
    memory = params.compute.processes * calibration.memory_bytes * GROWTH / 2**30
    plan = (
        f"training: {describe(seconds, format_duration)}, {describe(speeds)} target tokens a "
        f"second, up to {memory:.2g} GiB of memory\n"
        f"updates: {describe(updates)} of about {each:,.0f} target tokens, "
        f"{describe(passes, '{:.2g}'.format)} passes over the text"
    )
    if (share := math.sqrt(math.prod(passes))) < 1:
        plan += (
            f"\nthe budget covers about {100 * share:.0f} % of the text; one pass takes about "
            f"{format_duration(a_pass / speeds[0])} of updates: raise train.budget, or use a "
            f"smaller model (MODEL=auto)"
        )
    return plan


def describe(ends: Iterable[float], show: Callable[[float], str] = "{:,.0f}".format) -> str:
    """Return a range in words, rounded to two digits, or one number if both ends are equal."""
    low, high = sorted(ends)
    words = [show(low)] if low == high else [show(float(f"{end:.2g}")) for end in (low, high)]
    return " to ".join(dict.fromkeys(words))


def pin(settings: dict[str, Any], budget: Budget) -> None:
    """Replace a budget of seconds by tokens; repeated calls use the saved number of tokens."""
    pinned = files.read_json(paths.PINNED) if paths.PINNED.exists() else {}
    key = hash_json([settings[name] for name in UP_TO_TRAINING])
    if key not in pinned:
        pinned[key] = find_budget(calibrate(settings), budget.seconds)
        files.write_json(paths.PINNED, pinned)
    tokens, settings["train"]["training"]["validate_every"] = pinned[key]
    settings["train"]["budget"] = {"tokens": tokens}
    write_params(build_all(settings, source=str(paths.PARAMS)))
    say(f"this machine processes {tokens:,} target tokens in that time; set in {paths.PARAMS}")


def find_budget(calibration: Calibration, seconds: float | None) -> tuple[int, int]:
    """Return the target tokens for a time in seconds, and the updates between two validations."""
    if seconds is None:
        raise ConfigError("train.budget.seconds is null; set a time first: time=2h")
    speed, each = math.sqrt(math.prod(calibration.tokens_per_second)), calibration.tokens_per_update
    overhead = calibration.start_seconds + (MIN_VALIDATIONS + 1) * calibration.validation_seconds
    if (tokens := round_down(max(0, int((seconds - overhead) * speed)))) < MIN_UPDATES * each:
        raise ConfigError(f"{format_duration(seconds)} is too short for {MIN_UPDATES} updates")
    return tokens, max(1, math.floor(tokens / each / MIN_VALIDATIONS))


if __name__ == "__main__":
    run_stage(main)
