"""Sentence pairs as token IDs on disk, in memory-mapped shards.

A folder has two NumPy arrays per shard ``NNNNN``: the tokens of all pairs (source, then target, of
each pair) and the two lengths of each pair. ``index.json`` lists the shards in order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress, pairwise, starmap
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import Int
from pydantic import Field

from nmt_core.base import files
from nmt_core.base.config import Config, build
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.jobs import Job, load_cached
from nmt_core.text.vocabulary import Vocabulary

FORMAT = 1
INDEX = "index.json"
ARRAYS = ("tokens", "lengths")
"""The arrays of a shard."""

STRIDE = 64
"""Memory holds the offset of every ``STRIDE``-th pair of a shard."""

IdPair = tuple[Sequence[int], Sequence[int]]
"""The token IDs of source and target, without BOS and EOS."""


@dataclass(frozen=True)
class Block:
    """The arrays of a shard: the concatenated tokens of some pairs, and their lengths."""

    tokens: Int[np.ndarray, " tokens"]
    lengths: Int[np.ndarray, "pairs 2"]

    @classmethod
    def of(cls, pairs: Iterable[IdPair]) -> Self:
        """Return pairs as a block."""
        all_pairs = list(pairs)
        lengths = [tuple(map(len, pair)) for pair in all_pairs]
        ids = (number for pair in all_pairs for side in pair for number in side)
        return cls(np.fromiter(ids, np.int32), np.array(lengths, np.int32).reshape(-1, 2))

    @classmethod
    def interleave(cls, ids: Sequence[int], lengths: Int[np.ndarray, "2 pairs"]) -> Self:
        """Return pairs, given the IDs of all sources, then of all targets, and their lengths."""
        pairs = np.concatenate([np.repeat(np.arange(len(side)), side) for side in lengths])
        tokens = np.array(ids, np.int32)[np.argsort(pairs, kind="stable")]
        return cls(tokens, np.ascontiguousarray(lengths.T, np.int32))

    @classmethod
    def joined(cls, blocks: Sequence["Block"]) -> Self:
        """Return the pairs of several blocks as one block."""
        return cls(*(np.concatenate([getattr(block, kind) for block in blocks]) for kind in ARRAYS))

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read the arrays that ``save`` wrote under a name."""
        return cls(*(np.load(_file(folder, name, kind), allow_pickle=False) for kind in ARRAYS))

    def save(self, folder: Path, name: str) -> None:
        """Write the arrays as ``NAME.tokens.npy`` and ``NAME.lengths.npy``."""
        for kind in ARRAYS:
            np.save(_file(folder, name, kind), getattr(self, kind), allow_pickle=False)

    def cut(self, pairs: int) -> tuple["Block", "Block"]:
        """Return the first ``pairs`` pairs, and the remaining pairs."""
        tokens = int(self.lengths[:pairs].sum())
        return (
            Block(self.tokens[:tokens], self.lengths[:pairs]),
            Block(self.tokens[tokens:], self.lengths[pairs:]),
        )

    def __len__(self) -> int:
        return len(self.lengths)


class ShardEntry(Config):
    """A shard in the index."""

    name: str = Field(pattern=r"^\d{5,9}$")
    """The number of the shard, the prefix of its file names."""
    pairs: int = Field(ge=1)
    """Number of pairs."""
    sha256: dict[str, str]
    """The SHA-256 digest of each array's file."""


