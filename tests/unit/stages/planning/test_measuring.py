"""What programs take is what they took: those that they started, too."""

import os
import subprocess
import sys
import time

import pytest

from nmt_core.base.errors import NmtError
from stages.planning.costs import Cost
from stages.planning.measuring import Measurement, Moment, measure, measure_folder

BUSY = "import time; end = time.process_time() + {seconds}\nwhile time.process_time() < end: pass"


def run(program, tmp_path):
    return measure(
        [sys.executable, "-c", program],
        folder=tmp_path,
        environment=dict(os.environ),
        log=tmp_path / "log",
    )


def test_a_program_that_computes_takes_processor_time(tmp_path):
    took = run(BUSY.format(seconds=0.3), tmp_path)

    assert 0.3 <= took.cost.processor_seconds <= took.cost.seconds + 0.05  # a tick or two


def test_a_program_that_waits_takes_none(tmp_path):
    took = run("import time; time.sleep(0.4)", tmp_path)

    assert took.cost.seconds >= 0.4 + took.cost.processor_seconds - 0.05  # a tick or two


def test_processes_that_it_started_count(tmp_path):
    inner = BUSY.format(seconds=0.3)
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    took = run(program, tmp_path)

    assert took.cost.processor_seconds >= 0.3
    assert took.moments[-1].processor_seconds == took.cost.processor_seconds


def test_time_between_two_moments_is_read_off():
    moments = tuple(Moment(*each) for each in ((10.0, 0.0), (11.0, 2.0), (13.0, 2.0)))
    took = Measurement(Cost(3.0, 2.0), moments)

    assert took.between(10.5, 11.0) == Cost(0.5, 1.0)
    assert took.between(11.5, 12.5) == Cost(1.0, 0.0)
    assert took.between(0.0, 20.0) == Cost(20.0, 2.0)


def test_a_program_that_fails_is_told_by_its_last_words(tmp_path):
    with pytest.raises(NmtError, match=r"^no corpus$"):
        run("import sys; print('working'); sys.exit('no corpus')", tmp_path)
    with pytest.raises(NmtError, match=r"^exit code 3$"):
        run("raise SystemExit(3)", tmp_path)


def test_a_program_ends_with_whoever_waits_for_it(tmp_path, monkeypatch):
    started = []

    class Watched(subprocess.Popen):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            started.append(self)

    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Watched)
    monkeypatch.setattr(time, "sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        run("import time; time.sleep(60)", tmp_path)
    assert started[0].returncode == -15


def test_links_take_no_room(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_bytes(bytes(10))
    (tmp_path / "folder/inner").mkdir(parents=True)
    (tmp_path / "folder/inner/file").write_bytes(bytes(7))
    (tmp_path / "folder/link").symlink_to(tmp_path / "real")
    (tmp_path / "folder/other").symlink_to(tmp_path / "real/file")

    assert measure_folder(tmp_path / "folder") == 7
    assert measure_folder(tmp_path / "real/file") == 10
    assert measure_folder(tmp_path / "nothing") == 0
