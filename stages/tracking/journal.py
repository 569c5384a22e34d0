"""Append-only journal of a run's metrics and artifacts."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from nmt_core.base import files
from stages import paths

Entry = dict[str, Any]

TRAINING_METRICS = ("train/", "validation/")
"""Prefixes of the metrics that a training records by step."""

PARENT = "nmt.parent"
"""The tag with the fingerprint of a run's parent in MLflow."""

BUNDLE_DIGEST = "bundle_sha256"
"""The tag with the digest of a registered version's exported model."""

DESCRIPTION_CHARACTERS = 5000
"""Maximum number of characters of a description in MLflow's databases."""


class Journal:
    """The journal of one run, with one JSON object per line."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.folder = paths.RUNS / fingerprint
        self.path = self.folder / "journal.jsonl"

    def append(self, kind: str, **content: Any) -> None:
        """Append an entry, by default with the current time; a crash can damage only this entry."""
        entry = {"kind": kind, **content}
        entry.setdefault("milliseconds", time.time_ns() // 1_000_000)
        line = json.dumps(entry, default=str).encode() + b"\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+", buffering=0) as file:
            torn = False
            if file.tell():
                file.seek(-1, os.SEEK_END)
                torn = file.read(1) != b"\n"
            file.write(b"\n" * torn + line)  # in one call, so that processes do not mix entries

    def keep(self, path: Path) -> str:
        """Copy a file or folder; return the path of the copy, relative to ``folder``."""
        kept_path = Path("artifacts") / _digest(path)[:16]
        if not (self.folder / kept_path).exists():
            with files.whole_folder(self.folder / kept_path) as part:
                copy = shutil.copytree if path.is_dir() else shutil.copy
                copy(path, part / path.name)
        return (kept_path / path.name).as_posix()

    def read(self, offset: int = 0) -> tuple[list[Entry], int]:
        """Return the entries from a byte offset on, and the offset of the next entry."""
        with self.path.open("rb") as file:
            file.seek(offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        return list(_parsed(whole.split(b"\n"))), offset + len(whole) + len(newline)

    def take_over(self, other: "Journal", *, until: int) -> None:
        """Copy another run's metrics of training steps, up to a step."""
        entries, _ = other.read() if other.path.exists() else ([], 0)
        for entry in entries:
            are_training = [name.startswith(TRAINING_METRICS) for name in entry.get("values", [])]
            if entry["kind"] == "metrics" and all(are_training) and entry["step"] <= until:
                self.append(**entry)

    def last(self, metric: str) -> float | None:
        """Return the last value of a metric; None without one."""
        entries, _ = self.read() if self.path.exists() else ([], 0)
        measured = (entry["values"] for entry in entries if entry["kind"] == "metrics")
        values = [each[metric] for each in measured if metric in each]
        return values[-1] if values else None

    def held(self) -> AbstractContextManager[None]:
        """Return the lock for sending the journal."""
        return files.locked(self.path)


def _parsed(lines: list[bytes]) -> Iterator[Entry]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:  # cut short by a crash
            continue


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and files below a folder."""
    inside = sorted(file for file in (path, *path.rglob("*")) if file.is_file())
    listing = [f"{file.relative_to(path.parent)} {files.sha256(file)}" for file in inside]
    return hashlib.sha256("\n".join(listing).encode()).hexdigest()
