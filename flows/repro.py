"""Run ``dvc repro`` in this terminal, one run per checkout at a time.

Usage: python -m flows.repro [STAGE ...]

It waits for another run, removes leftovers of a killed one, and prints a message after a stop.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import psutil
from rich.console import Console

from flows import dvc_program, processes
from flows.dvc_program import clear_leftovers, clear_temporary_files
from stages.runtime.checkout import hold_checkout
from stages.runtime.entry import run_stage


def say(sentence: str) -> None:
    """Print a sentence on standard error."""
    Console(stderr=True).print(sentence, markup=False, highlight=False, soft_wrap=True)


def reproduce(stages: list[str]) -> int:
    """Run ``dvc repro``; return its exit code, or 128 plus the number of a signal to stop."""
    clear_temporary_files()
    code, stopped_by = run_dvc(stages)
    if code and not stopped_by and clear_leftovers(say):
        code, stopped_by = run_dvc(stages)
    if not code or not stopped_by:
        return code
    say(processes.STOPPED)
    return 128 + stopped_by


def run_dvc(stages: list[str]) -> tuple[int, int]:
    """Run dvc in this terminal; return its exit code, and the number of a signal to stop, or 0."""
    environment = os.environ | {"PATH": dvc_program.prepend_python()} | dvc_program.QUIET
    command = [sys.executable, "-m", "dvc", "repro", *stages]
    return processes.run_to_the_end(command, environment, say=say, stop=stop_work, session=False)


def stop_work(dvc: subprocess.Popen[bytes], number: int) -> None:
    """Forward SIGTERM to the stage that dvc runs, or to dvc if no stage runs.

    Other signals of a terminal reach all of its programs by themselves.
    """
    if number != signal.SIGTERM:
        return
    with suppress(psutil.NoSuchProcess):
        program = psutil.Process(dvc.pid)
        for process in program.children(recursive=True) or [program]:
            with suppress(psutil.NoSuchProcess):
                process.terminate()


def main() -> None:
    """Run the named stages and all before them; by default, all stages."""
    with hold_checkout(say):
        sys.exit(reproduce(sys.argv[1:]))


if __name__ == "__main__":
    run_stage(main)
