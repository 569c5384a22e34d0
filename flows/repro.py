"""Bring stages up to date by dvc in this terminal, one run of a checkout at a time.

Usage: python -m flows.repro [STAGE ...]

What ``dvc repro`` does, and what it leaves to people: wait for another run, clear what a killed one
has left, and say what was saved where it is stopped.
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
    """Tell people something, on standard error."""
    Console(stderr=True).print(sentence, markup=False, highlight=False, soft_wrap=True)


def reproduce(stages: list[str]) -> int:
    """Run ``dvc repro``; return its exit code, or 128 and the number of the signal to stop."""
    clear_temporary_files()
    command = [sys.executable, "-m", "dvc", "repro", *stages]
    code, stopped_by = run_in_terminal(command)
    if code and not stopped_by and clear_leftovers(say):
        code, stopped_by = run_in_terminal(command)
    if not code or not stopped_by:
        return code
    say(processes.STOPPED)
    return 128 + stopped_by


def run_in_terminal(command: list[str]) -> tuple[int, int]:
    """Run a command that ends with us; return its exit code, and the signal to stop, or 0.

    The signals of a terminal reach all programs in it by themselves. SIGTERM reaches us alone: it
    is passed on.
    """
    stopped_by = 0

    def remember(number: int, _: object) -> None:
        nonlocal stopped_by
        if not stopped_by and number == signal.SIGTERM:
            terminate_work(process.pid)
        stopped_by = stopped_by or number

    processes.adopt_orphans()
    environment = os.environ | {"PATH": dvc_program.prepend_python()} | dvc_program.QUIET
    process = subprocess.Popen(processes.leash(command), env=environment)
    heard = [number for number in processes.STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, remember) for number in heard}
    try:
        code = process.wait()
        processes.outlast_children(say)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code, stopped_by


def terminate_work(dvc_program: int) -> None:
    """Send SIGTERM to the stage that a dvc runs, or to dvc if it runs none."""
    with suppress(psutil.NoSuchProcess):
        program = psutil.Process(dvc_program)
        for process in program.children(recursive=True) or [program]:
            with suppress(psutil.NoSuchProcess):
                process.terminate()


def main() -> None:
    """Bring the stages that are named up to date with all before them; without any, all."""
    with hold_checkout(say):
        sys.exit(reproduce(sys.argv[1:]))


if __name__ == "__main__":
    run_stage(main)
