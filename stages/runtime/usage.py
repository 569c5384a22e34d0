"""Usage of a stage, measured at its end: time, processor time and memory.

It lies in ``runs/usage/<stage>.json``, beside the journals, until the stage runs again.
"""

import re
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from stages import paths
from stages.params import SECTIONS

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


def record_usage(stage: str) -> None:
    """Write this process's usage so far, if it is a stage; errors of the disk are ignored."""
    with suppress(OSError, NmtError, psutil.Error):
        if stage in SECTIONS:
            files.write_json(paths.USAGE / f"{stage}.json", measure_usage().model_dump())


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
