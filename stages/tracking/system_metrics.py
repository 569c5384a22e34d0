"""System metrics of the machine during a run, under MLflow's names."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from nmt_core.base.tracking import Tracker
from stages.tracking.journal import Journal

LOGGER = logging.getLogger(__name__)

SECONDS = float(os.environ.get("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "10"))
"""Between two samples, by MLflow's own variable."""

CPU = "system/cpu_utilization_percentage"
MEGABYTE = 1e6


@contextmanager
def watch_machine(tracker: Tracker, journal: Journal) -> Iterator[None]:
    """Sample the load of the machine for the tracker, every few seconds until the block ends.

    Samples are counted as MLflow counts its own: a continued run continues the count.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(tracker, journal, ended), name="machine")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(tracker: Tracker, journal: Journal, ended: threading.Event) -> None:
    try:
        nvml, step, last = _nvml(), len(journal.points(CPU)), False
        psutil.cpu_percent()  # the next call returns the mean since this one
        while not last:
            last = ended.wait(SECONDS)
            tracker.metrics(sample_machine(nvml), step=step)
            step += 1
    except Exception as error:  # noqa: BLE001 - watching may break nothing
        LOGGER.warning("how busy the machine is remains unknown: %s", error)


def sample_machine(nvml: Any = None) -> dict[str, float]:
    """Return the load of processor, memory, disk and, with NVIDIA's library, all its GPUs."""
    memory, disk = psutil.virtual_memory(), psutil.disk_usage(".")
    sample = {
        CPU: psutil.cpu_percent(),
        "system/system_memory_usage_megabytes": memory.used / MEGABYTE,
        "system/system_memory_usage_percentage": 100 * memory.used / memory.total,
        "system/disk_usage_megabytes": disk.used / MEGABYTE,
        "system/disk_usage_percentage": disk.percent,
        "system/disk_available_megabytes": disk.free / MEGABYTE,
    }
    for number in range(nvml.nvmlDeviceGetCount() if nvml else 0):
        sample |= {f"system/gpu_{number}_{name}": value for name, value in _gpu(nvml, number)}
    return {name: round(value, 1) for name, value in sample.items()}


def _gpu(nvml: Any, number: int) -> Iterator[tuple[str, float]]:
    """Yield the metrics that a GPU reports; some do not report all."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(number)
    with suppress(nvml.NVMLError):
        yield "utilization_percentage", nvml.nvmlDeviceGetUtilizationRates(gpu).gpu
    with suppress(nvml.NVMLError):
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu)
        yield "memory_usage_megabytes", memory.used / MEGABYTE
        yield "memory_usage_percentage", 100 * memory.used / memory.total
    with suppress(nvml.NVMLError):
        milliwatts = nvml.nvmlDeviceGetPowerUsage(gpu)
        yield "power_usage_watts", milliwatts / 1000
        yield (
            "power_usage_percentage",
            100 * milliwatts / nvml.nvmlDeviceGetEnforcedPowerLimit(gpu),
        )


def _nvml() -> Any:
    """Return NVIDIA's library if it is installed and finds a driver."""
    with suppress(Exception):  # it is an extra; without a driver, an error of its own
        import pynvml

        pynvml.nvmlInit()
        return pynvml
    return None
