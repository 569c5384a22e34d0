"""Store pairs on disk with the digests of their sentences, and compare splits."""

from collections.abc import Iterator, Sequence
from itertools import chain, compress
from pathlib import Path

import numpy as np

from nmt_core.base.jobs import append_file
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.splitting import Digests, Mask

PAIRS_AT_ONCE = 2**22
"""Maximum number of pairs whose digests are in memory at the same time."""

PAIR_BYTES = 16
"""Size of the digests of a pair, in bytes."""

SIDES = ("source", "target")

KINDS = (*SIDES, "digests")
"""Suffixes of the files of a split."""

SWAPPED = {"source": "target", "target": "source", "digests": "digests"}


def stage_pairs(pairs: Sequence[Pair], digests: bytes, folder: Path, name: str) -> None:
    """Write pairs of a split, and the digests of their sentences, for ``StagedPairs.take``."""
    for side, lines in zip(SIDES, zip(*pairs, strict=True), strict=True):
        (folder / f"{name}.{side}").write_bytes("\n".join([*lines, ""]).encode())
    (folder / f"{name}.digests").write_bytes(digests)


class StagedPairs:
    """All pairs of one split, joined from parts."""

    def __init__(self, folder: Path, name: str) -> None:
        self.files = {kind: folder / f"{name}.{kind}" for kind in KINDS}
        for path in self.files.values():
            path.touch()

    def __len__(self) -> int:
        return self.files["digests"].stat().st_size // PAIR_BYTES

    def take(self, part: Path, *, swap: bool = False) -> None:
        """Append the pairs that ``stage_pairs`` wrote to a folder, or these with swapped sides."""
        for kind, path in self.files.items():
            taken = part / self.files[SWAPPED[kind] if swap else kind].name
            if not taken.exists():
                continue
            if swap and kind == "digests":
                with path.open("ab") as file:
                    file.write(StagedPairs(part, path.stem).digests()[:, ::-1].tobytes())
            else:
                append_file(taken, path)

    def digests(self) -> Digests:
        """Return the digests, memory-mapped, (pairs, 2)."""
        if not len(self):
            return np.zeros((0, 2), np.uint64)
        return np.memmap(self.files["digests"], dtype="<u8", mode="r").reshape(-1, 2)

    def write(self, folder: Path, keep: Mask) -> None:
        """Write the text of the pairs to keep, and remove the staged files."""
        for side in SIDES:
            path = folder / self.files[side].name
            flags = chain.from_iterable(keep[rows].tolist() for rows in _cut_rows(len(keep)))
            with self.files[side].open("rb") as lines, path.open("wb") as file:
                file.writelines(compress(lines, flags))
        for path in self.files.values():
            path.unlink()


def mark_shared(rows: Digests, others: Digests, *, across: bool = False) -> Mask:
    """Return a mask of pairs with a side that occurs on the same side of other pairs.

    ``across`` compares with both sides, because one language may be on either side.
    """
    sources, targets = (others.ravel(), others.ravel()) if across else others.T
    marked = np.zeros(len(rows), dtype=np.bool_)
    for part in _cut_rows(len(rows)):
        source, target = rows[part].T
        marked[part] = np.isin(source, sources) | np.isin(target, targets)
    return marked


def mark_repeated(rows: Digests) -> Mask:
    """Return a mask of pairs that equal an earlier pair on both sides.

    To bound memory, pairs are partitioned by the digest of their source, and sorted by partition.
    """
    marked = np.zeros(len(rows), dtype=np.bool_)
    slices = [*_cut_rows(len(rows))]
    parts = np.uint64(len(slices))
    for part in range(len(slices)):
        places = np.concatenate(
            [each.start + np.flatnonzero(rows[each, 0] % parts == part) for each in slices]
        )
        source, target = rows[places].T
        order = np.lexsort((target, source))  # stable: equal pairs keep their order
        source, target = source[order], target[order]
        marked[places[order[1:]]] = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
    return marked


def _cut_rows(rows: int) -> Iterator[slice]:
    """Yield consecutive ranges of at most ``PAIRS_AT_ONCE`` rows."""
    for start in range(0, rows, PAIRS_AT_ONCE):
        yield slice(start, min(rows, start + PAIRS_AT_ONCE))
