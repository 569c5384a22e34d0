"""How every stage starts and ends as a program."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from nmt_core.errors import NmtError, ServerError, is_out_of_memory
from nmt_core.files import disk_error
from nmt_core.parallel.parent import end_with_parent


def run_stage(main: Callable[[], object]) -> None:
    """Run a stage as a program, at the end of its file.

    An error of ours becomes one red line on standard error and exit code 1, without a traceback, or
    75 if trying again later may help; an interrupt ends with exit code 130, SIGTERM with 143 and
    the end of the terminal with 129, after files were closed and temporary ones removed. On Linux,
    the end of the parent process sends SIGTERM: DVC, when it is killed, leaves its stages running.
    """
    signal.signal(signal.SIGTERM, _exit)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # or nohup has started us
        signal.signal(signal.SIGHUP, _exit)
    end_with_parent()
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        told = error if isinstance(error, NmtError) else disk_error(error)
        if told is None and is_out_of_memory(error):
            told = NmtError("memory ran out; lower this stage's sizes, or end other programs")
        if told is None:
            raise
        Console(stderr=True).print(Text(str(told), style="red"), soft_wrap=True)
        sys.exit(os.EX_TEMPFAIL if isinstance(told, ServerError) else 1)


def _exit(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
