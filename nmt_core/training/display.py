"""What a person sees while a model trains: a moving bar, or plain lines where nobody watches."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from nmt_core.training.budget import Budget
from nmt_core.training.trainer import Point
from nmt_core.training.trainer import Progress as TrainingProgress

QUIET_SECONDS = 15.0
"""Time between two lines where the output is no terminal."""


class TrainingDisplay:
    """Shows step, loss, tokens per second and time left; a context manager.

    Args:
        budget: what of it is left tells the time left.
        console: where to write; by default, standard error.
    """

    def __init__(self, budget: Budget, console: Console | None = None) -> None:
        self.budget = budget
        self.console = console or Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("[bold]train"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("step {task.fields[step]:,}"),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("train", total=1.0, step=0, loss=float("nan"), speed="")
        self._began = self._said = time.monotonic()
        self._first: TrainingProgress | None = None
        self._first_tokens, self._first_done = 0, 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def step(self, progress: TrainingProgress, *, loss: float, learning_rate: float) -> None:
        """Show a point of the training curve."""
        now, done = time.monotonic(), self._done(progress)
        if self._first is None:  # what came before is not known to have been trained just now
            self._first, self._began = progress, now
            self._first_tokens, self._first_done = progress.target_tokens, done
        seconds = now - self._began
        trained, used = progress.target_tokens - self._first_tokens, done - self._first_done
        speed = f"{trained / seconds:,.0f} tokens/s" if seconds else ""
        self._bar.update(self._task, completed=done, step=progress.step, loss=loss, speed=speed)
        if used and not self.console.is_terminal and now - self._said >= QUIET_SECONDS:
            self._said = now
            left = seconds / used * (1 - done)
            self.console.print(
                f"step {progress.step:,}, {done:.0%} done, loss {loss:.3f}, rate "
                f"{learning_rate:.2e}, {speed}, {_clock(left)} left",
                soft_wrap=True,
            )

    def _done(self, progress: TrainingProgress) -> float:
        return self.budget.done(
            steps=progress.step,
            tokens=progress.target_tokens,
            seconds=progress.seconds or 0.0,
        )

    def validation(self, point: Point, *, best: bool) -> None:
        """Show what a validation saw."""
        mark = "  [green]best so far[/green]" if best else ""
        self.console.print(
            f"step {point.step:>7,}  epoch {point.epoch:>3}  train loss {point.train_loss:.3f}  "
            f"validation loss {point.validation_loss:.3f}  perplexity "
            f"{point.validation_perplexity:.2f}  BLEU {point.validation_bleu:.1f}{mark}",
            soft_wrap=True,
        )

    def note(self, sentence: str) -> None:
        """Show something worth knowing."""
        self.console.print(Text(sentence, style="yellow"), soft_wrap=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
