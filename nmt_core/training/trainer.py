"""The training loop: one update at a time, resumable to the bit.

What a step does is a function of the weights before it, the seed and its number: batches come from
``data/batch.py`` and dropout is seeded by the step. A checkpoint therefore holds weights, optimizer
state, averages and a :class:`Progress`, and a training continued from it ends in the same bytes as
one that was never interrupted (on the same processor, with the same number of threads).

Several processes that train one model run this loop together, update by update (see
``distributed.py``); the first one alone reads and writes, shows and validates.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from nmt_core.compute import Compute, explain_out_of_memory
from nmt_core.config import Config
from nmt_core.data.batch import Batch, Position, Share, TrainingBatches
from nmt_core.errors import TrainingError
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.weights import own_tensors
from nmt_core.random import seed_of
from nmt_core.tracking import Tracker
from nmt_core.training.budget import Budget
from nmt_core.training.checkpoint import (
    Checkpoint,
    CheckpointStore,
    restore,
    training_tensors,
)
from nmt_core.training.distributed import ALONE, World
from nmt_core.training.loss import batch_loss, mean_cross_entropy
from nmt_core.training.sampled_softmax import SampledSoftmax
from nmt_core.training.schedule import CosineRestarts, InverseSquareRoot, WarmDown
from nmt_core.training.scheduled_sampling import with_own_words
from nmt_core.training.settings import TrainingConfig


class Point(Config):
    """What one validation saw."""

    step: int
    epoch: int
    target_tokens: int
    """Target tokens trained on so far."""
    learning_rate: float
    train_loss: float
    """Plain cross entropy per token since the point before, dropout on, in nats."""
    validation_loss: float
    """Plain cross entropy per token, in nats."""
    validation_perplexity: float
    validation_bleu: float
    """Of greedy translations."""


@dataclass
class Progress:
    """All that a resumed training must know besides tensors; exact in JSON."""

    step: int = 0
    position: Position = field(default_factory=Position)
    target_tokens: int = 0
    seconds: float | None = None
    """Time spent in updates; known only where the budget counts it, or no two runs were alike."""
    best_step: int | None = None
    validations_since_best: int = 0
    finished: bool = False
    loss_sum: float = 0.0
    loss_tokens: int = 0
    """Since the last validation; the two below, since the last point of the curve."""
    recent_sum: float = 0.0
    recent_tokens: int = 0
    history: list[Point] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the progress as JSON holds it."""
        return {**asdict(self), "history": [point.model_dump() for point in self.history]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Progress":
        """Read what :meth:`to_json` gave."""
        position = Position(**values["position"])
        history = [Point(**point) for point in values["history"]]
        return cls(**{**values, "position": position, "history": history})


class Display(Protocol):
    """Shows a person how training goes."""

    def step(self, progress: Progress, *, loss: float, learning_rate: float) -> None:
        """Show a point of the training curve; loss in nats per token."""

    def validation(self, point: Point, *, best: bool) -> None:
        """Show what a validation saw."""

    def note(self, sentence: str) -> None:
        """Show something worth knowing."""


class Interrupted(Exception):  # noqa: N818 - not an error
    """Training was asked to stop, by a signal, and has saved where it is."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.signal = number


@dataclass
class _Clock:
    """Counts the time of updates, from asking for a batch to its last loss, and nothing between."""

    seconds: float = 0.0
    """Of the whole training."""
    recent_seconds: float = 0.0
    """Since the last point of the curve, as are the tokens."""
    recent_tokens: int = 0
    began: float = 0.0

    def start(self) -> None:
        self.began = time.monotonic()

    def stop(self, tokens: int) -> None:
        seconds = time.monotonic() - self.began
        self.seconds += seconds
        self.recent_seconds += seconds
        self.recent_tokens += tokens

    def tokens_per_second(self) -> float:
        """Return the recent speed, and begin anew."""
        speed = self.recent_tokens / max(self.recent_seconds, 1e-9)
        self.recent_seconds, self.recent_tokens = 0.0, 0
        return speed


Schedule = InverseSquareRoot | WarmDown | CosineRestarts


@dataclass
class Trainer:
    """The loop and what it works with.

    Attributes:
        model: on its device, in float32.
        optimizer: over the model's weights.
        schedule: gives each step its learning rate.
        budget: ends the training.
        batches: training pairs without end.
        validation: validation pairs, as batches in a fixed order.
        translate_and_score: returns the BLEU of greedy validation translations (0-100).
        checkpoints: where to continue from, and the best model.
        tracker: remembers numbers.
        display: shows them.
        compute: device and precision.
        config: loss and intervals.
        seed: decides initial weights, dropout and the order of the data.
        seconds_at: returns the seconds of training that a step is remembered to have taken.
        world: the processes that train together.

    Raises:
        ConfigError: if several processes cannot train this model.
    """

    model: Seq2Seq[Any, Any]
    optimizer: torch.optim.Optimizer
    schedule: Schedule
    budget: Budget
    batches: TrainingBatches
    validation: list[Batch]
    translate_and_score: Callable[[Seq2Seq[Any, Any]], float]
    checkpoints: CheckpointStore
    tracker: Tracker
    display: Display
    compute: Compute
    config: TrainingConfig
    seed: int
    seconds_at: Callable[[int], float] = lambda _: 0.0
    world: World = ALONE
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.world.check(self.model)
        # frozen weights are their own average
        self._learning = [weight for weight in self.model.parameters() if weight.requires_grad]
        averages = self._learning if self.config.average > 0 and self.world.leads else []
        self._average = [weight.detach().clone() for weight in averages]
        self._clock = _Clock()
        self._rate = 0.0

    def fit(self) -> Progress:
        """Train until done; return where it ended, the best weights in the first process's model.

        Raises:
            Interrupted: after SIGTERM, SIGHUP or Ctrl-C, once a checkpoint is written; another
                Ctrl-C, a second later, does not wait for it.
            TrainingError: if the loss is not a number or memory runs out, naming the batch, or if
                another process has died or does not answer.
            CheckpointError: if the best model cannot be read back.
        """
        self._resume()
        size = {"tokens": "max_tokens", "buckets": "batch_size"}[self.batches.config.kind]
        lower = f"train.batching.{size}, shard.max_tokens or the sizes of train.model"
        with _asked_to_stop() as asked:
            self._clock.start()
            for share in self._remaining():
                place = self._place(share)
                with explain_out_of_memory(f"at {place}", lower):
                    self._update(share, place)
                self._clock.stop(share.target_tokens)
                if number := self._conclude(asked):
                    raise Interrupted(number)
                self._clock.start()
        if self.world.leads:
            best = self.checkpoints.best()
            self.model.load_state_dict(dict(best.tensors), strict=False)
        return self.progress

    def _remaining(self) -> Iterator[Share]:
        if self.progress.finished:
            return
        self._pending: list[tuple[Tensor, int, str]] = []
        for share in self.batches.start_from(
            self.progress.position, rank=self.world.rank, size=self.world.size
        ):
            yield share
            if self.progress.finished:
                return

    def _update(self, share: Share, place: str) -> None:
        """Make one optimizer update; ``place`` says which."""
        step = self.progress.step
        tokens = share.target_tokens
        done = self.budget.done(
            steps=step + 1,
            tokens=self.progress.target_tokens + tokens,
            seconds=self.progress.seconds or 0.0,
        )
        self._rate = self.schedule.rate(step, done)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate
        plain = self.world.sum_gradients(self._learning, self._read(share, done))
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self._average:
            learnt = [weight.detach() for weight in self._learning]
            # early averages forget faster, or they would remember the random start
            decay = min(self.config.average, (1 + step) / (10 + step))
            torch._foreach_lerp_(self._average, learnt, 1 - decay)
        self._pending.append((plain, tokens, place))
        self._settle(leave=1)
        self.progress.step += 1
        self.progress.position = share.after
        self.progress.target_tokens += tokens

    def _read(self, share: Share, done: float) -> Tensor:
        """Leave this process's part of the gradient; return that of the plain cross entropy."""
        step, expected = self.progress.step, self.config.sampled_softmax
        sentences, tokens = len(share.batch.source), share.batch.target_tokens
        if not sentences:
            return torch.zeros((), device=self.compute.device)
        batch = share.batch.to(self.compute.device)
        torch.manual_seed(seed_of(self.seed, "scheduled sampling", step, *self.world.names))
        with self.compute.autocast():  # its own: torch may keep what it rounds without gradients
            batch = with_own_words(self.model, batch, self.config.scheduled_sampling, done)
        torch.manual_seed(seed_of(self.seed, "dropout", step, *self.world.names))
        with self.compute.autocast():
            loss, plain = batch_loss(
                self.model,
                batch,
                label_smoothing=self.config.label_smoothing,
                per=self.config.normalize_loss,
                estimate=SampledSoftmax(expected, self.seed, step) if expected else None,
            )
        shares = {"token": tokens / share.target_tokens, "sentence": sentences / share.sentences}
        (loss * shares[self.config.normalize_loss]).backward()
        return plain.detach()

    def _conclude(self, asked: Callable[[], int]) -> int:
        """Do what is due after an update; return the signal at which to stop, or 0."""
        number, seconds = self.world.agree(asked(), self._clock.seconds)
        if self.budget.seconds is not None:
            self.progress.seconds = seconds
        if self.world.leads and self.progress.step % self.config.log_every == 0:
            self._log()
        if self._validation_is_due():
            self.world.follow(self._validate)
            number, finished = self.world.agree(asked(), self.progress.finished)
            self.progress.finished = bool(finished)
        elif number:
            self.world.follow(self._save)
        return 0 if self.progress.finished else int(number)

    def _place(self, share: Share) -> str:
        """Return in words where training is: the update, and the pairs that it reads."""
        named = ", ".join(map(str, share.pairs[:PAIRS_NAMED]))
        more = len(share.pairs) - PAIRS_NAMED
        others = f" and {more} more" if more > 0 else ""
        position = self.progress.position
        return (
            f"step {self.progress.step + 1}, in batch {position.batch + 1} of epoch "
            f"{position.epoch + 1} (training pairs {named}{others})"
        )

    def _settle(self, *, leave: int) -> None:
        """Read the losses of all steps but the last ``leave``, which a GPU may still compute."""
        while len(self._pending) > leave:
            plain, tokens, place = self._pending.pop(0)
            value = plain.item()
            if not math.isfinite(value):
                raise TrainingError(
                    f"the loss is {value} at {place}; the last checkpoint is kept: lower "
                    f"train.schedule's learning rate or train with precision float32"
                )
            self.progress.loss_sum += value
            self.progress.loss_tokens += tokens
            self.progress.recent_sum += value
            self.progress.recent_tokens += tokens

    def _log(self) -> None:
        self._settle(leave=0)
        progress = self.progress
        loss = progress.recent_sum / max(1, progress.recent_tokens)
        progress.recent_sum, progress.recent_tokens = 0.0, 0
        self.display.step(progress, loss=loss, learning_rate=self._rate)
        self.tracker.metrics(
            {
                "train/loss": loss,
                "train/learning_rate": self._rate,
                "train/epoch": progress.position.epoch,
                "train/seconds": self._clock.seconds,
                "train/tokens_per_second": self._clock.tokens_per_second(),
            },
            step=progress.step,
        )

    def _validation_is_due(self) -> bool:
        return self.progress.step % self.config.validate_every == 0 or self._at_limit()

    def _at_limit(self) -> bool:
        return self.budget.is_spent(
            steps=self.progress.step,
            tokens=self.progress.target_tokens,
            seconds=self.progress.seconds or 0.0,
            epochs=self.progress.position.epoch,
        )

    def _validate(self) -> None:
        self._settle(leave=0)
        progress, config = self.progress, self.config
        lower = "train.training.validation_sentences or the sizes of train.model"
        with (
            self._averaged(),
            explain_out_of_memory(f"validating after step {progress.step}", lower),
        ):
            loss = self._validation_loss()
            bleu = self.translate_and_score(self.model)
            weights = {name: v.clone() for name, v in own_tensors(self.model).items()}
        point = Point(
            step=progress.step,
            epoch=progress.position.epoch,
            target_tokens=progress.target_tokens,
            learning_rate=self._rate,
            train_loss=progress.loss_sum / max(1, progress.loss_tokens),
            validation_loss=loss,
            validation_perplexity=math.exp(min(loss, 100.0)),
            validation_bleu=bleu,
        )
        best = all(self._merit(point) > self._merit(other) for other in progress.history)
        progress.history.append(point)
        progress.loss_sum, progress.loss_tokens = 0.0, 0
        if best:
            progress.best_step = progress.step
        progress.validations_since_best = 0 if best else progress.validations_since_best + 1
        exhausted = (
            config.patience is not None and progress.validations_since_best >= config.patience
        )
        progress.finished = self._at_limit() or exhausted
        self.display.validation(point, best=best)
        self.tracker.metrics(
            {f"validation/{name}": getattr(point, f"validation_{name}") for name in MEASURES}
            | {"train/target_tokens": progress.target_tokens, "train/seconds": self._clock.seconds},
            step=progress.step,
        )
        if best:
            self.checkpoints.save_best(Checkpoint(weights, {}), step=progress.step)
        self._save()

    def _merit(self, point: Point) -> tuple[float, ...]:
        """Return what the best validation has most of; of equal BLEU, the lower loss is better."""
        by_loss = (-point.validation_loss,)
        return (point.validation_bleu, *by_loss) if self.config.select_by == "bleu" else by_loss

    def _validation_loss(self) -> float:
        """Return the plain cross entropy per target token over the validation pairs, in nats."""
        with self.compute.autocast():
            on_device = (batch.to(self.compute.device) for batch in self.validation)
            loss = mean_cross_entropy(self.model, on_device)
        if not math.isfinite(loss):
            raise TrainingError(
                f"the validation loss is {loss} at step {self.progress.step}; the last checkpoint "
                f"is kept: lower train.schedule's learning rate"
            )
        return loss

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Put the averaged weights into the model, in evaluation mode, for a while."""
        averaged = self._learning[: len(self._average)]
        kept = [weight.detach().clone() for weight in averaged]
        with torch.no_grad():
            for weight, average in zip(averaged, self._average, strict=True):
                weight.copy_(average)
        self.model.eval()
        try:
            yield
        finally:
            with torch.no_grad():
                for weight, value in zip(averaged, kept, strict=True):
                    weight.copy_(value)
            self.model.train()

    def _save(self) -> None:
        self._settle(leave=0)
        self.checkpoints.save(self._checkpoint(), step=self.progress.step)

    def _checkpoint(self) -> Checkpoint:
        tensors = training_tensors(self.model, self.optimizer)
        tensors |= {f"average.{n}": value for n, value in enumerate(self._average)}
        return Checkpoint(tensors, self.progress.to_json())

    def _resume(self) -> None:
        self.model.train()
        checkpoint = self._newest() if self.world.leads else None
        if self.world.size > 1:
            checkpoint = self.world.share(checkpoint or self._checkpoint())
        if checkpoint is None:
            return
        self.progress = Progress.from_json(checkpoint.progress)
        seconds = self.progress.seconds
        self._clock.seconds = self.seconds_at(self.progress.step) if seconds is None else seconds
        restore(self.model, self.optimizer, checkpoint.tensors)
        for number, average in enumerate(self._average):
            average.copy_(checkpoint.tensors[f"average.{number}"])

    def _newest(self) -> Checkpoint | None:
        checkpoint = self.checkpoints.newest()
        for problem in self.checkpoints.rejected:
            self.display.note(f"{problem}; continuing from the checkpoint before it")
        if checkpoint is not None:
            self.display.note(f"continuing from step {checkpoint.progress['step']}")
        return checkpoint


MEASURES = ("loss", "perplexity", "bleu")

PAIRS_NAMED = 5
"""Of a batch, where something is wrong with it."""

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals after which training saves and ends; the last comes when its terminal is closed."""

SAME_CTRL_C_SECONDS = 1.0
"""A second Ctrl-C before that is not a second wish: a terminal sends it to all programs at work in
it, and some of them pass it on."""


@contextmanager
def _asked_to_stop() -> Iterator[Callable[[], int]]:
    """Turn signals to stop into a question that the loop asks between two updates.

    What this process was told to ignore, as by nohup, it still ignores.
    """
    asked, since = 0, 0.0

    def remember(number: int, _: object) -> None:
        nonlocal asked, since
        if asked and number == signal.SIGINT and time.monotonic() > since + SAME_CTRL_C_SECONDS:
            raise KeyboardInterrupt
        if not asked:
            asked, since = number, time.monotonic()

    heard = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, remember) for number in heard}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
