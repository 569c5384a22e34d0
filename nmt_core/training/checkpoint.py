"""All that training needs to continue as if it had never stopped, on disk.

A checkpoint is one safetensors file (weights, optimizer, averages, as tensors) and one JSON file
written after it, which holds the rest and the digest of the tensors. A checkpoint without its JSON
file was interrupted while it was written and does not count; one whose digest differs was damaged,
and the one before it is taken.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from nmt_core import files
from nmt_core.errors import CheckpointError
from nmt_core.models.weights import own_tensors

FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a training."""

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]
    """Whatever JSON holds exactly: step, position, histories."""


class CheckpointStore:
    """Keeps the newest checkpoints of one training, and its best.

    Args:
        folder: belongs to one training; its name is the training's fingerprint.
        keep: newest checkpoints to keep.
    """

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep
        self.rejected: list[str] = []
        """What :meth:`newest` could not use, as sentences."""

    def save(self, checkpoint: Checkpoint, *, step: int) -> None:
        """Write a checkpoint whole, then remove those that are no longer needed.

        Raises:
            CheckpointError: if the disk refuses; what was there before is still there.
        """
        self._write(f"step-{step:08d}", checkpoint)
        for name in self._names()[self.keep :]:
            self._remove(name)

    def save_best(self, checkpoint: Checkpoint, *, step: int) -> None:
        """Write the best model so far beside the newest checkpoints.

        Its name holds the step, so that a crash leaves the best before it untouched.
        """
        self._write(f"best-{step:08d}", checkpoint)
        for name in self._names("best")[1:]:
            self._remove(name)

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint that is intact, or None if there never was one.

        Raises:
            CheckpointError: if there are checkpoints and all are damaged: training never starts
                from scratch silently.
        """
        return self._intact("step")

    def best(self, *, at_most: int | None = None) -> Checkpoint | None:
        """Return the best model saved up to a step, or None if there never was one."""
        return self._intact("best", at_most=at_most)

    def _intact(self, kind: str, *, at_most: int | None = None) -> Checkpoint | None:
        names = self._names(kind)
        if at_most is not None:
            names = [name for name in names if int(name.split("-")[1]) <= at_most]
        for name in names:
            problem = self._problem(name)
            if problem is None:
                return self._read(name)
            self.rejected.append(problem)
        if names:
            raise CheckpointError(
                f"all checkpoints in {self.folder} are damaged ({'; '.join(self.rejected)}); "
                f"restore one, or delete the folder to train from the beginning"
            )
        return None

    def _names(self, kind: str = "step") -> list[str]:
        """Names of complete checkpoints, newest first."""
        return sorted((path.stem for path in self.folder.glob(f"{kind}-*.json")), reverse=True)

    def _problem(self, name: str) -> str | None:
        tensors = self.folder / f"{name}.safetensors"
        try:
            entry = files.read_json(self.folder / f"{name}.json")
            if entry["format"] != FORMAT:
                return f"{name} is of format {entry['format']}, this program reads {FORMAT}"
            if files.sha256(tensors) != entry["sha256"]:
                return f"{tensors.name} was altered since it was written"
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"{name} cannot be read ({error})"
        return None

    def _read(self, name: str) -> Checkpoint:
        entry = files.read_json(self.folder / f"{name}.json")
        return Checkpoint(load_file(self.folder / f"{name}.safetensors"), entry["progress"])

    def _write(self, name: str, checkpoint: Checkpoint) -> None:
        tensors = self.folder / f"{name}.safetensors"
        try:
            with files.whole_file(tensors) as part:
                save_file(dict(checkpoint.tensors), part)
                digest = files.sha256(part)
            entry = {"format": FORMAT, "sha256": digest, "progress": dict(checkpoint.progress)}
            # floats survive JSON exactly; infinities do not, and progress holds none
            files.write_text(self.folder / f"{name}.json", json.dumps(entry, allow_nan=False))
        except OSError as error:
            raise CheckpointError(
                f"{tensors} could not be written ({error.strerror}); free space and type the same "
                f"command again: training continues from the checkpoint before"
            ) from None

    def _remove(self, name: str) -> None:
        # the JSON file goes first: without it the tensors do not count
        for suffix in (".json", ".safetensors"):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)


def training_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return weights and optimizer state under flat names; nothing is copied."""
    tensors = {f"model.{name}": value for name, value in own_tensors(model).items()}
    for number, entries in optimizer.state_dict()["state"].items():
        for name, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
    return tensors


def restore(model: nn.Module, optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Bring back what :func:`training_tensors` gave; other tensors are left alone."""
    weights: dict[str, Tensor] = {}
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        part, _, rest = name.partition(".")
        if part == "model":
            weights[rest] = value
        elif part == "optimizer":
            number, key = rest.split(".", 1)
            entries.setdefault(int(number), {})[key] = value
    model.load_state_dict(weights, strict=False)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": entries})
