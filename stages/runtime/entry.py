"""Start and end of every stage as a program."""

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
    """Run a stage as a program, at the end of its file.

    An error of ours becomes one red line on standard error and exit code 1, without a traceback, or
    75 if trying again later may help; an interrupt ends with exit code 130, SIGTERM with 143 and
    the end of the terminal with 129, after files were closed and temporary ones removed. On Linux,
    the end of the parent process sends SIGTERM: DVC, when it is killed, leaves its stages running.
    ``--help`` shows the documentation of the stage's file.
    """
    signal.signal(signal.SIGTERM, _exit)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # or nohup has started us
        signal.signal(signal.SIGHUP, _exit)
    end_with_parent()
    gc.freeze()  # looking for garbage in what was imported would be in vain, again and again
    code: str | int | None
    try:
        code = _run(main)
    except SystemExit as ended:
        code = ended.code
    _leave(code)


def _run(main: Callable[[], object]) -> int:
    """Run a stage, print an error of ours in one line, and return the exit code."""
    try:
        answer_arguments()
        main()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:
        message = error if isinstance(error, NmtError) else disk_error(error) or _missing(error)
        if message is None and is_out_of_memory(error):
            message = NmtError("memory ran out; lower this stage's sizes, or end other programs")
        if message is None:
            raise
        Console(stderr=True).print(Text(str(message), style="red"), soft_wrap=True)
        return os.EX_TEMPFAIL if isinstance(message, ServerError) else 1
    return 0


def _missing(error: Exception) -> NmtError | None:
    """Name the stage that makes a missing file, if the error is about one."""
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
                return NmtError(f"{match[0]} is missing; the {stage} stage makes it: make repro")
    return None


def _leave(code: str | int | None) -> NoReturn:
    """End this process, at once if a background thread is still at work.

    Such a thread may wait for an MLflow that does not answer. Python ends it wherever it is; within
    C++ code the whole process is aborted with it, so that a finished stage would fail.
    """
    if signal.getsignal(signal.SIGTERM) is _exit:  # it would interrupt what libraries put in order
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if isinstance(code, int) and any(thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def answer_arguments() -> None:
    """Answer ``--help`` with the stage's documentation, and refuse unused arguments.

    Raises:
        ConfigError: if there are arguments, and the stage's file shows a usage without any.
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
