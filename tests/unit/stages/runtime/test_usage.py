"""A stage leaves its usage, and never fails for it."""

import pytest

from nmt_core.base import files
from stages import paths
from stages.runtime import usage
from tests.support.processes import run_python

MEGABYTE = 2**20


def test_a_process_has_taken_time_since_it_was_started():
    program = (
        "import time; time.sleep(0.3); from stages.runtime.usage import measure_usage as m;"
        "one = m(); print(one.seconds, one.processor_seconds, one.memory_bytes)"
    )
    held = bytes(range(256)) * 4096 * 300  # by whoever starts it
    seconds, processor_seconds, memory = map(float, run_python(program).split())
    del held

    assert 0.3 + processor_seconds / 2 < seconds < 60
    assert processor_seconds > 0.05
    assert 10 * MEGABYTE < memory < 200 * MEGABYTE


@pytest.mark.parametrize("who", ["it", "a process that it starts"])
def test_memory_is_that_of_the_largest_moment(who):
    hold = "held = bytes(range(256)) * 4096 * 150; del held"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    does = hold if who == "it" else inner
    program = (
        f"from stages.runtime.usage import measure_usage as m; {does}; print(m().memory_bytes)"
    )

    assert 150 * MEGABYTE <= int(run_python(program)) < 300 * MEGABYTE


def test_stage_leaves_its_usage(project):
    usage.record_usage("shard")
    assert usage.Usage(**files.read_json(paths.USAGE / "shard.json")).seconds > 0


def test_a_disk_that_refuses_is_nothing_to_fail_for(project):
    paths.RUNS.write_text("no folder")
    usage.record_usage("shard")

    assert paths.RUNS.is_file()


def test_a_program_that_is_no_stage_leaves_nothing(project):
    usage.record_usage("no_stage")

    assert not paths.USAGE.exists()
