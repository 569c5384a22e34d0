"""Sentence pairs as numbers, on disk, in shards that are mapped into memory and never read whole.

A folder holds, per shard ``NNNNN``, the tokens of all pairs one after the other (source, then
target, of each) and the two lengths of each pair, as NumPy arrays; and ``index.json``, which names
the shards in order with the digest of each.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from nmt_core import files
from nmt_core.errors import ShardError

FORMAT = 1
INDEX = "index.json"


class IdPair(NamedTuple):
    """The token numbers of one sentence pair, without BOS and EOS."""

    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class Written:
    """What :func:`write_shards` wrote."""

    shards: int
    pairs: int
    source_tokens: int
    target_tokens: int


def write_shards(pairs: Iterable[IdPair], folder: Path, *, pairs_per_shard: int) -> Written:
    """Write pairs in their order; memory holds one shard at a time."""
    stream = iter(pairs)
    entries: list[dict[str, Any]] = []
    source_tokens = target_tokens = 0
    with files.whole_folder(folder) as part:
        while batch := list(islice(stream, pairs_per_shard)):
            name = f"{len(entries):05d}"
            lengths = np.array([(len(p.source), len(p.target)) for p in batch], dtype=np.int32)
            ids = (number for pair in batch for side in pair for number in side)
            tokens = np.fromiter(ids, dtype=np.int32, count=int(lengths.sum()))
            np.save(part / f"{name}.tokens.npy", tokens, allow_pickle=False)
            np.save(part / f"{name}.lengths.npy", lengths, allow_pickle=False)
            digests = {
                kind: files.sha256(part / f"{name}.{kind}.npy") for kind in ("tokens", "lengths")
            }
            entries.append({"name": name, "pairs": len(batch), "sha256": digests})
            source_tokens += int(lengths[:, 0].sum())
            target_tokens += int(lengths[:, 1].sum())
        files.write_json(part / INDEX, {"format": FORMAT, "shards": entries})
    return Written(len(entries), sum(e["pairs"] for e in entries), source_tokens, target_tokens)


class ShardDataset:
    """The pairs of a folder, by number, read from memory-mapped shards.

    Args:
        folder: as :func:`write_shards` left it.
        verify: compare every shard with its digest first.

    Raises:
        ShardError: if the index or a shard is missing, altered, or of another format.
    """

    def __init__(self, folder: Path, *, verify: bool = True) -> None:
        index = read_index(folder)
        if verify:
            verify_shards(folder)
        names = [shard["name"] for shard in index["shards"]]
        self._tokens = [_map(folder / f"{name}.tokens.npy") for name in names]
        lengths = [_map(folder / f"{name}.lengths.npy") for name in names]
        self.lengths: Int[np.ndarray, "pairs 2"] = (
            np.concatenate(lengths) if lengths else np.zeros((0, 2), dtype=np.int32)
        )
        totals = [part.sum(axis=1, dtype=np.int64) for part in lengths]
        self._starts = [np.concatenate([[0], total.cumsum()[:-1]]) for total in totals]
        self._first = np.cumsum([0, *(len(part) for part in lengths)])

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]:
        """Return the source and target tokens of one pair."""
        shard = int(np.searchsorted(self._first, number, side="right")) - 1
        start = int(self._starts[shard][number - self._first[shard]])
        source, target = (int(length) for length in self.lengths[number])
        tokens = self._tokens[shard]
        return tokens[start : start + source], tokens[start + source : start + source + target]

    def __iter__(self) -> Iterator[tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]]:
        return (self[number] for number in range(len(self)))


def verify_shards(folder: Path) -> None:
    """Compare every shard with the digest in the index.

    Raises:
        ShardError: naming the first shard that is missing or altered.
    """
    for shard in read_index(folder)["shards"]:
        for kind, expected in shard["sha256"].items():
            path = folder / f"{shard['name']}.{kind}.npy"
            if not path.exists():
                raise ShardError(f"{path} is missing; run the shard stage again")
            if files.sha256(path) != expected:
                raise ShardError(f"{path} was altered since it was written; run shard again")


def read_index(folder: Path) -> dict[str, Any]:
    """Read the index of a folder of shards.

    Raises:
        ShardError: if there is none, or one of another format.
    """
    try:
        index = files.read_json(folder / INDEX)
    except (OSError, ValueError) as error:
        raise ShardError(f"{folder} holds no shards ({error}); run the shard stage") from None
    if index.get("format") != FORMAT:
        raise ShardError(
            f"{folder} is of format {index.get('format')}, this program reads {FORMAT}; run shard"
        )
    return index


def _map(path: Path) -> np.ndarray:
    array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return array
