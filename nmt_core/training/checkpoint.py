"""All that training needs to continue as if it had never stopped, on disk.

A checkpoint is one safetensors file (weights, optimizer, averages, as tensors) and one JSON file
written after it, which holds the rest, the digest of the tensors, and its own. A checkpoint without
its JSON file was interrupted while it was written and does not count; one whose digests differ, or
whose best model's do, was damaged, and the one before it is taken.

A checkpoint names the best model up to it. So what a training leaves behind that lost its future,
as by a power cut between a best model and its checkpoint, is never taken for its own.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from nmt_core.base import config, files
from nmt_core.base.errors import BundleError, NmtError
from nmt_core.models.weights import load_untied_state_dict, untied_state_dict
from nmt_core.training.progress import Progress
from nmt_core.training.settings import Budget

FORMAT = 3
"""Counts up when a program that knows the old number could not read the new one."""

_NAME = re.compile(r"(?:step|best)-(\d{8,})")


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a training."""

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]
    """Whatever JSON holds exactly: step, position, histories."""


class CheckpointStore:
    """Keeps the newest checkpoints of one training, and the best model of each.

    Args:
        folder: belongs to one training; its name is the training's fingerprint.
        keep: newest checkpoints to keep.
    """

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep
        self.rejected: list[str] = []
        """What ``newest`` could not use, as sentences."""
        self._best: int | None = None

    def save(self, checkpoint: Checkpoint, *, step: int) -> None:
        """Write a checkpoint whole, then remove what is no longer needed.

        Raises:
            BundleError: if the disk refuses; what was there before is still there.
        """
        self._write(f"step-{step:08d}", checkpoint)
        self._tidy(step)

    def save_best(self, checkpoint: Checkpoint, *, step: int) -> None:
        """Write the best model so far; the next checkpoint names it, and outdates the one before.

        Raises:
            BundleError: if the disk refuses; what was there before is still there.
        """
        self._write(f"best-{step:08d}", checkpoint)
        self._best = step

    @property
    def is_empty(self) -> bool:
        """Whether there is no checkpoint, not even a damaged one."""
        return not self._names()

    def newest(
        self, suits: Callable[[Mapping[str, Any]], bool] = lambda _: True
    ) -> Checkpoint | None:
        """Return the newest checkpoint that is intact and suits, or None if there never was one.

        Args:
            suits: tells by the progress of a checkpoint whether it is one to return.

        Raises:
            BundleError: if those that there are, are damaged: training never starts from
                scratch silently.
        """
        for name in self._names():
            try:
                if not suits(self._record(name)["progress"]):
                    continue
                best = self._intact(name)["best"]
                if best is not None:
                    self._intact(f"best-{best:08d}")
            except BundleError as error:
                self.rejected.append(str(error))
                continue
            self._best = best
            return self._read(name)
        if self.rejected:
            raise BundleError(
                f"all checkpoints in {self.folder} are damaged ({'; '.join(self.rejected)}); "
                f"restore one, or delete the folder to train from the beginning"
            )
        return None

    def best(self) -> Checkpoint:
        """Return the best model up to the checkpoint that was read or written last.

        Raises:
            BundleError: if there is none, or it was damaged.
        """
        if self._best is None:
            raise BundleError(f"{self.folder} holds no best model; train again")
        return self._read(f"best-{self._best:08d}")

    def _names(self) -> list[str]:
        """Names of complete checkpoints, newest first."""
        return sorted((path.stem for path in self.folder.glob("step-*.json")), reverse=True)

    def _record(self, name: str) -> Any:
        """Return what a JSON file holds beside its own digest.

        Raises:
            BundleError: if it is not as it was written.
        """
        try:
            sealed = files.read_json(self.folder / f"{name}.json")
            version, digest, record = sealed["format"], sealed.get("sha256"), sealed.get("record")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BundleError(f"{name} cannot be read ({error})") from None
        if version != FORMAT:
            raise BundleError(f"{name} is of format {version}, this program reads {FORMAT}")
        if digest != _digest(record):
            raise BundleError(f"{name}.json was altered since it was written")
        return record

    def _intact(self, name: str) -> Any:
        """Return what the JSON file holds, once the tensors, too, are known to be as written.

        Raises:
            BundleError: if they are not.
        """
        record, tensors = self._record(name), self.folder / f"{name}.safetensors"
        try:
            digest = files.sha256(tensors)
        except OSError as error:
            raise BundleError(f"{tensors.name} cannot be read ({error.strerror})") from None
        if digest != record["sha256"]:
            raise BundleError(f"{tensors.name} was altered since it was written")
        return record

    def _read(self, name: str) -> Checkpoint:
        progress = self._intact(name)["progress"]
        return Checkpoint(load_file(self.folder / f"{name}.safetensors"), progress)

    def _write(self, name: str, checkpoint: Checkpoint) -> None:
        tensors = self.folder / f"{name}.safetensors"
        try:
            with files.whole_file(tensors) as part:
                save_file(dict(checkpoint.tensors), part)
                digest = files.sha256(part)
            record = {"sha256": digest, "best": self._best, "progress": dict(checkpoint.progress)}
            sealed = {"format": FORMAT, "sha256": _digest(record), "record": record}
            # floats survive JSON exactly; infinities do not, and progress holds none
            files.write_text(self.folder / f"{name}.json", json.dumps(sealed, allow_nan=False))
        except NmtError as error:
            raise BundleError(f"{error}: training continues from the checkpoint before") from None

    def _tidy(self, step: int) -> None:
        """Remove what the newest checkpoints up to a step do without, and parts of dead processes.

        What lies beyond the step stays: another process may train the same, and be ahead.
        """
        kept = [name for name in self._names() if 0 <= _step_of(name) <= step][: self.keep]
        bests = set()
        for name in kept:
            with suppress(BundleError):  # a damaged one
                bests.add(f"best-{self._record(name)['best'] or 0:08d}")
        present = {path.stem for path in self.folder.iterdir() if path.suffix != ".part"}
        outdated = {name for name in present if 0 <= _step_of(name) <= step} - {*kept, *bests}
        for name in sorted(outdated, reverse=True):  # a checkpoint before the best that it names
            self._remove(name)
        files.sweep(self.folder)

    def _remove(self, name: str) -> None:
        # the JSON file goes first: without it the tensors do not count
        for suffix in (".json", ".safetensors"):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)


