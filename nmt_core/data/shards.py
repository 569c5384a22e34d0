"""Sentence pairs as numbers, on disk, in shards that are mapped into memory and never read whole.

A folder holds two NumPy arrays per shard ``NNNNN``, the tokens of all pairs (source, then target,
of each) and the two lengths of each pair; ``index.json`` names the shards in order.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
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
"""Pairs of a shard of which the place of the first is held in memory."""


IdPair = tuple[Sequence[int], Sequence[int]]
"""The token numbers of source and target, without BOS and EOS."""


@dataclass(frozen=True)
class Block:
    """Some pairs as a shard holds them: all tokens one after the other, and the lengths."""

    tokens: Int[np.ndarray, " tokens"]
    lengths: Int[np.ndarray, "pairs 2"]

    @classmethod
    def of(cls, pairs: Iterable[IdPair]) -> Self:
        """Return pairs as a block."""
        held = list(pairs)
        lengths = [tuple(map(len, pair)) for pair in held]
        ids = (number for pair in held for side in pair for number in side)
        return cls(np.fromiter(ids, np.int32), np.array(lengths, np.int32).reshape(-1, 2))

    @classmethod
    def joined(cls, blocks: Sequence["Block"]) -> Self:
        """Return the pairs of some blocks as one."""
        return cls(*(np.concatenate([getattr(block, kind) for block in blocks]) for kind in ARRAYS))

    @classmethod
    def load(cls, folder: Path, name: str) -> Self:
        """Read the files of ``save``."""
        return cls(*(np.load(_file(folder, name, kind), allow_pickle=False) for kind in ARRAYS))

    def save(self, folder: Path, name: str) -> None:
        """Write the arrays under a name."""
        for kind in ARRAYS:
            np.save(_file(folder, name, kind), getattr(self, kind), allow_pickle=False)

    def cut(self, pairs: int) -> tuple["Block", "Block"]:
        """Return the first ``pairs`` pairs, and the rest."""
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
    """The number of the shard, which begins the names of its files."""
    pairs: int = Field(ge=1)
    """Pairs of the shard."""
    sha256: dict[str, str]
    """The digest of each array."""


class ShardIndex(Config):
    """The index of a folder of shards."""

    format: int
    """The version of the files."""
    shards: tuple[ShardEntry, ...]
    """The shards in order."""
    corpora: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Pairs of each corpus; earlier versions say nothing, and are of one."""


def write_shards(
    blocks: Iterable[Block], folder: Path, *, pairs_per_shard: int, corpora: Sequence[int] = ()
) -> dict[str, int]:
    """Write pairs in their order; memory holds one shard and one block at a time.

    Args:
        blocks: the pairs.
        folder: the target, which appears whole.
        pairs_per_shard: the last one may have fewer.
        corpora: pairs of each corpus in order; these are known when all have come.

    Returns:
        The numbers of shards, pairs, source and target tokens.
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
    """The pairs of a folder, by number, in memory-mapped shards: 1/8 byte of memory a pair.

    Args:
        folder: as ``write_shards`` left it.
        verify: compare every shard with its digest first.

    Raises:
        BundleError: if the index or a shard is missing, altered, or of another format.
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
        """Tokens of the longest sentence on either side."""
        sizes = (len(self),) if index.corpora is None else index.corpora
        if sum(sizes) > len(self):
            raise BundleError(f"{folder / INDEX} lists more pairs than the shards hold")
        self.corpora = [*starmap(range, pairwise(accumulate(sizes, initial=0)))]
        """Numbers of the pairs of each corpus, in order."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process open the folder for itself."""
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
        """Return the source and target lengths of some pairs, by their numbers, or of all."""
        if rows is None:
            return np.concatenate([np.zeros((0, 2), np.int32), *self._lengths])
        shards = np.searchsorted(self._first, rows, side="right") - 1
        measured = np.empty((len(rows), 2), np.int32)
        for shard in np.unique(shards).tolist():
            of_shard = shards == shard
            measured[of_shard] = self._lengths[shard][rows[of_shard] - self._first[shard]]
        return measured

    def draw(self, number: int, epoch: int) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]:
        """Return a pair, which is the same in every epoch."""
        del epoch
        return self[number]

    def __iter__(self) -> Iterator[tuple[Int[np.ndarray, " S"], Int[np.ndarray, " T"]]]:
        return (self[number] for number in range(len(self)))


