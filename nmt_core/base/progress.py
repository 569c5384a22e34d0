"""Show the progress of long work: bars for files, and lines and metrics of training."""

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

LINE_INTERVAL_SECONDS = 15.0
"""Minimum time between two lines."""

PROGRESS_COLUMNS = {
    "step": "step {:>7,}",
    "epoch": "epoch {:>3}",
    "train_loss": "train loss {:.3f}",
    "validation_loss": "validation loss {:.3f}",
    "validation_perplexity": "perplexity {:.2f}",
    "validation_token_accuracy": "token accuracy {:.1f} %",
}
"""Formats of the numbers of a validation, by name."""


def bytes_bar(console: Console) -> Progress:
    """Return a bar with speed and remaining time; it is hidden if stderr is not a terminal."""
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
    """Return a counter of lines with a spinner, for an unknown total."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} lines"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


class Tracker:
    """Interface to experiment tracking; this base class records nothing.

    Methods of subclasses must not raise errors or block. The library imports no tracking product.
    """

    def params(self, values: Mapping[str, object]) -> None:
        """Record settings by dotted name."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Record numbers measured at an optimizer step."""

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Record the current content of a file or folder, in the artifact folder ``under``."""


class TrainingDisplay:
    """Prints the loss, speed and remaining time of training as lines.

    ``done`` returns the completed fraction of training, from 0 to 1, for ``steps``, ``tokens`` and
    ``seconds``. ``scores`` are labels for the scores of a validation, by name.
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
            file=cast("IO[str]", _FailsafeStream(sys.stderr)), highlight=False
        )
        self._last: tuple[float, int, float] | None = None
        """Time, tokens and completed fraction at the last line, or at the first step."""

    def step(
        self, *, step: int, tokens: int, seconds: float, loss: float, learning_rate: float
    ) -> None:
        """Print a line, at most every ``LINE_INTERVAL_SECONDS``.

        The loss is in nats per target token; ``seconds`` are the time spent in updates.
        """
        now, done = time.monotonic(), self._done(steps=step, tokens=tokens, seconds=seconds)
        last_time, last_tokens, last_done = self._last or (now, tokens, done)
        elapsed = now - last_time
        if self._last is not None and (elapsed < LINE_INTERVAL_SECONDS or done == last_done):
            return
        self._last = now, tokens, done
        if not elapsed:
            return
        speed = (tokens - last_tokens) / elapsed
        remaining = elapsed / (done - last_done) * (1 - done)
        self.console.print(
            f"step {step:,}, {done:.0%} done, loss {loss:.3f}, rate {learning_rate:.2e}, "
            f"{speed:,.0f} tokens/s, {format_duration(remaining)} left",
            soft_wrap=True,
        )

    def validation(self, point: Mapping[str, float], *, best: bool) -> None:
        """Print the losses and scores of a validation, by name."""
        formats = self._columns
        columns = [formats[name].format(value) for name, value in point.items() if name in formats]
        mark = ["[green]best so far[/green]"] if best else []
        self.console.print("  ".join([*columns, *mark]), soft_wrap=True)

    def note(self, sentence: str) -> None:
        """Print a notice."""
        self.console.print(Text(sentence, style="yellow"), soft_wrap=True)


def format_duration(seconds: float) -> str:
    """Return a duration as hours:minutes:seconds."""
    minutes, full_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{full_seconds:02d}"


@dataclass
class _FailsafeStream:
    """A stream that ignores errors, so that training continues after its terminal is closed."""

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
