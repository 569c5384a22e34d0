"""Progress of long work: a bar for files, plain lines for training."""

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import IO, Any, NamedTuple, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

QUIET_SECONDS = 15.0
"""Time between two lines."""

RECENT_SECONDS = 60.0
"""Seconds over which speed is measured: the speed of an hour ago says little."""

PROGRESS_COLUMNS = {
    "step": "step {:>7,}",
    "epoch": "epoch {:>3}",
    "train_loss": "train loss {:.3f}",
    "validation_loss": "validation loss {:.3f}",
    "validation_perplexity": "perplexity {:.2f}",
    "validation_token_accuracy": "token accuracy {:.1f} %",
}
"""Formats of the numbers of a validation."""


def bytes_bar(console: Console) -> Progress:
    """Return a bar with speed and time left; it shows nothing unless on a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not sys.stderr.isatty(),
    )


def line_counter() -> Progress:
    """Return a bar that counts lines whose total is unknown."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} lines"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _Moment(NamedTuple):
    seconds: float
    tokens: int
    done: float


class TrainingDisplay(AbstractContextManager["TrainingDisplay"]):
    """Prints step, loss, recent tokens per second and time left now and then.

    Args:
        done: returns the share of the training that is done, from 0 to 1, after some ``steps``,
            ``tokens`` and ``seconds``; the time left follows from it.
        console: where to write; by default, standard error.
        scores: labels of the scores among the numbers of a validation, by their names.
    """

    def __init__(
        self,
        done: Callable[..., float],
        console: Console | None = None,
        *,
        scores: Mapping[str, str] | None = None,
    ) -> None:
        self._done = done
        self._columns = PROGRESS_COLUMNS | {
            name: f"{label} {{:.1f}}" for name, label in (scores or {}).items()
        }
        self.console = console or Console(
            file=cast("IO[str]", _Audience(sys.stderr)), highlight=False
        )
        self._said = time.monotonic()
        self._recent: deque[_Moment] = deque()

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def step(
        self, *, step: int, tokens: int, seconds: float, loss: float, learning_rate: float
    ) -> None:
        """Print a point of the training curve, if the last one was printed a while ago."""
        done = self._done(steps=step, tokens=tokens, seconds=seconds)
        now = _Moment(time.monotonic(), tokens, done)
        self._recent.append(now)  # when the tokens before the first were trained is unknown
        while len(self._recent) > 1 and now.seconds - self._recent[1].seconds >= RECENT_SECONDS:
            self._recent.popleft()
        speed = self._speed()
        if speed and now.seconds - self._said >= QUIET_SECONDS:
            self._said = now.seconds
            self.console.print(
                f"step {step:,}, {done:.0%} done, loss {loss:.3f}, rate {learning_rate:.2e}, "
                f"{speed}",
                soft_wrap=True,
            )

    def _speed(self) -> str:
        """Return tokens per second and the time left, as of late; nothing where unknown."""
        then, now = self._recent[0], self._recent[-1]
        seconds, done = now.seconds - then.seconds, now.done - then.done
        if not seconds or not done:
            return ""
        left = seconds / done * (1 - now.done)
        return f"{(now.tokens - then.tokens) / seconds:,.0f} tokens/s, {format_duration(left)} left"

    def validation(self, point: Mapping[str, float], *, best: bool) -> None:
        """Show the losses and scores of a validation."""
        written = self._columns
        columns = [written[name].format(value) for name, value in point.items() if name in written]
        mark = ["[green]best so far[/green]"] if best else []
        self.console.print("  ".join([*columns, *mark]), soft_wrap=True)

    def note(self, sentence: str) -> None:
        """Show something worth knowing."""
        self.console.print(Text(sentence, style="yellow"), soft_wrap=True)


def format_duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


class _Audience:
    """A stream that ignores writes once it is closed, as when its terminal is.

    Training goes on, and saves its results.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
