"""Run stages as programs: arguments, errors, signals and exit codes."""

import gc
import inspect
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from nmt_core.base.errors import ConfigError, NmtError, ServerError, is_out_of_memory
from nmt_core.base.files import disk_error
from nmt_core.base.interrupt import end_with_parent
from stages import paths


def run_stage(main: Callable[[], object]) -> None:
    """Run a stage as a program, and exit.

    A ``NmtError`` is printed as one red line on standard error, without a traceback. The exit code
    is 1 for an error, 75 for one that may pass by itself, 130 after an interrupt, 143 after SIGTERM
    and 129 when the terminal closes; temporary files are removed before. On Linux, the end of the
    parent process sends SIGTERM, because a killed DVC leaves its stages running. ``--help`` prints
    the docstring of the stage's module.
    """
    signal.signal(signal.SIGTERM, _exit)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores it
        signal.signal(signal.SIGHUP, _exit)
    end_with_parent()
    gc.freeze()  # imported objects stay; do not scan them for garbage
    code: str | int | None
    try:
        code = _run(main)
    except SystemExit as ended:
        code = ended.code
    _leave(code)


def _run(main: Callable[[], object]) -> int:
    """Run a stage, print a ``NmtError`` in one line, and return the exit code."""
    try:
        answer_arguments()
        main()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:
        message = error if isinstance(error, NmtError) else disk_error(error) or _missing(error)
        if message is None and is_out_of_memory(error):
            message = NmtError("out of memory; lower this stage's sizes, or end other programs")
        if message is None:
            raise
        Console(stderr=True).print(Text(str(message), style="red"), soft_wrap=True)
        return os.EX_TEMPFAIL if isinstance(message, ServerError) else 1
    return 0


def _missing(error: Exception) -> NmtError | None:
    """Return an error that names the stage of a missing file; None for any other error."""
    if not isinstance(error, OSError) or not paths.PIPELINE.exists():
        return None
    named = f"{error.filename or ''} {error}"
    from yaml import safe_load  # rarely needed

    pipeline = safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    for stage, entry in pipeline.items():
        for out in (out for kind in ("outs", "metrics", "plots") for out in entry.get(kind, ())):
            path = out if isinstance(out, str) else next(iter(out))
            match = re.search(rf"{re.escape(path)}[^\s'\":)]*", named)
            if match and not Path(match[0]).exists():
                return NmtError(f"{match[0]} is missing; the {stage} stage writes it: make repro")
    return None


def _leave(code: str | int | None) -> NoReturn:
    """End this process, without cleanup if a background thread is still running.

    Such a thread may wait for an MLflow that does not answer. If Python ended it within C++ code,
    the whole process would be aborted, so that a finished stage would fail.
    """
    if signal.getsignal(signal.SIGTERM) is _exit:  # do not interrupt the cleanup of libraries
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if isinstance(code, int) and any(thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def answer_arguments() -> None:
    """Print the stage's documentation for ``--help``, and reject unused arguments.

    Raises:
        ConfigError: if there are arguments, but the documented usage has no arguments.
    """
    program = sys.modules["__main__"]
    name = getattr(program.__spec__, "name", "").removesuffix(".__main__")
    usage, described = f"Usage: python -m {name}", inspect.getdoc(program) or ""
    if not sys.argv[1:] or not name.startswith("stages.") or usage not in described:
        return
    if {"-h", "--help"} & {*sys.argv[1:]}:
        Console().print(described, markup=False, highlight=False, soft_wrap=True)
        sys.exit(0)
    if usage in described.splitlines():
        raise ConfigError(
            f"{name} takes no arguments, got {sys.argv[1]!r}; change settings by: "
            f'make repro SET="SECTION.KEY=VALUE"'
        )


def _exit(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
