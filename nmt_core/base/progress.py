"""Progress of long work: a bar for files, plain lines and records of a training."""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

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


class Tracker:
    """Records the numbers and files of a run; this one forgets them.

    No method of a subclass may fail or wait long. The library knows no tracking product.
    """

    def params(self, values: Mapping[str, object]) -> None:
        """Record settings, flat, by dotted name."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Record numbers measured at an optimizer step."""

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Record a file or a folder as it is now, ``under`` the name of a folder if any."""


class TrainingDisplay:
    """Prints the losses of a training, its speed and the time left, as lines.

    ``done`` returns the share of the training that is done, from 0 to 1, after some ``steps``,
    ``tokens`` and ``seconds``. Scores of a validation have labels by their names.
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
        self._last: tuple[float, int, float] | None = None
        """Time, tokens and share done of the last line; of a resumed training, of its begin."""

    def step(
        self, *, step: int, tokens: int, seconds: float, loss: float, learning_rate: float
    ) -> None:
        """Print a point of the training curve, if the last one was printed a while ago.

        The loss is in nats per target token, the time that spent in updates.
        """
        now, done = time.monotonic(), self._done(steps=step, tokens=tokens, seconds=seconds)
        then, tokens_then, done_then = self._last or (now, tokens, done)
        if self._last is not None and (now - then < QUIET_SECONDS or done == done_then):
            return
        self._last = now, tokens, done
        if now == then:
            return
        speed = (tokens - tokens_then) / (now - then)
        left = (now - then) / (done - done_then) * (1 - done)
        self.console.print(
            f"step {step:,}, {done:.0%} done, loss {loss:.3f}, rate {learning_rate:.2e}, "
            f"{speed:,.0f} tokens/s, {format_duration(left)} left",
            soft_wrap=True,
        )

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


@dataclass
class _Audience:
    """A stream that ignores writes once it is closed, as when its terminal is.

    Training goes on, and saves its results.
    """

    stream: IO[str]

    def write(self, text: str) -> int:
        with suppress(OSError):
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
