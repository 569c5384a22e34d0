"""Find all near duplicates of validation and test sentences in train.

Two sentences are near duplicates if their Levenshtein distance over words is small; case and
punctuation are ignored. A sentence is split into k + 1 pieces, so that k edits leave at least one
piece unchanged, shifted by at most k words. Only sentences with such a piece are compared (Li et
al. 2011, "Pass-Join: A Partition-based Method for Similarity Joins", sections 3 and 4).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from nmt_core.base import files
from nmt_core.base.jobs import Job, WorkersConfig, run_in_order, split_file
from nmt_core.corpora.filters import MarkTable
from nmt_core.text.words import UNSPACED

MAX_SHOWN = 5
"""Maximum number of near duplicates in the report."""

_WORDS = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]")

_SPACED = MarkTable(" ")

MAX_RUN = 4
"""Maximum number of words that are compared of a piece, from its beginning."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""The factor of polynomial hashes of words and of runs of words."""

LINES_AT_ONCE = 2000
"""Size of a batch of lines; larger batches need more memory and save no time."""

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class NearExample(NamedTuple):
    """A training sentence that is a near duplicate of a held-out sentence."""

    side: str
    train: str
    held_out: str
    edits: int


class Nearness(NamedTuple):
    """Near duplicates between train and held-out pairs."""

    rows: NDArray[np.int64]
    """Indices of training pairs with a near duplicate on a side, ascending."""
    counts: NDArray[np.int64]
    """Number of these training pairs for each held-out pair."""
    examples: list[NearExample]


class SentenceIndex:
    """An index of sentences to find near duplicates of.

    Args:
        sentences: the sentences.
        distance: maximum number of edits per word of these sentences.
    """

    def __init__(self, sentences: Sequence[str], distance: float) -> None:
        words, starts = _hash_words(sentences)
        self._sentences = [words[begin:end] for begin, end in pairwise(starts)]
        self._lengths = np.diff(starts)
        self._edits = np.array([allow_edits(n, distance) for n in self._lengths.tolist()], np.int64)
        pieces: list[tuple[int, int, int]] = []
        for number, sentence in enumerate(self._sentences):
            runs = [*_hash_runs(sentence)]
            for begin, end in cut_pieces(len(sentence), int(self._edits[number]) + 1):
                pieces.append((int(runs[min(end - begin, MAX_RUN) - 1][begin]), number, begin))
        table = np.array(sorted(pieces), np.uint64).reshape(-1, 3).T
        self._keys, self._pieces = np.ascontiguousarray(table[0]), table[1:].astype(np.int64)
        bits = (32 * len(pieces)).bit_length()  # so that few runs pass the filter by chance
        self._filter, self._shift = np.zeros(2**bits, np.bool_), np.uint64(64 - bits)
        self._filter[self._keys >> self._shift] = True

    def find_near(self, lines: Sequence[str]) -> dict[int, dict[int, int]]:
        """Return the number of edits to each near duplicate of each line, by their indices."""
        words, starts = _hash_words(lines)
        near: dict[int, dict[int, int]] = {}
        for row, number in sorted(self._list_candidates(words, starts)):
            line, limit = words[starts[row] : starts[row + 1]].tolist(), int(self._edits[number])
            sentence = self._sentences[number].tolist()
            edits = Levenshtein.distance(sentence, line, score_cutoff=limit)
            if edits <= limit:
                near.setdefault(row, {})[number] = edits
        return near

    def _list_candidates(self, words: Hashes, starts: Numbers) -> set[tuple[int, int]]:
        """Return each line with the sentences of similar length that share a piece with it."""
        candidates: set[tuple[int, int]] = set()
        for runs in _hash_runs(words):
            places = np.flatnonzero(self._filter[runs >> self._shift])
            first, last = (np.searchsorted(self._keys, runs[places], s) for s in ("left", "right"))
            counts = last - first
            places, skipped = np.repeat([places, first + counts - np.cumsum(counts)], counts, 1)
            numbers, begins = self._pieces[:, skipped + np.arange(len(skipped))]
            rows, edits = np.searchsorted(starts, places, "right") - 1, self._edits[numbers]
            near = np.abs(places - starts[rows] - begins) <= edits
            near &= np.abs(np.diff(starts)[rows] - self._lengths[numbers]) <= edits
            candidates.update(zip(rows[near].tolist(), numbers[near].tolist(), strict=True))
        return candidates


