"""What was said about a run, line by line, kept whether or not anybody listened."""

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from stages import paths

Entry = dict[str, Any]

COMPARISON = "nmt.comparison"
"""The tag with the fingerprint of the comparison that a run is part of, and shown below."""

BUNDLE_DIGEST = "bundle_sha256"
"""The tag of a registered version that says which exported model it holds."""


class Journal:
    """All that was said about one run, one JSON object a line."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.path = paths.RUNS / fingerprint / "journal.jsonl"

    def append(self, kind: str, **content: Any) -> None:
        """Add an entry with the time; a crash may cut it short, but none before it."""
        entry = {"kind": kind, **content, "milliseconds": time.time_ns() // 1_000_000}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                torn = file.read(1) != b"\n"
                file.write(b"\n" * torn)
            file.write(json.dumps(entry, default=str).encode() + b"\n")

    def read(self, offset: int = 0) -> tuple[list[Entry], int]:
        """Return the entries from a byte on, and the byte where the next will begin."""
        with self.path.open("rb") as file:
            file.seek(offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        return list(_parsed(whole.split(b"\n"))), offset + len(whole) + len(newline)

    def last(self, metric: str, *, at_most: int | None = None) -> float | None:
        """Return the last number said under a name, of all steps or those up to one."""
        entries, _ = self.read() if self.path.exists() else ([], 0)
        said = (
            entry["values"][metric]
            for entry in reversed(entries)
            if entry["kind"] == "metrics"
            and metric in entry["values"]
            and (at_most is None or entry["step"] <= at_most)
        )
        return next(said, None)


def _parsed(lines: list[bytes]) -> Iterator[Entry]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:  # cut short by a crash
            continue
