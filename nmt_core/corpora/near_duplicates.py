"""Find all near duplicates of validation and test sentences in train.

Two sentences are near duplicates if their Levenshtein distance over words is small; case and
punctuation are ignored. A sentence is split into k + 1 pieces, so that k edits leave at least one
piece unchanged, shifted by at most k words. Only sentences with such a piece are compared (Li et
al. 2011, "Pass-Join: A Partition-based Method for Similarity Joins", sections 3 and 4).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import AhoCorasick, Implementation
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

_UNKNOWN = "\0"
"""The code of a word that no held-out sentence has."""

_SURROGATES = range(0xD800, 0xE000)
_CODES = 0x10FFFF - len(_SURROGATES)
"""Number of characters that can be codes of words."""


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
        self._codes: dict[str, str] = {}
        self._sentences = [
            "".join([self._encode(word) for word in cut_words(line)]) for line in sentences
        ]
        self._edits = [allow_edits(len(words), distance) for words in self._sentences]
        pieces: dict[str, list[tuple[int, int]]] = {}
        for number, words in enumerate(self._sentences):
            for begin, end in cut_pieces(len(words), self._edits[number] + 1):
                pieces.setdefault(words[begin:end], []).append((number, begin))
        self._pieces = AhoCorasick(list(pieces), implementation=Implementation.ContiguousNFA)
        self._occurrences = list(pieces.values())

    def find_near(self, line: str) -> dict[int, int]:
        """Return the number of edits to each near duplicate, by its index."""
        words = "".join(map(self._codes.get, cut_words(line), repeat(_UNKNOWN)))
        near, compared = dict[int, int](), set[int]()
        for piece, place, _ in self._pieces.find_matches_as_indexes(words, overlapping=True):
            for number, begin in self._occurrences[piece]:
                limit = self._edits[number]
                if (
                    number not in compared
                    and abs(place - begin) <= limit
                    and abs(len(words) - len(self._sentences[number])) <= limit
                ):
                    compared.add(number)
                    edits = Levenshtein.distance(self._sentences[number], words, score_cutoff=limit)
                    if edits <= limit:
                        near[number] = edits
        return near

    def _encode(self, word: str) -> str:
        """Return the character that represents a word."""
        if word not in self._codes:
            code = len(self._codes) % _CODES + 1
            self._codes[word] = chr(code if code < _SURROGATES.start else code + len(_SURROGATES))
        return self._codes[word]


def cut_words(line: str) -> list[str]:
    """Return the words of a line in lower case, without punctuation.

    In scripts without spaces, every character is a word.
    """
    spaced = _SPACED.replace(line.casefold())
    if spaced.isascii() or not _HAS_UNSPACED.search(spaced):
        return spaced.split()
    return _WORDS.findall(spaced)


def allow_edits(words: int, distance: float) -> int:
    """Return the maximum number of edits for a near duplicate of ``words`` words."""
    return int(words * distance + 1e-9)  # 5 words at 0.2 allow one edit, despite rounding


def cut_pieces(words: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of ``count`` pieces of nearly equal length, without empty ones."""
    bounds = [words * piece // count for piece in range(count + 1)]
    return ((begin, end) for begin, end in pairwise(bounds) if begin < end)


@dataclass(frozen=True)
class CompareJob(Job):
    """Training pairs, and the held-out sentences to compare them with."""

    held_out: tuple[Path, ...]
    """Files of held-out sentences, one per side."""
    digests: tuple[str, ...]
    """Digests of these files."""
    distance: float


NearPair = tuple[int, tuple[str, ...], tuple[dict[int, int], ...]]
"""A training pair with near duplicates: its index, its lines, and edits by the index of each near
duplicate for each side."""


def compare(job: CompareJob, part: Path) -> list[NearPair]:
    """Return the training pairs with near duplicates."""
    del part
    indices = [
        _load_index(path, digest, job.distance)
        for path, digest in zip(job.held_out, job.digests, strict=True)
    ]
    sides = zip(*(span.read() for span in job.spans), strict=True)
    near = (
        (row, lines, tuple(map(SentenceIndex.find_near, indices, lines)))
        for row, lines in enumerate(sides, start=job.spans[0].first - 1)
    )
    return [pair for pair in near if any(pair[-1])]


@lru_cache(maxsize=2)  # one per side
def _load_index(path: Path, digest: str, distance: float) -> SentenceIndex:
    del digest  # a key of the cache, because the file at this path may change
    return SentenceIndex(list(files.read_lines(path)), distance)


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
        workers: processes or a cluster.
        scratch: folder for temporary files.
    """
    paths = tuple(path.absolute() for path in held_out.values())
    digests = tuple(map(files.sha256, paths))
    columns = [split_file(path, workers.chunk_lines) for path in train.values()]
    jobs = [CompareJob(spans, paths, digests, distance) for spans in zip(*columns, strict=True)]
    sentences = [list(files.read_lines(path)) for path in paths]
    rows: list[int] = []
    counts = np.zeros(len(sentences[0]), dtype=np.int64)
    examples: dict[int, NearExample] = {}
    title = "finding near duplicates"
    with run_in_order(compare, jobs, workers, output=scratch / "compared", title=title) as done:
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
