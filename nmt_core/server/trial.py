"""Try a model in a separate process before the server loads it.

The programs that compute with a model are written in C++, and a file made to harm them may end
their process or keep it busy for ever. So another process goes first: it loads the model, lets it
translate its golden sentences, and says on its last line what was wrong.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Thread
from typing import NoReturn

from nmt_core.base.errors import BundleError, NmtError
from nmt_core.server.logs import describe_failure
from nmt_core.translation.golden import load_verified
from nmt_core.translation.translator import Translator

TRIAL_SECONDS = 300.0
"""Seconds that a model may take to load and to translate its golden sentences."""

MOST_ANSWER_BYTES = 10_000
"""Bytes that are read of the other process's output."""


def load_tried(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> Translator:
    """Load an exported model after a trial in another process.

    Args:
        folder: what the export stage wrote.
        engine: see ``Translator.load``.
        device: see ``Translator.load``.
        threads: see ``Translator.load``.

    Raises:
        BundleError: if it is incomplete or altered, translates otherwise than it did, ends the
            process that loads it or keeps it busy.
        ConfigError: if the engine or the device is not there.
    """
    options = [str(folder), engine, device, str(threads or "")]
    run_trial(folder, [sys.executable, "-P", "-m", "nmt_core.server.trial", *options])
    return load_verified(folder, engine=engine, device=device, threads=threads)


def run_trial(folder: Path, command: Sequence[str], seconds: float = TRIAL_SECONDS) -> None:
    """Run the trial of a model; refuse the model if the trial says so, fails or takes too long.

    Args:
        folder: of the model.
        command: runs the trial; it ends when its standard input does.
        seconds: the limit of its time.

    Raises:
        BundleError: if the model is refused, with the reason.
    """
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as trial:
        assert trial.stdout is not None
        try:
            trial.wait(seconds)
        except TimeoutExpired:
            trial.kill()
            raise BundleError(
                f"{folder} did not translate its golden sentences within {seconds:g} seconds; "
                f"export the model again"
            ) from None
        output = trial.stdout.read(MOST_ANSWER_BYTES).decode(errors="replace")
    if trial.returncode < 0:
        name = signal.Signals(-trial.returncode).name
        raise BundleError(
            f"{folder} ended the process that loaded it ({name}), so it is not served; fetch or "
            f"export it again"
        )
    if problem := read_answer(folder, output):
        raise BundleError(problem)


def read_answer(folder: Path, output: str) -> str:
    """Return the problem that the last line of a trial names; empty if there is none."""
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(output.splitlines()[-1])["problem"])
    return f"{folder} could not be tried, for the process that loads it gave no answer; start anew"


def find_problem(folder: Path, *, engine: str, device: str, threads: int | None) -> str:
    """Load a model and let it translate; return its problem, empty if there is none."""
    try:
        load_verified(folder, engine=engine, device=device, threads=threads)
    except NmtError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - any error is reported in a sentence
        frame = describe_failure(error).rpartition(" > ")[0].rpartition(" > ")[2]
        return (
            f"{folder} cannot be translated with ({type(error).__name__} at {frame}); export the "
            f"model again"
        )
    return ""


def give_way() -> None:
    """Make this process the first that is killed if memory runs out, without a core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # not every system has it
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def exit_at_end_of_input() -> NoReturn:
    """Exit when standard input ends, as the parent has gone."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def main() -> None:
    """Try the model that the command line names."""
    folder, engine, device, threads = sys.argv[1:]
    give_way()
    Thread(target=exit_at_end_of_input, daemon=True).start()
    problem = find_problem(
        Path(folder), engine=engine, device=device, threads=int(threads) if threads else None
    )
    sys.stdout.write(f"{json.dumps({'problem': problem})}\n")


if __name__ == "__main__":
    main()