def verify_shards(folder: Path) -> None:
    """Compare every shard with the digest in the index.

    Raises:
        BundleError: naming the first shard that is missing or altered.
    """
    for shard in read_index(folder).shards:
        for kind in ARRAYS:
            path = _file(folder, shard.name, kind)
            if not path.exists():
                raise BundleError(f"{path} is missing; run the shard stage again")
            if files.sha256(path) != shard.sha256.get(kind):
                raise BundleError(f"{path} was altered since it was written; run shard again")


def read_index(folder: Path) -> ShardIndex:
    """Read the index of a folder of shards."""
    try:
        index = build(ShardIndex, files.read_json(folder / INDEX), at=INDEX)
    except (OSError, ValueError, RecursionError, ConfigError) as error:
        raise BundleError(f"{folder} holds no shards ({error}); run the shard stage") from None
    if index.format != FORMAT:
        raise BundleError(
            f"{folder} is of format {index.format}, this program reads {FORMAT}; run shard"
        )
    return index


def _regrouped(blocks: Iterable[Block], pairs: int) -> Iterator[Block]:
    """Yield the same pairs in blocks of equal size; the last may have fewer."""
    held = [Block.of([])]
    for block in blocks:
        held.append(block)
        if sum(map(len, held)) < pairs:
            continue
        rest = Block.joined(held)
        while len(rest) >= pairs:
            full, rest = rest.cut(pairs)
            yield full
        held = [rest]
    rest = Block.joined(held)
    if len(rest):
        yield rest


def _file(folder: Path, name: str, kind: str) -> Path:
    return folder / f"{name}.{kind}.npy"


def _find_starts(lengths: Int[np.ndarray, "pairs 2"]) -> Int[np.ndarray, " strides"]:
    """Return where the tokens of every ``STRIDE``-th pair of a shard begin."""
    sums = np.add.reduceat(lengths.sum(axis=1, dtype=np.int64), np.arange(0, len(lengths), STRIDE))
    return np.cumsum(sums) - sums


def _map(folder: Path, shard: ShardEntry) -> tuple[np.ndarray, np.ndarray]:
    """Return tokens and lengths of a shard, mapped into memory."""
    try:
        tokens, lengths = (
            np.load(_file(folder, shard.name, kind), mmap_mode="r", allow_pickle=False)
            for kind in ARRAYS
        )
        sound = tokens.ndim == 1 and lengths.shape == (shard.pairs, 2)
        sound &= tokens.dtype == lengths.dtype == np.int32
        sound = sound and lengths.min() >= 0 and lengths.sum(dtype=np.int64) == len(tokens)
    except (OSError, ValueError, EOFError):
        sound = False
    if not sound:
        raise BundleError(f"shard {shard.name} of {folder} does not fit its index; run shard again")
    return tokens, lengths


NUMBERED = "numbered"
"""The name under which ``write_numbers`` writes its block."""


@dataclass(frozen=True)
class NumberJob(Job):
    """Tokens of source and target to be numbered."""

    vocabularies: tuple[Path, ...]
    """Absolute path of each side's."""
    max_length: int | None
    """Tokens on either side above which a pair is left out, as one with an empty side is; None
    leaves none out, so that the pairs still match the lines of the corpus."""
    ends: tuple[int, ...]
    """Last line of each corpus, from 1, in order."""


def write_numbers(job: NumberJob, part: Path) -> tuple[Counter[str], Counter[int]]:
    """Write the pairs as numbers.

    Returns:
        Number of pairs left out, by reason, and kept, by place of the corpus.
    """
    vocabularies = [load_cached(Vocabulary.load, path) for path in job.vocabularies]
    left_out, kept = Counter[str](), Counter[int]()
    pairs: list[IdPair] = []
    rows = zip(*(span.read() for span in job.spans), strict=True)
    for line, row in enumerate(rows, start=job.spans[0].first):
        words = [side.split() for side in row]
        if job.max_length is not None and not all(words):
            left_out["empty"] += 1
        elif job.max_length is not None and max(map(len, words)) > job.max_length:
            left_out["too long"] += 1
        else:
            kept[bisect_left(job.ends, line)] += 1
            source, target = (v.encode(w) for v, w in zip(vocabularies, words, strict=True))
            pairs.append((source, target))
    Block.of(pairs).save(part, NUMBERED)
    return left_out, kept
