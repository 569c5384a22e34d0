"""Usage of a stage, measured at its end: time, processor time and memory.

It lies in ``runs/usage/<stage>.json``, beside the journals, until the stage runs again.
"""

import re
import resource
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, DiskError, suggest
from stages import paths
from stages.params import SECTIONS
from stages.runtime.fingerprint import hash_json
from stages.runtime.params_file import read

RESIDENT_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of the system's unit for peak memory."""

STATUS = Path("/proc/self/status")


class Usage(Config):
    """Usage of a program since its start, with its child processes."""

    seconds: float
    """By the clock."""
    processor_seconds: float
    """Of all processes, in them and in the system's calls."""
    memory_bytes: int
    """At most, of the largest of its processes."""


class Recorded(Usage):
    """Usage of a stage, with a digest of its settings."""

    settings: str
    """Digest of the sections of params.yaml up to that of the stage."""


def record_usage(stage: str) -> None:
    """Write this process's usage so far; errors of the disk are ignored."""
    with suppress(OSError, DiskError, ConfigError, psutil.Error):
        recorded = Recorded(
            **measure_usage().model_dump(), settings=digest_settings(read(paths.PARAMS), stage)
        )
        files.write_json(paths.USAGE / f"{stage}.json", recorded.model_dump(mode="json"))


def measure_usage() -> Usage:
    """Return the usage of this process and its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Usage(
        seconds=count_seconds(),
        processor_seconds=sum(resources.ru_utime + resources.ru_stime for resources in used),
        memory_bytes=max(find_peak(used[0].ru_maxrss), used[1].ru_maxrss) * RESIDENT_UNIT,
    )


def find_peak(counted: int) -> int:
    """Return this process's peak memory, in the system's unit.

    On Linux the ``counted`` value begins with the memory of the parent process.
    """
    if not STATUS.exists():
        return counted
    [peak] = re.findall(r"^VmHWM:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE) or [counted]
    return int(peak)


def count_seconds() -> float:
    """Return the seconds since this process was started, its interpreter's start included."""
    created = psutil.Process().create_time()
    if sys.platform == "linux":  # which knows when by its own clock, and the date to a second only
        return time.clock_gettime(time.CLOCK_BOOTTIME) - (created - psutil.boot_time())
    return time.time() - created


def digest_settings(document: Mapping[str, Any], stage: str) -> str:
    """Return a digest of the sections that a stage can depend on: up to its own.

    Raises:
        ConfigError: if there is no such stage.
    """
    names = list(SECTIONS)
    if stage not in names:
        raise ConfigError(f"params.yaml has no section {stage!r}; {suggest(stage, names)}")
    return hash_json([document.get(name) for name in names[: names.index(stage) + 1]])


def read_usage(stage: str, document: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a stage's last run, if it had the settings of ``document``."""
    try:
        values = files.read_json(paths.USAGE / f"{stage}.json")
        recorded = config.build(Recorded, values, at=f"{stage}.json")
    except (OSError, ValueError, TypeError, ConfigError):
        return None
    return recorded if recorded.settings == digest_settings(document, stage) else None
