"""Checkpoints, from which training continues exactly as if it had not stopped.

A checkpoint is a safetensors file with the weights, optimizer state and averages, and a JSON file
with the progress and the digests of both files. The JSON file is written last, so a checkpoint
without it was interrupted and is ignored. If a digest of a checkpoint or of its best model differs,
the checkpoint is damaged and training continues from the previous one.

A checkpoint names the best model so far. So a best model that was saved just before a crash, after
the last checkpoint, is never mistaken for the best model of the resumed training.
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
"""Version of the file format, increased when an older program could not read the new files."""

_NAME = re.compile(r"(?:step|best)-(\d{8,})")


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training after some step."""

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]
    """Step, position and histories, as values that JSON stores exactly."""


class CheckpointStore:
    """The newest checkpoints of one training, and their best models.

    Args:
        folder: folder of one training, named by the training's fingerprint.
        keep: number of checkpoints to keep.
    """

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep
        self.rejected: list[str] = []
        """Why ``newest`` skipped checkpoints, one message for each."""
        self._best: int | None = None

    def save(self, checkpoint: Checkpoint, *, step: int) -> None:
        """Write a checkpoint, then remove outdated files.

        Raises:
            BundleError: if writing fails; earlier checkpoints are kept.
        """
        self._write(f"step-{step:08d}", checkpoint)
        self._remove_outdated(step)

    def save_best(self, checkpoint: Checkpoint, *, step: int) -> None:
        """Write the best model so far, which the next checkpoint names.

        Raises:
            BundleError: if writing fails; earlier files are kept.
        """
        self._write(f"best-{step:08d}", checkpoint)
        self._best = step

    @property
    def is_empty(self) -> bool:
        """Whether there is no checkpoint, intact or damaged."""
        return not self._names()

    def newest(
        self, accepts: Callable[[Mapping[str, Any]], bool] = lambda _: True
    ) -> Checkpoint | None:
        """Return the newest intact checkpoint that is accepted, or None if there is none.

        Args:
            accepts: returns whether to consider a checkpoint, given its progress.

        Raises:
            BundleError: if all these checkpoints are damaged; training must not restart silently.
        """
        for name in self._names():
            try:
                if not accepts(self._record(name)["progress"]):
                    continue
                best = self._verified_record(name)["best"]
                if best is not None:
                    self._verified_record(f"best-{best:08d}")
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
        """Return the best model of the checkpoint that was read or written last.

        Raises:
            BundleError: if there is no best model, or it is damaged.
        """
        if self._best is None:
            raise BundleError(f"{self.folder} has no best model; train again")
        return self._read(f"best-{self._best:08d}")

    def _names(self) -> list[str]:
        """Return the names of complete checkpoints, newest first."""
        return sorted((path.stem for path in self.folder.glob("step-*.json")), reverse=True)

    def _record(self, name: str) -> Any:
        """Return the content of a JSON file, without format and digest.

        Raises:
            BundleError: if the file cannot be read, or was altered.
        """
        try:
            sealed = files.read_json(self.folder / f"{name}.json")
            version, digest, record = sealed["format"], sealed.get("sha256"), sealed.get("record")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BundleError(f"{name} cannot be read ({error})") from None
        if version != FORMAT:
            raise BundleError(f"{name} has format {version}, this version reads {FORMAT}")
        if digest != _digest(record):
            raise BundleError(f"{name}.json was altered since it was written")
        return record

    def _verified_record(self, name: str) -> Any:
        """Return the content of a JSON file after a check of the tensors' digest.

        Raises:
            BundleError: if a file cannot be read, or was altered.
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
        progress = self._verified_record(name)["progress"]
        return Checkpoint(load_file(self.folder / f"{name}.safetensors"), progress)

    def _write(self, name: str, checkpoint: Checkpoint) -> None:
        tensors = self.folder / f"{name}.safetensors"
        try:
            with files.whole_file(tensors) as part:
                save_file(dict(checkpoint.tensors), part)
                digest = files.sha256(part)
            record = {"sha256": digest, "best": self._best, "progress": dict(checkpoint.progress)}
            sealed = {"format": FORMAT, "sha256": _digest(record), "record": record}
            # JSON stores finite floats exactly
            files.write_text(self.folder / f"{name}.json", json.dumps(sealed, allow_nan=False))
        except NmtError as error:
            raise BundleError(f"{error}: training continues from the last checkpoint") from None

    def _remove_outdated(self, step: int) -> None:
        """Remove outdated files up to a step, and partial files of dead processes.

        Files of later steps stay, because another process may run the same training and be ahead.
        """
        kept = [name for name in self._names() if 0 <= _step_of(name) <= step][: self.keep]
        bests = set()
        for name in kept:
            with suppress(BundleError):  # a damaged checkpoint
                bests.add(f"best-{self._record(name)['best'] or 0:08d}")
        present = {path.stem for path in self.folder.iterdir() if path.suffix != ".part"}
        outdated = {name for name in present if 0 <= _step_of(name) <= step} - {*kept, *bests}
        for name in sorted(outdated, reverse=True):  # a checkpoint before its best model
            self._remove(name)
        files.sweep(self.folder)

    def _remove(self, name: str) -> None:
        # the JSON file first, so that an interruption leaves no damaged checkpoint
        for suffix in (".json", ".safetensors"):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)


def _step_of(name: str) -> int:
    """Return the step in a file name, or -1 for the name of another file."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else -1


