"""The training loop: one update at a time, resumable to the bit.

An ``Objective`` has the data and the loss; what a step does is a function of the weights
before it, the seed and its number. A checkpoint therefore holds weights, optimizer state, averages,
the state of the objective and a ``Progress``, and a training continued from it ends in the
same bytes as one that was never interrupted (on the same processor, with the same number of
threads).

Several processes that train one model run this loop together, update by update (see
``distributed.py``); the first one alone reads and writes, shows and validates.
"""

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
from nmt_core.base.errors import is_out_of_memory
from nmt_core.base.interrupt import catch_stop_signals
from nmt_core.base.jobs import submit_ahead
from nmt_core.base.progress import Tracker, TrainingDisplay
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import Share
from nmt_core.models.weights import load_untied_state_dict, untied_state_dict
from nmt_core.training.checkpoint import (
    Checkpoint,
    CheckpointStore,
    restore_training,
    training_tensors,
)
from nmt_core.training.distributed import ALONE, World, measures_batches
from nmt_core.training.objective import EpochObjective, Objective
from nmt_core.training.optimizer import (
    ExponentialMovingAverage,
    apply_gradients,
    build_optimizer,
    require_finite,
)
from nmt_core.training.progress import Point, Progress, select
from nmt_core.training.settings import Budget, ScheduleConfig

PAIRS_NAMED = 5
"""Maximum number of pairs named in an error message."""

AHEAD = 2
"""Number of batches that are made before their updates."""


