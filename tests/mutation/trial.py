"""Tests against a mutant: in a copy of the project, and a process that has its libraries."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.covering import BEGIN, OPTIONS, Record, measure
from tests.mutation.drawing import Mutant

LIBRARIES = [
    "coverage",
    "ctranslate2",
    "dvc.repo",
    "fastapi",
    "httpx",
    "hydra",
    "hypothesis",
    "matplotlib.pyplot",
    "mlflow",
    "numpy",
    "omegaconf",
    "onnx",
    "onnxruntime",
    "pandas",
    "prefect",
    "pytest",
    "sacrebleu",
    "sentencepiece",
    "spacy",
    "torch",
]
"""What takes seconds to import and is no part of the project; imported once."""
PATIENCE = 20
"""A mutant may take as long, in seconds of a processor, before its tests count."""
MEMORY = 6 * 2**30
"""More than this, in bytes, no mutant may take."""
OUTCOMES = KILLED, SURVIVED, TIMEOUT = ("killed", "survived", "timeout")

Choice = list[tuple[str, dict[str, float]]]


class Choosing:
    """A plugin of pytest that runs the tests chosen, in their order; the first that failed."""

    def __init__(self, tests: dict[str, float]) -> None:
        self._tests = list(tests)
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self._tests if test in found]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def copy_project(top: Path, folder: Path) -> None:
    """Copy what git knows of, and what it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=top, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (top / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / name, folder / name)


class Bench:
    """A copy of the project in which tests run, one process after another."""

    def __init__(self, top: Path, folder: Path, libraries: Sequence[str] = LIBRARIES) -> None:
        self._folder = folder
        copy_project(top, folder)
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(list(libraries))

    def measure(self, file: str) -> Record:
        """Measure a file of tests.

        Raises:
            TimeoutError: if that takes forever.
            ChildProcessError: if the tests end the process.
        """
        return self._run(1800, measure, self._folder, file)

    def attempt(self, mutant: Mutant, choice: Choice) -> tuple[str, str]:
        """Return what became of a mutant, and the test that killed it."""
        seconds = sum(BEGIN + sum(tests.values()) for _, tests in choice)
        try:
            with self._broken(mutant):
                failed = self._run(
                    10 * (PATIENCE + seconds), run_tests, choice, PATIENCE + 4 * seconds
                )
        except TimeoutError:
            return TIMEOUT, ""
        except ChildProcessError as error:
            return KILLED, str(error)
        return (KILLED, failed) if failed else (SURVIVED, "")

    @contextlib.contextmanager
    def _broken(self, mutant: Mutant) -> Iterator[None]:
        path = self._folder / mutant.file
        code, times = path.read_bytes(), path.stat()
        path.write_text(mutant.code, encoding="utf-8")
        # compiled code is known by its source's whole seconds and size: these were never there
        os.utime(path, (0, hash(mutant.code) % 10**9))
        try:
            yield
        finally:
            path.write_bytes(code)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(self, patience: float, task: Callable[..., Any], *args: Any) -> Any:
        """Return what a task returns in a process of its own.

        Raises:
            TimeoutError: if it is not done in time.
            ChildProcessError: if the process ends before.
        """
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=work, args=(self._folder, sender, task, *args))
        process.start()
        sender.close()
        try:
            if not receiver.poll(patience):
                raise TimeoutError
            return receiver.recv()
        except EOFError:
            process.join()
            if process.exitcode == -signal.SIGXCPU:
                raise TimeoutError from None
            raise ChildProcessError(f"the process ended with {process.exitcode}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join()


def work(folder: Path, sender: Connection, task: Callable[..., Any], *args: Any) -> None:
    """Do a task in the copy, as if nothing of the project had been imported."""
    os.setsid()
    os.chdir(folder)
    home = str(Path(__file__).parents[2])
    sys.path[:] = [str(folder), *(path for path in sys.path if path not in {"", home})]
    os.environ["PYTHONPATH"] = str(folder)
    sys.dont_write_bytecode = False  # every process imports the project anew
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sender.send(task(*args))


def run_tests(choice: Choice, seconds: float) -> str:
    """Run tests until one fails; return which, or nothing."""
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    for file, tests in choice:
        plugin = Choosing(tests)
        code = pytest.main([file, "-x", *OPTIONS], plugins=[plugin])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return plugin.failed or file
    return ""
