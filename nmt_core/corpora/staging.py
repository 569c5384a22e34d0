"""Pairs on disk with the digests of their sentences, while splits are compared."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from nmt_core.base import files
from nmt_core.base.parallel.spans import append
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.sessions import NOT_HELD_OUT, Mask, Ranks
from nmt_core.corpora.splitting import digest

Digests = npt.NDArray[np.uint64]

PAIRS_AT_ONCE = 2**22
"""Pairs whose digests are compared at once; those of others stay on disk."""

SIDES = ("source", "target")

KINDS = (*SIDES, "digests")
"""Files of the pairs of a split."""

ASIDE: Literal["aside"] = "aside"
"""Pairs of held-out sessions, until it is known which ones occur nowhere else."""

ASIDE_KINDS = (*KINDS, "marks")


@dataclass(frozen=True)
class PairKeys:
    """Digests of the sentences of some pairs, in order, which may lie on disk."""

    BYTES: ClassVar = 16
    """Of a pair in a file."""

    rows: Digests
    """Those of source and target, a row a pair."""

    @property
    def source(self) -> Digests:
        """Digests of the source sentences."""
        return self.rows[:, 0]

    @property
    def target(self) -> Digests:
        """Digests of the target sentences."""
        return self.rows[:, 1]

    def only(self, keep: Mask) -> "PairKeys":
        """Return the digests of some of them."""
        return PairKeys(self.rows[keep])

    def shared_with(self, other: "PairKeys") -> Mask:
        """Mark pairs with a side that occurs in ``other``."""
        marked = np.zeros(len(self.rows), dtype=np.bool_)
        for some in cut_rows_at_once(len(marked)):
            source, target = self.rows[some].T
            marked[some] = np.isin(source, other.source) | np.isin(target, other.target)
        return marked

    def repeated(self) -> Mask:
        """Mark pairs that an earlier pair equals on both sides.

        Equal pairs fall into one part, by the digest of their source; each part is sorted alone.
        """
        marked = np.zeros(len(self.rows), dtype=np.bool_)
        parts = len([*cut_rows_at_once(len(marked))])
        for part in range(parts):
            places = self._find_part(part, parts)
            source, target = self.rows[places].T
            order = np.lexsort((target, source))  # stable: equals keep their order
            source, target = source[order], target[order]
            equal = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
            marked[places[order[1:]]] = equal
        return marked

    def _find_part(self, part: int, parts: int) -> npt.NDArray[np.int64]:
        return np.concatenate(
            [
                some.start + np.flatnonzero(self.source[some] % np.uint64(parts) == part)
                for some in cut_rows_at_once(len(self.rows))
            ]
        )


def cut_rows_at_once(rows: int) -> Iterator[slice]:
    """Yield ranges of at most ``PAIRS_AT_ONCE`` rows that are all rows together."""
    for start in range(0, rows, PAIRS_AT_ONCE):
        yield slice(start, min(rows, start + PAIRS_AT_ONCE))


def iterate_mask(mask: Mask) -> Iterator[bool]:
    """Yield the flags of a mask, of which few are Python's at once."""
    for some in cut_rows_at_once(len(mask)):
        yield from mask[some].tolist()


class PairWriter:
    """Some pairs of one split, in files named for their kind."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        kinds = ASIDE_KINDS if name == ASIDE else KINDS
        self._source, self._target, self._digests, *self._marks = (
            stack.enter_context((folder / f"{name}.{kind}").open("wb")) for kind in kinds
        )

    def add(self, pair: Pair, *, rank: int = NOT_HELD_OUT, unfit: str | None = None) -> None:
        """Write a pair; of those aside, its session's rank and why it is unfit to train on."""
        for marks in self._marks:
            marks.write(f"{rank} {unfit or ''}\n".encode())
        self._source.write(f"{pair.source}\n".encode())
        self._target.write(f"{pair.target}\n".encode())
        self._digests.write(b"".join(digest(make_comparison_key(line)) for line in pair))


class StagedPairs:
    """All pairs of one split, joined from checked parts."""

    def __init__(self, folder: Path, name: str, kinds: Sequence[str] = KINDS) -> None:
        self.files = {kind: folder / f"{name}.{kind}" for kind in kinds}
        for path in self.files.values():
            path.touch()

    def take(self, part: Path) -> None:
        """Add the files of a :class:`PairWriter` in a folder."""
        for path in self.files.values():
            if (part / path.name).exists():
                append(part / path.name, path)

    def keys(self) -> PairKeys:
        """Return the digests of all, which stay on disk."""
        path = self.files["digests"]
        if not path.stat().st_size:
            return PairKeys(np.zeros((0, 2), np.uint64))
        return PairKeys(np.memmap(path, dtype="<u8", mode="r").reshape(-1, 2))

    def write(self, folder: Path, keep: Mask) -> None:
        """Write the text of some, and forget the others."""
        for kind in SIDES:
            path = self.files[kind]
            with path.open("rb") as lines, (folder / path.name).open("wb") as file:
                file.writelines(compress(lines, iterate_mask(keep)))
        self.remove()

    def remove(self) -> None:
        """Take all of it off the disk."""
        for path in self.files.values():
            path.unlink()

    def give(self, chosen: Mask, to: "StagedPairs") -> None:
        """Add some pairs to another split."""
        for kind in SIDES:
            with self.files[kind].open("rb") as lines, to.files[kind].open("ab") as file:
                file.writelines(compress(lines, iterate_mask(chosen)))
        with to.files["digests"].open("ab") as file:
            self.keys().only(chosen).rows.tofile(file)


class AsidePairs(StagedPairs):
    """All pairs of the sessions that are held out."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ASIDE, ASIDE_KINDS)

    def marks(self) -> tuple[Ranks, list[str]]:
        """Return the rank of each pair's session, and why it is unfit to train on, if it is."""
        marks = [line.split(" ") for line in files.read_lines(self.files["marks"])]
        return np.array([int(rank) for rank, _ in marks], dtype=np.int32), [why for _, why in marks]
