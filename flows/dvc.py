"""The only place that runs the dvc program."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import yaml
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from nmt_core.errors import NmtError
from stages import paths

GRACE_SECONDS = 10.0
"""What a stage gets to save its work between the polite signal and the last one."""

LOCK_PATIENCE_SECONDS = 300.0
"""How long to ask again while another dvc holds what a stage needs."""

LONGEST_WAIT_SECONDS = 30.0
"""Bound of the random pause before asking again; it starts at a second and doubles."""

LOCKED = ("Unable to acquire lock", "is busy, it is being blocked by")
"""What dvc says when another dvc is at work, and only then."""

QUIET = {"PYTHONUNBUFFERED": "1", "DVC_NO_ANALYTICS": "1"}

LEASHED = """\
import ctypes, os, signal, sys
flow, *command = sys.argv[1:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    if os.getppid() != int(flow):
        sys.exit("the flow is gone")
os.execv(command[0], command)
"""
"""Start a command that is told to end when we die, by whatever signal; exec keeps the order.

A program of its own, since forking Python code in a process with threads may lock up.
"""


class StageFailed(NmtError):  # noqa: N818 - what happened, as Prefect names its states
    """A stage ended badly; its own output says why."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code
        """The exit code of the stage, or of dvc if the stage has none."""


class _StageLocked(StageFailed):
    """Another dvc held what the stage needs."""


def stages(path: Path = paths.PIPELINE) -> list[str]:
    """Return the names of the stages in the order of the file, which is an order to run them in."""
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["stages"])


def reproduce(stage: str, *, log: Callable[[str], None]) -> None:
    """Bring one stage up to date; DVC decides whether anything has to run.

    Whatever ends this call, a signal included, ends dvc and the stage with it.

    Args:
        stage: name of a stage, whose dependencies are taken as they lie.
        log: takes every line that dvc and the stage print.

    Raises:
        StageFailed: if the stage ends badly, or another dvc is at work for too long.
    """
    for attempt in Retrying(
        retry=retry_if_exception_type(_StageLocked),
        wait=wait_random_exponential(max=LONGEST_WAIT_SECONDS),
        stop=stop_after_delay(LOCK_PATIENCE_SECONDS),
        reraise=True,
    ):
        with attempt:
            _reproduce(stage, log)


def _reproduce(stage: str, log: Callable[[str], None]) -> None:
    command = [sys.executable, "-m", "dvc", "repro", "--single-item", stage]
    lines: list[str] = []

    def keep(line: str) -> None:
        lines.append(line)
        if line:
            log(line)

    code = _run(command, keep)
    if not code:
        return
    again = f"repeat it with: dvc repro --single-item {stage}"
    output = "\n".join(lines)
    if any(message in output for message in LOCKED):
        raise _StageLocked(f"stage {stage!r} is in use by another dvc; {again}", code=code)
    by_the_stage = re.findall(r"exited with (-?\d+)$", output, re.MULTILINE)
    last = int([code, *by_the_stage][-1])
    raise StageFailed(f"stage {stage!r} exited with {last}; {again}", code=last)


def _run(command: list[str], log: Callable[[str], None]) -> int:
    """Run a command in a session of its own, line by line, and leave nothing of it behind."""
    with subprocess.Popen(
        [sys.executable, "-c", LEASHED, str(os.getpid()), *command],
        env=os.environ | {"PATH": own_python_first()} | QUIET,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                log(line.rstrip())
            return process.wait()
        except BaseException:
            _stop(process)
            raise


def own_python_first() -> str:
    """Return PATH with this interpreter's folder first: stages start as plain ``python``."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _stop(process: subprocess.Popen[str]) -> None:
    """End a whole session: politely, and after a grace for certain.

    A stage outlives its dvc while it saves; it has ended when nobody holds the pipe any more.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