def _hash_words(lines: Sequence[str]) -> tuple[Hashes, Numbers]:
    """Return the hashes of the words of all lines, and the start of each line and the last end."""
    spaced = (_SPACED.fold_latin(line) or " ".join(cut_words(line)) for line in lines)
    text = np.frombuffer("\n".join(["", *spaced, ""]).encode(), np.uint8)
    begins, ends = np.flatnonzero(np.diff(text > ord(" "))).reshape(-1, 2).T
    powers, inverses = _list_powers(1 << len(text).bit_length())
    sums = np.cumsum(text * powers[: len(text)])
    starts = np.searchsorted(begins, np.flatnonzero(text == ord("\n")))
    return (sums[ends] - sums[begins]) * inverses[begins], starts


@lru_cache(maxsize=2)
def _list_powers(count: int) -> Hashes:
    """Return powers of ``FACTOR`` and their inverses modulo 2^64, (2, count)."""
    factors = np.full((2, count), [[FACTOR], [pow(int(FACTOR), -1, 2**64)]], np.uint64)
    return np.cumprod(factors, axis=1, dtype=np.uint64)


def _hash_runs(words: Hashes) -> Iterator[Hashes]:
    """Yield, for each size up to ``MAX_RUN``, the hash of the run that begins at each word."""
    runs = words
    for size in range(1, MAX_RUN + 1):
        yield runs
        runs = runs[:-1] * FACTOR + words[size:]


def cut_words(line: str) -> list[str]:
    """Return the words of a line in lower case, without punctuation.

    In scripts without spaces, every character is a word.
    """
    spaced = _SPACED.fold(line)
    return _WORDS.findall(spaced) if _HAS_UNSPACED.search(spaced) else spaced.split()


def allow_edits(words: int, distance: float) -> int:
    """Return the maximum number of edits for a near duplicate of ``words`` words."""
    return int(words * distance + 1e-9)  # 5 words at 0.2 allow one edit, despite rounding


def cut_pieces(words: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of ``count`` pieces of nearly equal length, without empty ones."""
    bounds = [words * piece // count for piece in range(count + 1)]
    return ((begin, end) for begin, end in pairwise(bounds) if begin < end)


NearPair = tuple[int, tuple[str, ...], tuple[dict[int, int], ...]]
"""A training pair with near duplicates: its index, its lines, and edits by the index of each near
duplicate for each side."""


def compare(indices: Sequence[SentenceIndex], job: Job, _: Path) -> list[NearPair]:
    """Return the training pairs with near duplicates in the index of a side."""
    pairs = zip(*(span.read() for span in job.spans), strict=True)
    near: list[NearPair] = []
    first = job.spans[0].first - 1
    while batch := [*islice(pairs, LINES_AT_ONCE)]:
        sides = [*map(SentenceIndex.find_near, indices, zip(*batch, strict=True))]
        near += [
            (first + row, batch[row], tuple(side.get(row, {}) for side in sides))
            for row in sorted(set().union(*sides))
        ]
        first += len(batch)
    return near


def find_near_pairs(
    train: Mapping[str, Path],
    held_out: Mapping[str, Path],
    distance: float,
    *,
    workers: WorkersConfig,
    scratch: Path,
) -> Nearness:
    """Return the training pairs with a side that is a near duplicate of that of a held-out pair.

    Args:
        train: file of each side.
        held_out: file of each side.
        distance: maximum number of edits per word of a held-out sentence.
        workers: processes.
        scratch: folder for temporary files.
    """
    columns = [split_file(path, workers.chunk_lines) for path in train.values()]
    jobs = [Job(spans) for spans in zip(*columns, strict=True)]
    sentences = [list(files.read_lines(path)) for path in held_out.values()]
    work = partial(compare, [SentenceIndex(side, distance) for side in sentences])
    rows: list[int] = []
    counts = np.zeros(len(sentences[0]), dtype=np.int64)
    examples: dict[int, NearExample] = {}
    title = "finding near duplicates"
    with run_in_order(work, jobs, workers, output=scratch / "compared", title=title) as done:
        for row, lines, near in chain.from_iterable(pairs for _, pairs in done):
            rows.append(row)
            counts[sorted(set().union(*near))] += 1
            for name, line, held_outs, edits_by_index in zip(
                train, lines, sentences, near, strict=True
            ):
                for index, edits in edits_by_index.items():
                    if edits and index not in examples and len(examples) < MAX_SHOWN:
                        examples[index] = NearExample(name, line, held_outs[index], edits)
    return Nearness(np.array(rows, dtype=np.int64), counts, list(examples.values()))
