"""A stage records its usage, and never fails because of it."""

import pytest

from nmt_core.base import files
from stages import paths
from stages.runtime import usage
from tests.support.processes import run_python

MEGABYTE = 2**20


def test_time_and_memory_are_those_of_the_process():
    program = (
        "import time; time.sleep(0.3); from stages.runtime.usage import measure_usage as m;"
        "one = m(); print(one.seconds, one.processor_seconds, one.memory_bytes)"
    )
    held = bytes(range(256)) * 4096 * 300  # memory of the parent process
    seconds, processor_seconds, memory = map(float, run_python(program).split())
    del held

    assert 0.3 + processor_seconds / 2 < seconds < 60
    assert processor_seconds > 0.05
    assert 10 * MEGABYTE < memory < 200 * MEGABYTE


@pytest.mark.parametrize("child", [False, True])
def test_memory_is_the_peak_of_the_largest_process(child):
    hold = "held = bytes(range(256)) * 4096 * 150; del held"
    if child:
        hold = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    program = (
        f"from stages.runtime.usage import measure_usage as m; {hold}; print(m().memory_bytes)"
    )
    assert 150 * MEGABYTE <= int(run_python(program)) < 300 * MEGABYTE


@pytest.mark.parametrize(
    ("stage", "writable", "recorded"),
    [("shard", True, True), ("shard", False, False), ("no_stage", True, False)],
)
def test_only_stages_record_and_no_disk_fails_them(project, stage, writable, recorded):
    if not writable:
        paths.RUNS.write_text("not a folder")
    usage.record_usage(stage)
    path = paths.USAGE / f"{stage}.json"
    assert path.exists() is recorded
    assert not recorded or usage.Usage(**files.read_json(path)).seconds > 0
