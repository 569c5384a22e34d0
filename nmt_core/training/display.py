"""What a person sees while a model trains: a moving bar, or plain lines where nobody watches."""

import sys
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from nmt_core.training.budget import Budget
from nmt_core.training.progress import Point
from nmt_core.training.progress import Progress as TrainingProgress

QUIET_SECONDS = 15.0
"""Time between two lines where the output is no terminal."""


RECENT_SECONDS = 60.0
"""Time over which speed is measured: what an hour ago made slow says nothing of now."""


class _Moment(NamedTuple):
    seconds: float
    tokens: int
    done: float


class TrainingDisplay:
    """Shows step, loss, tokens per second and time left of late; a context manager.

    Args:
        budget: what of it is left tells the time left.
        console: where to write; by default, standard error.
    """

    def __init__(self, budget: Budget, console: Console | None = None) -> None:
        self.budget = budget
        self.console = console or Console(
            file=cast("IO[str]", _Audience(sys.stderr)), highlight=False
        )
        self._bar = Progress(
            TextColumn("[bold]train"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("step {task.fields[step]:,}"),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[speed]}"),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("train", total=1.0, step=0, loss="–", speed="")
        self._said = time.monotonic()
        self._recent: deque[_Moment] = deque()

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
        now = _Moment(time.monotonic(), progress.target_tokens, self._done(progress))
        self._recent.append(now)  # what came before the first is not known to have just been
        while len(self._recent) > 1 and now.seconds - self._recent[1].seconds >= RECENT_SECONDS:
            self._recent.popleft()
        speed = self._speed()
        self._bar.update(
            self._task, completed=now.done, step=progress.step, loss=f"{loss:.3f}", speed=speed
        )
        if speed and not self.console.is_terminal and now.seconds - self._said >= QUIET_SECONDS:
            self._said = now.seconds
            self.console.print(
                f"step {progress.step:,}, {now.done:.0%} done, loss {loss:.3f}, rate "
                f"{learning_rate:.2e}, {speed}",
                soft_wrap=True,
            )

    def _speed(self) -> str:
        """Return tokens per second and the time left, as of late; nothing where unknown."""
        then, now = self._recent[0], self._recent[-1]
        seconds, done = now.seconds - then.seconds, now.done - then.done
        if not seconds or not done:
            return ""
        left = seconds / done * (1 - now.done)
        return f"{(now.tokens - then.tokens) / seconds:,.0f} tokens/s, {_clock(left)} left"

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


class _Audience:
    """A stream that is written in vain once nobody can read it, as when its terminal is closed.

    Whoever trains goes on, to save what there is.
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
