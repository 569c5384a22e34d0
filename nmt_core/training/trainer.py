"""The training loop, which resumes exactly.

An ``Objective`` has the data and the loss. An update depends only on the weights before it, the
seed and the number of the step. A checkpoint therefore holds weights, optimizer state, averages,
the state of the objective and a ``Progress``. A resumed training ends in the same bytes as one that
was never interrupted, on the same processor and with the same number of threads.

Several processes that train one model run this loop together (see ``distributed.py``). Only the
first process reads and writes checkpoints, logs and validates.
"""

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt_core.base import config as settings
from nmt_core.base.compute import explain_out_of_memory
from nmt_core.base.errors import NmtError, is_out_of_memory
from nmt_core.base.interrupt import catch_stop_signals
from nmt_core.base.jobs import submit_ahead
from nmt_core.base.progress import Tracker, TrainingDisplay
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import Share
from nmt_core.models.weights import load_untied_state_dict, untied_state_dict
from nmt_core.training.checkpoint import (
    Checkpoint,
    CheckpointStore,
    collect_training_tensors,
    restore_training,
)
from nmt_core.training.distributed import ALONE, World, has_batch_statistics
from nmt_core.training.objective import EpochObjective, Objective
from nmt_core.training.optimizer import ExponentialMovingAverage, apply_gradients, build_optimizer
from nmt_core.training.progress import Point, Progress, judge_latest
from nmt_core.training.settings import Budget, ScheduleConfig

MAX_NAMED_PAIRS = 5
"""Maximum number of pairs named in an error message."""

MAX_SKIPPED = 3
"""Number of updates with infinite or undefined numbers at which training ends."""

PREFETCHED_BATCHES = 2
"""Number of batches that are prepared before their updates."""


