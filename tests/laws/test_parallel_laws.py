"""Results do not depend on the cuts of a text, nor on the worker of each part."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import jobs
from nmt_core.base.errors import NmtError
from nmt_core.base.jobs import Job, WorkersConfig, load_cached, run_in_order, split_file
from tests.support import job_functions
from tests.support.projects import PROJECT
from tests.support.slow_cases import mark_slow

texts = st.text(st.sampled_from("aß\n\n\r\t\u2028\x85\0 "), max_size=40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("spans")


@given(texts, st.integers(1, 50), st.integers(1, 9))
def test_spans_cover_the_file(folder, text, lines, block_bytes):
    """This holds for any block size, with and without a final line end."""
    path = folder / "text"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "BLOCK_BYTES", block_bytes)
        found = split_file(path, lines)
    expected = text.removesuffix("\n").split("\n") if text else []

    assert [line for span in found for line in span.read()] == expected
    assert [span.first for span in found] == list(range(1, len(expected) + 1, lines))
    assert [len(list(span.read())) for span in found] == [span.lines for span in found]
    assert [span.lines for span in found[:-1]] == [lines] * (len(found) - 1)
    assert sum(span.size for span in found) == path.stat().st_size


def test_shrunken_file_is_reported(tmp_path):
    path = tmp_path / "text"
    path.write_text("a\nb\n")
    [span] = split_file(path, 9)
    path.write_text("a\n")

    with pytest.raises(EOFError, match=f"{path} lines 1 to 2 are missing"):
        list(span.read())


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "in" / "text"
    path.parent.mkdir()
    path.write_text("".join(f"Zeile {number}\n" for number in range(1, 41)))
    return path


def copied(text, workers, *, function=job_functions.copy):
    """Copy a text, and return the worker's process id."""
    out = text.parents[1] / "out"
    out.unlink(missing_ok=True)
    work = [Job((span,)) for span in split_file(text, workers.chunk_lines)]
    with run_in_order(function, work, workers, output=out, title="copying") as done:
        copiers = job_functions.together(done, out)
    assert out.read_bytes() == text.read_bytes()
    assert len(copiers) == len(work)
    return copiers


def leftovers(text):
    return sorted(path.name for path in text.parents[1].iterdir() if path != text.parent)


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "lines"), [(1, 7), (2, 7), (3, 1), (2, 1000)])
def test_results_come_in_order(text, processes, lines):
    workers = WorkersConfig(processes=processes, chunk_lines=lines)
    copiers = copied(text, workers, function=job_functions.copy_backwards_in_time)

    alone = processes == 1 or lines == 1000
    assert (set(copiers) == {os.getpid()}) == alone
    assert len(set(copiers)) <= processes
    assert leftovers(text) == ["out"]


def test_folders_are_removed_after_their_results_are_read(text):
    """Otherwise the disk would have all data twice."""
    work = [Job((span,)) for span in split_file(text, 7)]
    out = text.parents[1] / "out"
    with run_in_order(
        job_functions.copy, work, WorkersConfig(processes=1), output=out, title=""
    ) as done:
        assert [len([*folder.parent.iterdir()]) for folder, _ in done] == [1] * len(work)


def test_little_text_needs_no_process(text):
    assert set(copied(text, WorkersConfig(chunk_lines=1))) == {os.getpid()}


def test_much_text_is_shared(text, monkeypatch):
    monkeypatch.setattr("nmt_core.base.jobs.MIN_BYTES_PER_PROCESS", 100)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    copiers = set(copied(text, WorkersConfig(chunk_lines=1)))

    assert os.getpid() not in copiers
    assert len(copiers) <= 2


@pytest.mark.slow
def test_processes_do_not_import_torch(text):
    """Importing torch takes seconds, and spaCy imports it if it is installed."""
    work = [Job((span,)) for span in split_file(text, 30)]
    out = text.parents[1] / "out"
    with run_in_order(
        job_functions.imports, work, WorkersConfig(processes=2), output=out, title=""
    ) as done:
        assert [imported for _, imported in done] == [(True, False)] * 2
    assert "torch" in sys.modules


@pytest.mark.parametrize("processes", mark_slow([1, 2], but=[1]))
def test_failure_names_its_line(text, processes):
    workers = WorkersConfig(processes=processes, chunk_lines=30)

    with pytest.raises(ValueError, match="lost for words") as told:
        copied(text, workers, function=job_functions.fail)
    assert told.value.__notes__ == [f"while copying {text} lines 31 to 40"]
    assert leftovers(text) == ["out"]


def lingering(text):
    """Wait for the worker that is in the middle of its work."""
    flag = text.with_name("lingering")
    while not (flag.exists() and flag.read_text()):
        time.sleep(0.05)
    return int(flag.read_text())


@pytest.mark.slow
def test_killed_process_is_reported(text):
    workers = WorkersConfig(processes=2, chunk_lines=10)
    killer = threading.Thread(target=lambda: os.kill(lingering(text), signal.SIGKILL))
    killer.start()
    with pytest.raises(NmtError) as told:
        copied(text, workers, function=job_functions.copy_lingering)
    killer.join()

    assert str(told.value).startswith("one of 2 processes was killed")
    assert leftovers(text) == ["out"]
    copied(text, workers, function=job_functions.copy_lingering)


PROGRAM = """
import signal, sys
from pathlib import Path
from nmt_core.base.jobs import Job, WorkersConfig, run_in_order
from nmt_core.base.jobs import split_file
from stages.runtime.entry import run_stage
from tests.support import job_functions

def main():
    text = Path(sys.argv[1])

    def interrupt(*arguments):
        text.with_name("interrupted").touch()
        signal.default_int_handler(*arguments)

    signal.signal(signal.SIGINT, interrupt)
    work = [Job((span,)) for span in split_file(text, 1)]
    workers = WorkersConfig(processes=2, chunk_lines=1)
    out = text.parents[1] / "out"
    with run_in_order(job_functions.copy_lingering, work, workers, output=out, title="") as done:
        job_functions.together(done, out)

if __name__ == "__main__":
    run_stage(main)
"""


@pytest.fixture
def program(text):
    path = text.with_name("program.py")
    path.write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        [sys.executable, str(path), str(text)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_worker_without_a_parent_does_not_start():
    """The parent may have been killed before the worker registers to end with it."""
    program = "from nmt_core.base.jobs import _init_process; _init_process(0); print('works')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert b"" == done.stdout


@pytest.mark.slow
def test_workers_end_with_their_parent(text, program):
    worker = psutil.Process(lingering(text))
    workers = psutil.Process(program.pid).children()
    program.kill()

    assert worker in workers
    assert psutil.wait_procs(workers, timeout=60)[1] == []


@pytest.mark.slow
def test_interrupt_ends_all_without_tracebacks(text, program):
    """A terminal also sends the signal to the workers, which finish their jobs."""
    worker = psutil.Process(lingering(text))
    os.killpg(program.pid, signal.SIGINT)
    while not text.with_name("interrupted").exists():
        time.sleep(0.01)

    assert worker.is_running()
    worker.terminate()
    assert (program.communicate()[1], program.returncode) == ("", 128 + signal.SIGINT)
    assert leftovers(text) == ["out"]


def test_changed_files_are_loaded_again(tmp_path):
    path = tmp_path / "words"
    path.write_text("ja")
    first = load_cached(job_functions.Words, path)
    again = load_cached(job_functions.Words, path)
    path.write_text("nein")

    assert first is again
    assert load_cached(job_functions.Words, path).text == "nein"