class ShardIndex(Config):
    """The index of a folder of shards."""

    format: int
    """Version of the file format."""
    shards: tuple[ShardEntry, ...]
    """The shards in order."""
    corpora: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Number of pairs of each corpus; None in files of earlier versions, which have one corpus."""


def write_shards(
    blocks: Iterable[Block], folder: Path, *, pairs_per_shard: int, corpora: Sequence[int] = ()
) -> dict[str, int]:
    """Write pairs in their order; memory holds one shard and one block at a time.

    Args:
        blocks: the pairs.
        folder: the output folder, which appears when it is complete.
        pairs_per_shard: number of pairs per shard; the last shard may have fewer.
        corpora: number of pairs of each corpus in order; read after the last block.

    Returns:
        The number of shards, pairs, source tokens and target tokens, by name.
    """
    entries: list[dict[str, Any]] = []
    counts = np.zeros(3, np.int64)
    with files.whole_folder(folder) as part:
        for shard in _regrouped(blocks, pairs_per_shard):
            name = f"{len(entries):05d}"
            shard.save(part, name)
            digests = {kind: files.sha256(_file(part, name, kind)) for kind in ARRAYS}
            entries.append({"name": name, "pairs": len(shard), "sha256": digests})
            counts += len(shard), *shard.lengths.sum(axis=0, dtype=np.int64)
        files.write_json(part / INDEX, {"format": FORMAT, "shards": entries, "corpora": [*corpora]})
    names = ("pairs", "source_tokens", "target_tokens")
    return {"shards": len(entries)} | dict(zip(names, counts.tolist(), strict=True))


class ShardDataset:
    """The pairs of a folder, by number, in memory-mapped shards; takes 1/8 byte of memory per pair.

    Args:
        folder: output of ``write_shards``.
        verify: whether to compare every shard with its digest.

    Raises:
        BundleError: if the index or a shard is missing, altered or of another format.
    """

    def __init__(self, folder: Path, *, verify: bool = True) -> None:
        self._folder = folder
        index = read_index(folder)
        if verify:
            verify_shards(folder)
        arrays = [_map(folder, shard) for shard in index.shards]
        self._tokens = [tokens for tokens, _ in arrays]
        self._lengths = [lengths for _, lengths in arrays]
        self._starts = [*map(_find_starts, self._lengths)]
        self._first = np.cumsum([0, *map(len, self._lengths)])
        self.longest = max((int(lengths.max(initial=0)) for lengths in self._lengths), default=0)
        """Number of tokens of the longest sentence on either side."""
        sizes = (len(self),) if index.corpora is None else index.corpora
        if sum(sizes) > len(self):
            raise BundleError(f"{folder / INDEX} lists more pairs than its shards; run shard again")
        self.corpora = [*starmap(range, pairwise(accumulate(sizes, initial=0)))]
        """The pair numbers of each corpus, in order."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path only; another process opens the folder again."""
        return ShardDataset, (self._folder,)

    def __len__(self) -> int:
        return int(self._first[-1])

    def __getitem__(self, number: int) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]:
        """Return the source and target tokens of one pair."""
        shard = int(np.searchsorted(self._first, number, side="right")) - 1
        row = number - int(self._first[shard])
        lengths, tokens = self._lengths[shard], self._tokens[shard]
        start = int(self._starts[shard][row // STRIDE])
        start += int(lengths[row // STRIDE * STRIDE : row].sum())
        source, target = lengths[row].tolist()
        return tokens[start : start + source], tokens[start + source : start + source + target]

    def measure(self, rows: Int[np.ndarray, " pairs"] | None = None) -> Int[np.ndarray, "pairs 2"]:
        """Return source and target length of the pairs ``rows``, or of all pairs, in tokens."""
        if rows is None:
            return np.concatenate([np.zeros((0, 2), np.int32), *self._lengths])
        shards = np.searchsorted(self._first, rows, side="right") - 1
        measured = np.empty((len(rows), 2), np.int32)
        for shard in np.unique(shards).tolist():
            of_shard = shards == shard
            measured[of_shard] = self._lengths[shard][rows[of_shard] - self._first[shard]]
        return measured

    def draw(self, number: int, epoch: int) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]:
        """Return the source and target tokens of a pair, the same in every epoch."""
        del epoch
        return self[number]

    def __iter__(self) -> Iterator[tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]]:
        return (self[number] for number in range(len(self)))


def verify_shards(folder: Path) -> None:
    """Compare every shard with its digest in the index.

    Raises:
        BundleError: if a shard is missing or altered.
    """
    for shard in read_index(folder).shards:
        for kind in ARRAYS:
            path = _file(folder, shard.name, kind)
            if not path.exists():
                raise BundleError(f"{path} is missing; run the shard stage again")
            if files.sha256(path) != shard.sha256.get(kind):
                raise BundleError(f"{path} was altered since it was written; run shard again")


def read_index(folder: Path) -> ShardIndex:
    """Read the index of a folder of shards; raise a BundleError if it is missing or invalid."""
    try:
        index = build(ShardIndex, files.read_json(folder / INDEX), at=INDEX)
    except (OSError, ValueError, RecursionError, ConfigError) as error:
        raise BundleError(f"{folder} has no shards ({error}); run the shard stage") from None
    if index.format != FORMAT:
        raise BundleError(
            f"{folder} has format {index.format}, this version reads {FORMAT}; run shard again"
        )
    return index


def _regrouped(blocks: Iterable[Block], pairs: int) -> Iterator[Block]:
    """Yield the same pairs in blocks of equal size; the last may have fewer."""
    waiting = [Block.of([])]
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) < pairs:
            continue
        remainder = Block.joined(waiting)
        while len(remainder) >= pairs:
            full, remainder = remainder.cut(pairs)
            yield full
        waiting = [remainder]
    remainder = Block.joined(waiting)
    if len(remainder):
        yield remainder


def _file(folder: Path, name: str, kind: str) -> Path:
    return folder / f"{name}.{kind}.npy"


def _find_starts(lengths: Int[np.ndarray, "pairs 2"]) -> Int[np.ndarray, " strides"]:
    """Return the offset of the first token of every ``STRIDE``-th pair of a shard."""
    sums = np.add.reduceat(lengths.sum(axis=1, dtype=np.int64), np.arange(0, len(lengths), STRIDE))
    return np.cumsum(sums) - sums


def _map(folder: Path, shard: ShardEntry) -> tuple[np.ndarray, np.ndarray]:
    """Return the memory-mapped tokens and lengths of a shard."""
    try:
        tokens, lengths = (
            np.load(_file(folder, shard.name, kind), mmap_mode="r", allow_pickle=False)
            for kind in ARRAYS
        )
        is_valid = tokens.ndim == 1 and lengths.shape == (shard.pairs, 2)
        is_valid &= tokens.dtype == lengths.dtype == np.int32
        is_valid = is_valid and lengths.min() >= 0 and lengths.sum(dtype=np.int64) == len(tokens)
    except (OSError, ValueError, EOFError):
        is_valid = False
    if not is_valid:
        raise BundleError(f"shard {shard.name} of {folder} is damaged; run shard again")
    return tokens, lengths


NUMBERED = "numbered"
"""File name prefix of the block that ``write_numbers`` writes."""


@dataclass(frozen=True)
class NumberJob(Job):
    """Lines of source and target tokens to convert to token IDs."""

    vocabularies: tuple[Path, ...]
    """Absolute path of each side's vocabulary."""
    max_length: int | None
    """Maximum number of tokens on either side. Longer pairs and pairs with an empty side are left
    out; None keeps every pair, so that pairs match the lines of the corpus."""
    ends: tuple[int, ...]
    """Number of the last line of each corpus, from 1, in order."""


def write_numbers(job: NumberJob, part: Path) -> tuple[Counter[str], Counter[int]]:
    """Write the pairs as token IDs.

    Returns:
        The number of pairs left out, by reason, and the number kept, by index of the corpus.
    """
    texts = [[*span.read()] for span in job.spans]
    lengths = np.array([[line.count(" ") + bool(line) for line in side] for side in texts])
    least, most = (0, np.inf) if job.max_length is None else (1, job.max_length)
    is_empty = (lengths < least).any(axis=0)
    is_too_long = ~is_empty & (lengths > most).any(axis=0)
    keep = np.logical_not(is_empty | is_too_long)
    ids: list[int] = []
    for path, side in zip(job.vocabularies, texts, strict=True):
        tokens = chain.from_iterable(map(str.split, compress(side, keep.tolist())))
        ids += load_cached(Vocabulary.load, path).encode(tokens)
    Block.interleave(ids, lengths[:, keep]).save(part, NUMBERED)
    left_out = Counter({"empty": int(is_empty.sum()), "too long": int(is_too_long.sum())})
    corpora = np.searchsorted(job.ends, np.flatnonzero(keep) + job.spans[0].first)
    return left_out, Counter(corpora.tolist())
