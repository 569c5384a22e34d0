"""What a program takes while it runs, its own processes included."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from nmt_core.base.errors import NmtError
from stages.planning.costs import Cost

LOOK_SECONDS = 0.02
"""Between two looks at whether a program has ended."""

SAMPLE_SECONDS = 0.25
"""Between two looks at its processor time, which cost some."""


@dataclass(frozen=True)
class Moment:
    """How much a program had used at some time."""

    time: float
    """Seconds since 1970."""
    processor_seconds: float
    memory_bytes: int = 0
    """Of the largest of its processes."""


@dataclass(frozen=True)
class Measurement:
    """What a program took."""

    cost: Cost
    moments: tuple[Moment, ...]
    """While it ran, in order."""
    memory_bytes: int = 0
    """At most, of the largest of its processes; 0 where nobody has looked."""

    def between(self, first: float, last: float) -> Cost:
        """Return what was used from one time to another, both in seconds since 1970."""
        times = [moment.time for moment in self.moments]
        used = [moment.processor_seconds for moment in self.moments]
        begin, end = np.interp([first, last], times, used)
        return Cost(max(0.0, last - first), float(max(0.0, end - begin)))

    def memory_at(self, time: float) -> float:
        """Return the memory of the largest process at a time, in bytes."""
        looked = [moment for moment in self.moments if moment.memory_bytes]
        if not looked:
            return float(self.memory_bytes)
        held = [moment.memory_bytes for moment in looked]
        return float(np.interp(time, [moment.time for moment in looked], held))


def measure(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path
) -> Measurement:
    """Run a program in a folder to its end; what it says goes to a file.

    Raises:
        NmtError: with the last line that it said, if it fails.
    """
    environment = {**environment, "PYTHONUNBUFFERED": "1"}  # so that the last words come last
    began, moments, sampled = time.monotonic(), [Moment(time.time(), 0.0)], 0.0
    with log.open("wb") as said:
        process = subprocess.Popen(
            list(command), cwd=folder, env=environment, stdout=said, stderr=said
        )
        try:
            while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                if time.monotonic() >= sampled:
                    moments.append(look(process.pid, moments[-1]))
                    sampled = time.monotonic() + SAMPLE_SECONDS
                time.sleep(LOOK_SECONDS)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = Cost(time.monotonic() - began, used.ru_utime + used.ru_stime)
    if process.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise NmtError(lines[-1] if lines else f"exit code {process.returncode}")
    moments.append(Moment(time.time(), cost.processor_seconds))
    return Measurement(cost, tuple(moments))


def look(number: int, before: Moment) -> Moment:
    """Return what a process and those that it has started have used so far, and hold."""
    used, held = 0.0, 0
    with suppress(psutil.Error):  # it ends while we look
        started = psutil.Process(number)
        for process in (started, *started.children(recursive=True)):
            used += sum(process.cpu_times()[:4])  # its own, and of those that have ended
            held = max(held, process.memory_info().rss)
    return Moment(time.time(), max(used, before.processor_seconds), held)


def measure_folder(folder: Path) -> int:
    """Return the bytes of all files below a folder; links count nothing, nor what they lead to.

    Of a file it is its own size; of what is not there, nothing.
    """
    if folder.is_file():
        return folder.stat().st_size
    inside = (Path(place) / name for place, _, names in os.walk(folder) for name in names)
    return sum(path.stat().st_size for path in inside if not path.is_symlink())