def _step_of(name: str) -> int:
    """Return the step in a name, or -1 if it is none of ours."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else -1


def _digest(record: Any) -> str:
    """Return the SHA-256 digest of what JSON holds, however it is spaced."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def training_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return weights and optimizer state under flat names; nothing is copied."""
    tensors = {f"model.{name}": value for name, value in untied_state_dict(model).items()}
    for number, entries in optimizer.state_dict()["state"].items():
        for name, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
    return tensors


def restore_training(model: nn.Module, optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Bring back what ``training_tensors`` gave; other tensors are left alone.

    Raises:
        BundleError: if the weights are not those of this model.
    """
    weights: dict[str, Tensor] = {}
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        part, _, rest = name.partition(".")
        if part == "model":
            weights[rest] = value
        elif part == "optimizer":
            number, key = rest.split(".", 1)
            entries.setdefault(int(number), {})[key] = value
    load_untied_state_dict(model, weights)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": entries})


def prolong(
    store: CheckpointStore,
    others: Iterable[CheckpointStore],
    *,
    budget: Budget,
    validate_every: int,
) -> tuple[CheckpointStore, int] | None:
    """Put the farthest checkpoint of other trainings, and its best model, into an empty store.

    It is one that a training with ``budget`` passes on its way from the beginning, so that both end
    in the same bytes. This holds where no update depends on the budget.

    Args:
        store: where the training continues from.
        others: checkpoints of trainings that differ in nothing but their budget.
        budget: ends the training.
        validate_every: updates between two validations, in all of them.

    Returns:
        Whose checkpoint it was, and its step; None if there is none to go on from.

    Raises:
        BundleError: if the disk refuses.
    """
    passes = partial(is_passed, budget=budget, validate_every=validate_every)
    found: list[tuple[CheckpointStore, Checkpoint]] = []
    for other in others:
        with suppress(BundleError):  # those that would do are damaged
            if passed := other.newest(passes):
                found.append((other, passed))
    farthest = max(found, key=lambda pair: pair[1].progress["step"], default=None)
    if farthest is None:
        return None
    other, checkpoint = farthest
    if (best := checkpoint.progress["best_step"]) is not None:
        store.save_best(other.best(), step=best)
    store.save(checkpoint, step=(step := checkpoint.progress["step"]))
    return other, step


def is_passed(values: Mapping[str, Any], *, budget: Budget, validate_every: int) -> bool:
    """Tell whether a training with ``budget`` comes to where another one was, and goes on.

    It does not come to where the other one validated because its own budget was spent, or a part of
    its seconds was; how far seconds lead is never the same, so a budget of them goes on from there.
    """
    progress = config.build(Progress, values, at="progress")
    regular = all(point.step % validate_every == 0 for point in progress.history)
    return (regular or budget.seconds is not None) and not progress.has_spent(budget)