def _digest(record: Any) -> str:
    """Return the SHA-256 digest of a JSON value, regardless of white space and order of keys."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def collect_training_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return weights and optimizer state under flat names, without copies."""
    tensors = {f"model.{name}": value for name, value in untied_state_dict(model).items()}
    for number, entries in optimizer.state_dict()["state"].items():
        for name, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
    return tensors


def restore_training(model: nn.Module, optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the state that ``collect_training_tensors`` returned; ignore other tensors.

    Raises:
        BundleError: if the weights do not match the model.
    """
    weights: dict[str, Tensor] = {}
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        owner, _, key = name.partition(".")
        if owner == "model":
            weights[key] = value
        elif owner == "optimizer":
            number, key = key.split(".", 1)
            entries.setdefault(int(number), {})[key] = value
    load_untied_state_dict(model, weights)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": entries})


def adopt_checkpoint(
    store: CheckpointStore,
    candidates: Iterable[CheckpointStore],
    *,
    budget: Budget,
    validate_every: int,
) -> tuple[CheckpointStore, int] | None:
    """Copy the farthest usable checkpoint of other trainings, and its best model, into a store.

    A checkpoint is usable if a training with ``budget`` would reach the same state from the
    beginning. This requires that no update depends on the budget.

    Args:
        store: the empty store from which the training will continue.
        candidates: checkpoints of trainings that differ only in their budget.
        budget: budget of the new training.
        validate_every: updates between two validations, the same in all trainings.

    Returns:
        The store that the checkpoint comes from, and its step; None if no checkpoint is usable.

    Raises:
        BundleError: if writing fails.
    """
    accepts = partial(is_on_path, budget=budget, validate_every=validate_every)
    usable: list[tuple[CheckpointStore, Checkpoint]] = []
    for candidate in candidates:
        with suppress(BundleError):  # all usable checkpoints of this candidate are damaged
            if checkpoint := candidate.newest(accepts):
                usable.append((candidate, checkpoint))
    farthest = max(usable, key=lambda pair: pair[1].progress["step"], default=None)
    if farthest is None:
        return None
    origin, checkpoint = farthest
    if (best := checkpoint.progress["best_step"]) is not None:
        store.save_best(origin.best(), step=best)
    store.save(checkpoint, step=(step := checkpoint.progress["step"]))
    return origin, step


def is_on_path(values: Mapping[str, Any], *, budget: Budget, validate_every: int) -> bool:
    """Return whether a training with ``budget`` would reach this progress, and continue.

    A training with another budget would not repeat a validation that was due only because that
    budget, or a part of its seconds, was spent. A budget in seconds accepts such a progress.
    """
    progress = config.build(Progress, values, at="progress")
    regular = all(point.step % validate_every == 0 for point in progress.history)
    return (regular or budget.seconds is not None) and not progress.has_spent(budget)