@dataclass
class Trainer:
    """The loop and what it works with.

    Raises:
        ConfigError: if several processes, or several passes, cannot train this model.
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
    """Passes in which each process reads its share of a batch."""
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.model = self.objective.model
        self.world.part(World(0, self.accumulate)).check(self.model)
        self._weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self._average = ExponentialMovingAverage(
            self._weights if self.world.is_main else [], self.objective.config.ema_decay
        )
        self._seconds = 0.0  # time spent in updates, from asking for a batch to its last loss
        self._recent = 0.0, 0  # seconds and tokens since the last point of the curve
        self._learning_rate = 0.0
        self._largest = 0.0  # padded tokens of a pass that is known not to fit into memory
        self._unread_losses: list[tuple[Tensor, int, str]] = []

    def fit(self) -> Progress:
        """Train until done; return where it ended, the best weights in the first process's model.

        Raises:
            SystemExit: after SIGTERM, SIGHUP or Ctrl-C, once a checkpoint is written; another
                Ctrl-C, a second later, does not wait for it.
            NmtError: if the loss is not a number or memory runs out, naming the batch, or if
                another process has died or does not answer.
            BundleError: if the best model cannot be read back.
        """
        self._resume()
        with catch_stop_signals() as signal_caught, self._make_shares_ahead() as shares:
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
    def _make_shares_ahead(self) -> Iterator[Iterator[Share[Any]]]:
        """Give this process's shares of the batches, made while updates before them run.

        One thread makes them from begin to end: a process that reads them is killed with the thread
        that started it, and whoever ends it afterwards may wait for ever for a lock that it held.
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
                yield submit_ahead(lambda _: pool.submit(make).result, repeat(None), AHEAD)
            finally:
                pool.submit(shares.close).result()

    def train_step(self, share: Share[Any]) -> None:
        """Make one optimizer update from a batch, of which this process reads its share."""
        progress, tokens, place = self.progress, share.target_tokens, self._place(share)
        done = self.budget.done(
            steps=progress.step + 1,
            tokens=progress.target_tokens + tokens,
            seconds=progress.seconds,
        )
        self._learning_rate = self.schedule.rate(progress.step, done)
        with explain_out_of_memory(f"at {place}", self.objective.memory_remedy):
            loss = self.world.sum_gradients(self._weights, self._accumulate(share, done))
            apply_gradients(
                self._weights,
                self.optimizer,
                compute=self.objective.compute,
                learning_rate=self._learning_rate,
                max_norm=self.objective.config.max_gradient_norm,
            )
            self._average.update(progress.step)
        self._unread_losses.append((loss, share.predictions, place))
        self._read_losses(leave=1)
        progress.step += 1
        progress.position = share.after
        progress.target_tokens += tokens

    def _accumulate(self, share: Share[Any], done: float) -> Tensor:
        """Add this process's share to the gradients in passes that fit into memory.

        Returns:
            Its part of the plain cross entropy, summed.
        """
        passes = self.accumulate
        while self._largest and share.batch.size / passes >= self._largest:
            passes *= 2
        while True:
            try:
                parts = [
                    self.forward_backward(part, done, World(n, passes))
                    for n, part in enumerate(share.split(passes))
                ]
            except (MemoryError, RuntimeError) as error:
                if not self._may_split(error, share, passes):
                    raise
            else:
                return parts[0] if len(parts) == 1 else torch.stack(parts).sum()
            self.optimizer.zero_grad(set_to_none=True)
            self._largest = share.batch.size / passes
            passes *= 2

    def _may_split(self, error: Exception, share: Share[Any], passes: int) -> bool:
        """Tell whether a batch may fit into memory in more passes, and say so once."""
        if (
            not is_out_of_memory(error)
            or passes >= share.batch.rows
            or measures_batches(self.model)
        ):
            return False
        if not self._largest:
            self.display.note(
                f"a batch of {share.target_tokens:,} target tokens does not fit into memory; it, "
                f"and others of its size, are read in more passes (train.compute.accumulate)"
            )
        return True

    def forward_backward(self, share: Share[Any], done: float, passes: World = ALONE) -> Tensor:
        """Add a part of a batch to the gradients; return that of the plain cross entropy, summed.

        ``done`` is the share of the budget that is used. A pass of this process draws what one of
        so many times more processes would.
        """
        objective, step = self.objective, self.progress.step
        rank, device = self.world.part(passes).seed_rank, objective.compute.device
        if not share.batch.rows:
            return torch.zeros((), device=device)
        batch = objective.prepare(share.batch.to(device), step, done, rank)
        objective.compute.seed(derive_seed(objective.seed, "dropout", step, *rank))
        with objective.compute.autocast():
            loss, nats = objective.compute_loss(replace(share, batch=batch), step)
        objective.compute.backward(loss)
        return nats.detach()

    def _count_time(self, seconds: float, tokens: int) -> None:
        """Count the time of an update that read so many tokens."""
        self._seconds += seconds
        self._recent = self._recent[0] + seconds, self._recent[1] + tokens

    def _finish_step(self, signal_caught: Callable[[], int]) -> int:
        """Log, validate and save what is due; return the signal at which to stop, or 0."""
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
        """Describe the place of an update, and the pairs that it reads."""
        position, more = self.progress.position, len(share.pairs) - PAIRS_NAMED
        pairs = ", ".join(map(str, share.pairs[:PAIRS_NAMED]))
        pairs += f" and {more} more" if more > 0 else ""
        place = f"batch {position.batch + 1} of epoch {position.epoch + 1}"
        named = f" (training pairs {pairs})" if pairs else ""
        return f"step {self.progress.step + 1}, in {place}{named}"

    def _read_losses(self, *, leave: int) -> None:
        """Read the losses of all steps but the last ``leave``, which a GPU may still compute."""
        while len(self._unread_losses) > leave:
            loss, count, place = self._unread_losses.pop(0)
            value = require_finite(loss.item(), place=place, remedy=self.objective.loss_remedy)
            self.progress.add_loss(value, count)

    def _log(self) -> None:
        self._read_losses(leave=0)
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
        """Tell whether updates ask for it, or the clock since the last one, or the budget's end."""
        progress, every = self.progress, self.objective.config.validate_every
        regular = progress.step % every == 0 if every else progress.position.begins_epoch
        waited = progress.seconds - progress.validated_seconds
        timed = waited >= self.budget.validation_seconds
        return regular or timed or progress.has_spent(self.budget)

    def _validate(self) -> None:
        self._read_losses(leave=0)
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
        lower = objective.validation_remedy
        with self._average.swapped_in(), explain_out_of_memory(f"validating after {place}", lower):
            self.model.eval()
            loss, scores = objective.validate()
            weights = {name: value.clone() for name, value in untied_state_dict(self.model).items()}
        self.model.train()
        require_finite(loss, name="validation loss", place=place, remedy=objective.loss_remedy)
        return loss, scores, weights

    def _select(self) -> tuple[bool, bool]:
        """Tell whether the last validation is the best, and whether patience is at its end."""
        merits = [self.objective.judge(point) for point in self.progress.history]
        return select(merits, self.objective.config.patience)

    def _save(self) -> None:
        self._read_losses(leave=0)
        self.checkpoints.save(self._checkpoint(), step=self.progress.step)

    def _checkpoint(self) -> Checkpoint:
        tensors = training_tensors(self.model, self.optimizer)
        tensors |= self._average.tensors() | self.objective.tensors()
        return Checkpoint(tensors, self.progress.model_dump(mode="json"))

    def _resume(self) -> None:
        self.model.train()
        checkpoint = self.checkpoints.newest() if self.world.is_main else None
        for problem in self.checkpoints.rejected:
            self.display.note(f"{problem}; continuing from the checkpoint before it")
        if checkpoint is not None:
            self.display.note(f"continuing from step {checkpoint.progress['step']}")
        if self.world.size > 1:
            checkpoint = self.world.broadcast_checkpoint(checkpoint or self._checkpoint())
        if checkpoint is None:
            return
        self.progress = settings.build(Progress, checkpoint.progress, at="progress")
        self._seconds = self.progress.seconds
        if self.progress.finished:  # where another budget was spent, perhaps
            spent = self.progress.has_spent(self.budget)
            self.progress.finished = spent or self._select()[1]
        restore_training(self.model, self.optimizer, checkpoint.tensors)
        self._average.restore(checkpoint.tensors)
        self.objective.restore(checkpoint.tensors)


def train_epochs(
    objective: EpochObjective[Any],
    *,
    checkpoints: Path,
    display: Callable[[int], TrainingDisplay],
) -> list[Point]:
    """Train to the end, load the best weights, return the points of all validations.

    ``checkpoints`` is a folder of this training alone; those that it holds are continued.
    """
    config = objective.config
    steps = sum(objective.count_steps(epoch) for epoch in range(config.epochs))
    trainer = Trainer(
        objective=objective,
        optimizer=build_optimizer(objective.model, config.optimizer),
        schedule=config.schedule,
        # the end of a schedule comes after the last update, which is lost at a rate of 0
        budget=Budget(steps=steps + 1, epochs=config.epochs),
        checkpoints=CheckpointStore(checkpoints),
        display=display(steps),
    )
    return trainer.fit().history
