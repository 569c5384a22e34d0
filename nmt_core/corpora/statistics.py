"""Statistics of corpora, on evenly spread samples of their training pairs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_core.corpora.near_duplicates import cut_words
from nmt_core.corpora.screening.languages import load_scorer
from nmt_core.corpora.staging import SIDES

MAX_PAIRS = 20_000
"""Size of the sample of a corpus."""

MAX_IDENTIFIED = 1000
"""Number of lines of a side whose language is identified."""

MAX_EXAMPLES = 4

Counts = tuple[tuple[str, int], ...]
"""The most frequent first, ties by name."""

Quantiles = tuple[float, float, float]
"""The 5th, 50th and 95th percentile; 0 without values."""


@dataclass(frozen=True)
class SideStatistics:
    """One side of a sample."""

    lengths: Quantiles
    """Words of lines; a character is a word in scripts that do not separate words."""
    words: int
    distinct: int
    """Words that differ regardless of case."""
    characters: int
    languages: Counts
    """Lines in each language; "" for lines that are too short."""


@dataclass(frozen=True)
class CorpusStatistics:
    """Statistics of a sample of training pairs."""

    sampled: int
    """Size of the sample."""
    source: SideStatistics
    target: SideStatistics
    ratios: Quantiles
    """Words of the target for each word of the source."""
    examples: tuple[tuple[str, str], ...]
    """A few pairs of the sample."""


def measure_corpora(folder: Path, pairs: Mapping[str, int]) -> dict[str, CorpusStatistics]:
    """Measure each corpus of a training text.

    ``pairs`` counts the lines of each corpus, in their order.
    """
    begins = accumulate(pairs.values(), initial=0)
    rows = {
        name: [begin + row for row in _spread(count, MAX_PAIRS)]
        for (name, count), begin in zip(pairs.items(), begins, strict=False)
    }
    every = [*chain.from_iterable(rows.values())]
    sides = [_read_rows(folder / f"train.{side}", every) for side in SIDES]
    return {
        name: measure_sample(*(list(islice(side, len(sampled))) for side in sides))
        for name, sampled in rows.items()
    }


def measure_sample(source: Sequence[str], target: Sequence[str]) -> CorpusStatistics:
    """Measure pairs of lines."""
    words = [[cut_words(line) for line in side] for side in (source, target)]
    lengths = [np.array([len(line) for line in side], np.float64) for side in words]
    ours, theirs = (
        _measure_side(lines, words_of_side, find_quantiles(counts))
        for lines, words_of_side, counts in zip((source, target), words, lengths, strict=True)
    )
    ratios = np.maximum(lengths[1], 1) / np.maximum(lengths[0], 1)
    examples = tuple((source[row], target[row]) for row in _spread(len(source), MAX_EXAMPLES))
    return CorpusStatistics(len(source), ours, theirs, find_quantiles(ratios), examples)


def find_quantiles(values: NDArray[np.float64]) -> Quantiles:
    """Return the 5th, 50th and 95th percentile."""
    known = values if len(values) else np.zeros(1)
    low, middle, high = np.quantile(known, (0.05, 0.5, 0.95), method="lower").tolist()
    return low, middle, high


def _measure_side(
    lines: Sequence[str], words: Sequence[Sequence[str]], lengths: Quantiles
) -> SideStatistics:
    counted = Counter(word for line in words for word in line)
    languages = load_scorer().count_languages(
        [lines[row] for row in _spread(len(lines), MAX_IDENTIFIED)]
    )
    return SideStatistics(
        lengths=lengths,
        words=counted.total(),
        distinct=len(counted),
        characters=sum(map(len, lines)),
        languages=tuple(sorted(languages.items(), key=lambda item: (-item[1], item[0]))),
    )


def _spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` numbers below ``count``, evenly spread."""
    taken = min(count, most)
    return [place * count // taken for place in range(taken)]


def _read_rows(path: Path, rows: Sequence[int]) -> Iterator[str]:
    """Yield the lines of increasing numbers."""
    with path.open("rb") as lines:
        place = 0
        for row in rows:
            yield next(islice(lines, row - place, None)).decode("utf-8").removesuffix("\n")
            place = row + 1