@dataclass
class Trainer:
    """The training loop.

    Raises:
        ConfigError: if the model cannot be trained in several processes or passes.
    """

    objective: Objective[Any]
    optimizer: torch.optim.Optimizer
    schedule: ScheduleConfig
    budget: Budget
    checkpoints: CheckpointStore
    display: TrainingDisplay
    tracker: Tracker = field(default_factory=Tracker)
    world: World = ALONE
    accumulate: int = 1
    """Number of passes in which each process reads its share of a batch."""
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.model = self.objective.model
        self.world.subdivide(World(0, self.accumulate)).check(self.model)
        self._weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self._average = ExponentialMovingAverage(
            self._weights if self.world.is_main else [], self.objective.config.ema_decay
        )
        self._seconds = 0.0  # time spent in updates, waiting for batches included
        self._recent = 0.0, 0  # seconds and tokens since the last point of the curve
        self._learning_rate = 0.0
        self._too_large = 0.0  # padded tokens of the last pass that did not fit into memory

    def fit(self) -> Progress:
        """Train to the end, load the best weights in the first process, return the progress.

        Raises:
            SystemExit: after SIGTERM, SIGHUP or Ctrl-C, once a checkpoint is written; a second
                Ctrl-C exits without waiting.
            NmtError: if a third update has an infinite or undefined loss or gradient, or memory
                runs out, naming the batch, or if another process died or does not answer.
            BundleError: if the best model cannot be read.
        """
        self._resume()
        with catch_stop_signals() as signal_caught, self._prefetch_shares() as shares:
            while not self.progress.finished:
                began = time.monotonic()
                share = next(shares)
                self.train_step(share)
                self._count_time(time.monotonic() - began, share.target_tokens)
                if number := self._finish_step(signal_caught):
                    raise SystemExit(128 + number)
        if self.world.is_main:
            load_untied_state_dict(self.model, self.checkpoints.best().tensors)
        return self.progress

    @contextmanager
    def _prefetch_shares(self) -> Iterator[Iterator[Share[Any]]]:
        """Yield an iterator of this process's shares, prepared while earlier updates run.

        One thread starts, reads and closes the reading process, which dies with the thread that
        started it. Another thread that closed it could wait forever for a lock of the dead process.
        """
        shares = self.objective.start_from(
            self.progress.position, rank=self.world.rank, size=self.world.size
        )
        on_gpu = self.objective.compute.device.type == "cuda"

        def make() -> Share[Any]:
            share = next(shares)
            return replace(share, batch=share.batch.pinned()) if on_gpu else share

        with ThreadPoolExecutor(1) as pool:
            try:
                yield submit_ahead(
                    lambda _: pool.submit(make).result, repeat(None), PREFETCHED_BATCHES
                )
            finally:
                pool.submit(shares.close).result()

    def train_step(self, share: Share[Any]) -> None:
        """Make one optimizer update from this process's share of a batch."""
        progress, tokens, place = self.progress, share.target_tokens, self._place(share)
        done = self.budget.done(
            steps=progress.step + 1,
            tokens=progress.target_tokens + tokens,
            seconds=progress.seconds,
        )
        self._learning_rate = self.schedule.rate(progress.step, done)
        with explain_out_of_memory(f"at {place}", self.objective.memory_remedy):
            loss = self.world.sum_gradients(self._weights, self._accumulate(share, done))
            norm = apply_gradients(
                self._weights,
                self.optimizer,
                compute=self.objective.compute,
                learning_rate=self._learning_rate,
                max_norm=self.objective.config.max_gradient_norm,
            )
        if math.isfinite(loss.item() + norm):
            self._average.update(progress.step)
            progress.add_loss(loss.item(), share.predictions)
        else:
            self._skip(f"loss is {loss.item():g} and its gradient {norm:g} at {place}")
        progress.step += 1
        progress.position = share.after
        progress.target_tokens += tokens

    def _skip(self, fault: str) -> None:
        """Count an update that was not made; raise an NmtError if it is the last one allowed."""
        self.progress.skipped += 1
        fault += f" ({self.progress.skipped} of at most {MAX_SKIPPED} skipped updates)"
        if self.progress.skipped == MAX_SKIPPED:
            raise self._diverged(fault)
        self.display.note(f"the {fault}; this update is skipped")

    def _diverged(self, fault: str) -> NmtError:
        remedy = self.objective.loss_remedy
        return NmtError(f"the {fault}; the last checkpoint is kept: {remedy}")

    def _accumulate(self, share: Share[Any], done: float) -> Tensor:
        """Add the gradients of this process's share, in passes that fit into memory.

        Returns:
            The summed plain cross entropy of the share.
        """
        passes = self.accumulate
        while self._too_large and share.batch.size / passes >= self._too_large:
            passes *= 2
        while True:
            try:
                losses = [
                    self.forward_backward(part, done, World(n, passes))
                    for n, part in enumerate(share.split(passes))
                ]
            except (MemoryError, RuntimeError) as error:
                if not self._can_split(error, share, passes):
                    raise
            else:
                return losses[0] if len(losses) == 1 else torch.stack(losses).sum()
            self.optimizer.zero_grad(set_to_none=True)
            self._too_large = share.batch.size / passes
            passes *= 2

    def _can_split(self, error: Exception, share: Share[Any], passes: int) -> bool:
        """Return whether more passes can help after an error, and log the first such error."""
        if (
            not is_out_of_memory(error)
            or passes >= share.batch.rows
            or has_batch_statistics(self.model)
        ):
            return False
        if not self._too_large:
            self.display.note(
                f"a batch of {share.target_tokens:,} target tokens does not fit into memory; "
                f"batches of this size are read in more passes (see train.compute.accumulate)"
            )
        return True

    def forward_backward(self, share: Share[Any], done: float, passes: World = ALONE) -> Tensor:
        """Add the gradients of a part of a batch; return its summed plain cross entropy.

        ``done`` is the spent share of the budget. Each pass draws the random numbers that a process
        of a larger group would draw.
        """
        objective, step = self.objective, self.progress.step
        rank, device = self.world.subdivide(passes).seed_rank, objective.compute.device
        if not share.batch.rows:
            return torch.zeros((), device=device)
        batch = objective.prepare(share.batch.to(device), step, done, rank)
        objective.compute.seed(derive_seed(objective.seed, "dropout", step, *rank))
        with objective.compute.autocast():
            loss, nats = objective.compute_loss(replace(share, batch=batch), step)
        objective.compute.backward(loss)
        return nats.detach()

    def _count_time(self, seconds: float, tokens: int) -> None:
        """Add the time and tokens of an update."""
        self._seconds += seconds
        self._recent = self._recent[0] + seconds, self._recent[1] + tokens

    def _finish_step(self, signal_caught: Callable[[], int]) -> int:
        """Log, validate and save if due; return the signal that stops training, or 0."""
        number, self.progress.seconds = self.world.all_reduce_max(signal_caught(), self._seconds)
        if self.world.is_main and self.progress.step % self.objective.config.log_every == 0:
            self._log()
        if self._validation_is_due():
            self.progress.validated_seconds = self.progress.seconds
            self.world.run_on_main(self._validate)
            number, finished = self.world.all_reduce_max(signal_caught(), self.progress.finished)
            self.progress.finished = bool(finished)
        elif number:
            self.world.run_on_main(self._save)
        return 0 if self.progress.finished else int(number)

    def _place(self, share: Share[Any]) -> str:
        """Describe the step of an update and its pairs, for error messages."""
        position, more = self.progress.position, len(share.pairs) - MAX_NAMED_PAIRS
        pairs = ", ".join(map(str, share.pairs[:MAX_NAMED_PAIRS]))
        pairs += f" and {more} more" if more > 0 else ""
        batch = f"batch {position.batch + 1} of epoch {position.epoch + 1}"
        named_pairs = f" (training pairs {pairs})" if pairs else ""
        return f"step {self.progress.step + 1}, in {batch}{named_pairs}"

    def _log(self) -> None:
        progress, (seconds, tokens) = self.progress, self._recent
        self._recent = 0.0, 0
        loss = progress.add_curve_point(self._learning_rate)
        self.display.step(
            step=progress.step,
            tokens=progress.target_tokens,
            seconds=self._seconds,
            loss=loss,
            learning_rate=self._learning_rate,
        )
        self.tracker.metrics(
            {
                "train/loss": loss,
                "train/learning_rate": self._learning_rate,
                "train/epoch": progress.position.epoch,
                "train/seconds": self._seconds,
                "train/tokens_per_second": tokens / max(seconds, 1e-9),
            },
            step=progress.step,
        )

    def _validation_is_due(self) -> bool:
        """Return whether to validate: by the number of updates, the time, or the end."""
        progress, every = self.progress, self.objective.config.validate_every
        due_by_step = progress.step % every == 0 if every else progress.position.begins_epoch
        elapsed = progress.seconds - progress.validated_seconds
        due_by_time = elapsed >= self.budget.validation_seconds
        return due_by_step or due_by_time or progress.has_spent(self.budget)

    def _validate(self) -> None:
        progress = self.progress
        loss, scores, weights = self._measure()
        point = progress.add_point(self._learning_rate, loss, scores)
        is_best, is_out_of_patience = self._select()
        progress.finished = progress.has_spent(self.budget) or is_out_of_patience
        self.display.validation(point.row(), best=is_best)
        self.tracker.metrics(
            point.measures()
            | {"train/target_tokens": progress.target_tokens, "train/seconds": self._seconds},
            step=progress.step,
        )
        if is_best:
            progress.best_step = progress.step
            self.checkpoints.save_best(Checkpoint(weights, {}), step=progress.step)
        self._save()

    def _measure(self) -> tuple[float, dict[str, float], dict[str, Tensor]]:
        """Return the loss and the scores of a validation, and the validated weights."""
        objective, place = self.objective, f"step {self.progress.step}"
        remedy = objective.validation_remedy
        with self._average.swapped_in(), explain_out_of_memory(f"validating after {place}", remedy):
            self.model.eval()
            loss, scores = objective.validate()
            weights = {name: value.clone() for name, value in untied_state_dict(self.model).items()}
        self.model.train()
        if not math.isfinite(loss):
            raise self._diverged(f"validation loss is {loss} at {place}")
        return loss, scores, weights

    def _select(self) -> tuple[bool, bool]:
        """Return whether the last validation is the best, and whether patience has run out."""
        merits = [self.objective.judge(point) for point in self.progress.history]
        return judge_latest(merits, self.objective.config.patience)

    def _save(self) -> None:
        self.checkpoints.save(self._checkpoint(), step=self.progress.step)

    def _checkpoint(self) -> Checkpoint:
        tensors = collect_training_tensors(self.model, self.optimizer)
        tensors |= self._average.tensors() | self.objective.tensors()
        return Checkpoint(tensors, self.progress.model_dump(mode="json"))

    def _resume(self) -> None:
        self.model.train()
        checkpoint = self.checkpoints.newest() if self.world.is_main else None
        for problem in self.checkpoints.rejected:
            self.display.note(f"{problem}; continuing from the previous checkpoint")
        if checkpoint is not None:
            self.display.note(f"continuing from step {checkpoint.progress['step']}")
        if self.world.size > 1:
            checkpoint = self.world.broadcast_checkpoint(checkpoint or self._checkpoint())
        if checkpoint is None:
            return
        self.progress = settings.build(Progress, checkpoint.progress, at="progress")
        self._seconds = self.progress.seconds
        if self.progress.finished:  # perhaps with a smaller budget
            spent = self.progress.has_spent(self.budget)
            self.progress.finished = spent or self._select()[1]
        restore_training(self.model, self.optimizer, checkpoint.tensors)
        self._average.restore(checkpoint.tensors)
        self.objective.restore(checkpoint.tensors)


def train_epochs(
    objective: EpochObjective[Any], *, checkpoints: Path, display: Callable[[int], TrainingDisplay]
) -> list[Point]:
    """Train to the end, load the best weights, and return the results of all validations.

    ``checkpoints`` is a folder for this training only; training continues from its checkpoints.
    """
    config = objective.config
    steps = sum(objective.count_steps(epoch) for epoch in range(config.epochs))
    trainer = Trainer(
        objective=objective,
        optimizer=build_optimizer(objective.model, config.optimizer),
        schedule=config.schedule,
        # the schedule ends one step later, because a last update at rate 0 would be useless
        budget=Budget(steps=steps + 1, epochs=config.epochs),
        checkpoints=CheckpointStore(checkpoints),
        display=display(steps),
    )
    return trainer.fit().history
