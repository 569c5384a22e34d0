"""A stage leaves what it took, for the settings it had, and fails for nothing."""

import pytest
import yaml

from nmt_core.base import files
from stages import paths
from stages.params import SECTIONS
from stages.runtime import usage
from tests.support.processes import run_python

MEGABYTE = 2**20
SETTINGS = {name: {"setting": 1} for name in SECTIONS}


@pytest.fixture
def settings(project):
    (project / "params.yaml").write_text(yaml.safe_dump(SETTINGS))
    return SETTINGS


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


def test_what_a_stage_took_is_read_where_its_settings_are_the_same(settings):
    usage.record_usage("shard")

    found = usage.read_usage("shard", settings)
    assert found is not None
    assert found.seconds > 0
    assert usage.read_usage("shard", settings | {"train": {"setting": 2}}) is not None
    assert usage.read_usage("shard", settings | {"shard": {"setting": 2}}) is None
    assert usage.read_usage("shard", settings | {"download": {"setting": 2}}) is None
    assert usage.read_usage("vocabulary", settings) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seconds": "long"}'])
def test_what_cannot_be_read_is_nothing(settings, text):
    files.write_text(paths.USAGE / "shard.json", text)

    assert usage.read_usage("shard", settings) is None


def test_a_disk_that_refuses_is_nothing_to_fail_for(settings):
    paths.RUNS.write_text("no folder")
    usage.record_usage("shard")

    assert paths.RUNS.is_file()


def test_a_program_without_settings_leaves_nothing(settings):
    usage.record_usage("no_stage")

    assert not paths.USAGE.exists()
