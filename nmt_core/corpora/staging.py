"""Pairs on disk with the digests of their sentences, while splits are compared."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_core.base.jobs import append
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.splitting import digest

Digests: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]

PAIRS_AT_ONCE = 2**22
"""Number of pairs whose digests are in memory at a time."""

SIDES = ("source", "target")

KINDS = (*SIDES, "digests")
"""Files of the pairs of a split."""


@dataclass(frozen=True)
class PairKeys:
    """Digests of the sentences of pairs, in order; the array may lie on disk."""

    BYTES: ClassVar = 16
    """Size of a pair in a file."""

    rows: Digests
    """(pairs, 2): source and target."""

    def only(self, keep: Mask) -> "PairKeys":
        """Return the digests of marked pairs."""
        return PairKeys(self.rows[keep])

    def shared_with(self, other: "PairKeys") -> Mask:
        """Mark pairs with a side that occurs in ``other``."""
        marked = np.zeros(len(self.rows), dtype=np.bool_)
        for rows in cut_rows_at_once(len(marked)):
            source, target = self.rows[rows].T
            marked[rows] = np.isin(source, other.rows[:, 0])
            marked[rows] |= np.isin(target, other.rows[:, 1])
        return marked

    def repeated(self) -> Mask:
        """Mark pairs that equal an earlier pair on both sides.

        Pairs are partitioned by the digest of their source, and each part is sorted alone.
        """
        marked = np.zeros(len(self.rows), dtype=np.bool_)
        parts = len([*cut_rows_at_once(len(marked))])
        for part in range(parts):
            places = np.concatenate(
                [
                    rows.start + np.flatnonzero(self.rows[rows, 0] % np.uint64(parts) == part)
                    for rows in cut_rows_at_once(len(marked))
                ]
            )
            source, target = self.rows[places].T
            order = np.lexsort((target, source))  # stable: equal pairs keep their order
            source, target = source[order], target[order]
            equal = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
            marked[places[order[1:]]] = equal
        return marked


def cut_rows_at_once(rows: int) -> Iterator[slice]:
    """Yield consecutive ranges of at most ``PAIRS_AT_ONCE`` rows."""
    for start in range(0, rows, PAIRS_AT_ONCE):
        yield slice(start, min(rows, start + PAIRS_AT_ONCE))


def iterate_mask(mask: Mask) -> Iterator[bool]:
    """Yield the flags of a mask, converting few of them at a time."""
    for rows in cut_rows_at_once(len(mask)):
        yield from mask[rows].tolist()


class PairWriter:
    """Writes pairs of one split, with their digests."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self._source, self._target, self._digests = (
            stack.enter_context((folder / f"{name}.{kind}").open("wb")) for kind in KINDS
        )

    def add(self, pair: Pair) -> None:
        """Write a pair."""
        self._source.write(f"{pair.source}\n".encode())
        self._target.write(f"{pair.target}\n".encode())
        self._digests.write(b"".join(digest(make_comparison_key(line)) for line in pair))


class StagedPairs:
    """All pairs of one split, joined from parts."""

    def __init__(self, folder: Path, name: str) -> None:
        self.files = {kind: folder / f"{name}.{kind}" for kind in KINDS}
        for path in self.files.values():
            path.touch()

    def take(self, part: Path) -> None:
        """Append the files that a :class:`PairWriter` wrote to a folder."""
        for path in self.files.values():
            if (part / path.name).exists():
                append(part / path.name, path)

    def keys(self) -> PairKeys:
        """Return the digests, which stay on disk."""
        path = self.files["digests"]
        if not path.stat().st_size:
            return PairKeys(np.zeros((0, 2), np.uint64))
        return PairKeys(np.memmap(path, dtype="<u8", mode="r").reshape(-1, 2))

    def write(self, folder: Path, keep: Mask) -> None:
        """Write the text of marked pairs, and remove the staged files."""
        for side in SIDES:
            self._append(side, folder / self.files[side].name, keep)
        self.remove()

    def give(self, chosen: Mask, to: "StagedPairs") -> None:
        """Append marked pairs to another split."""
        for side in SIDES:
            self._append(side, to.files[side], chosen)
        with to.files["digests"].open("ab") as file:
            self.keys().only(chosen).rows.tofile(file)

    def remove(self) -> None:
        """Remove the staged files."""
        for path in self.files.values():
            path.unlink()

    def _append(self, side: str, path: Path, chosen: Mask) -> None:
        with self.files[side].open("rb") as lines, path.open("ab") as file:
            file.writelines(compress(lines, iterate_mask(chosen)))
