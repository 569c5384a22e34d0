"""Screens: filters of pairs by signals that are learnt from a corpus.

Each signal is a number that grows with the defect. Most thresholds are settings, whose defaults
drop pairs that are wrong in any text; the threshold of alignment is learnt from mismatched pairs.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.filters import PLAINLY_WRONG, FilterName, ScreenConfig, count_letters
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.word_pairs import WordPairs
from nmt_core.literals.checking import check_literals, find_loop
from nmt_core.text.language_detection import Array, load_scorer

FILTERS: tuple[FilterName, ...] = get_args(FilterName)

MIN_PAIRS = 1000
"""Minimum size of a sample; the aligner cannot learn from fewer pairs."""

PAIRS_AT_ONCE = 1000
"""Size of a batch of pairs; larger batches need more memory and save no time."""

ADDED_LETTERS = 10
"""Number of letters that are added to smooth the length ratio of short lines."""

ADDED_WORDS = 6
"""Number of words of median gain that are added to smooth the gain of a short line."""

GAIN_PAIRS = 3000
"""Number of pairs for computing median gains and the alignment threshold."""

_HAS_LITERAL = re.compile(r"[0-9@{}<%]|://|www\.")
"""Cheap pre-filter: lines without a match contain no literal."""

_DIGIT = re.compile("[0-9]")


@dataclass(frozen=True)
class Screen:
    """Filters of pairs, as learnt by ``learn_screen``."""

    languages: tuple[str, str]
    """Codes of source and target."""
    words: WordPairs
    gains: tuple[float, float]
    """Median gain of a word of the source and of the target, in nats."""
    ratio: float
    """Median ratio of target letters to source letters."""
    thresholds: Mapping[FilterName, float]
    """Thresholds above which a pair is dropped; infinite for a filter that is off."""

    def measure(self, pairs: Sequence[Pair]) -> dict[FilterName, Array]:
        """Return the signals of pairs by filter; a pair's signals do not depend on other pairs."""
        scorer = load_scorer()
        sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
        measured: dict[FilterName, Array] = {
            "language": np.maximum(*map(scorer.measure_doubt, sides, self.languages)),
            "repetition": np.array([*map(measure_repetition, pairs)], np.float64),
            "literals": count_differing_literals(pairs, self.languages),
            "length": np.array([*map(self.measure_length, pairs)], np.float64),
            "alignment": np.array([*map(self.measure_alignment, pairs)], np.float64),
        }
        return {name: np.round(values, 6) for name, values in measured.items()}

    def judge(self, pairs: Sequence[Pair]) -> list[FilterName | None]:
        """Return the first filter that drops each pair, or None."""
        measured = self.measure(pairs)
        no_filter = np.ones(len(pairs), np.bool_)
        filters = (measured[name] > self.thresholds[name] for name in FILTERS)
        dropped = np.stack([*filters, no_filter])
        return [(*FILTERS, None)[first] for first in dropped.argmax(axis=0).tolist()]

    def measure_length(self, pair: Pair) -> float:
        """Return the distance of the target's length from the expected one, as a log-ratio."""
        source, target = (count_letters(side.strip()) for side in pair)
        return abs(math.log((target + ADDED_LETTERS) / (self.ratio * source + ADDED_LETTERS)))

    def measure_alignment(self, pair: Pair) -> float:
        """Return the negative mean gain of a word, on the side with the lower gain."""
        gains = zip(self.words.explain(*pair), self.gains, strict=True)
        return -min(
            (nats + median * ADDED_WORDS) / (words + ADDED_WORDS) for (nats, words), median in gains
        )


def measure_repetition(pair: Pair) -> float:
    """Return 1 if only one side repeats words in a row, and 0 otherwise."""
    source, target = (bool(find_loop(line.casefold().split())) for line in pair)
    return float(source != target)


def count_differing_literals(pairs: Sequence[Pair], languages: tuple[str, str]) -> Array:
    """Return the number of literals of each pair without a counterpart on the other side.

    If there are any and the target has digits, 1 is added: a number is changed, not omitted.
    """
    differing = np.zeros(len(pairs))
    for row, (source, target) in enumerate(pairs):
        if _HAS_LITERAL.search(source) or _HAS_LITERAL.search(target):
            breaches = len(check_literals(source, target, languages))
            differing[row] = breaches + bool(breaches and _DIGIT.search(target))
    return differing


def learn_screen(
    sample: Sequence[Pair], languages: tuple[str, str], config: ScreenConfig
) -> Screen:
    """Learn a screen from the pairs of a sample that are in the right languages.

    Args:
        sample: pairs drawn evenly from the whole corpus, including wrong ones.
        languages: codes of source and target.
        config: thresholds.

    Raises:
        CorpusError: if the sample is too small or no word is frequent, or py3langid is missing.
    """
    if len(sample) < MIN_PAIRS:
        raise CorpusError(
            f"a screen requires at least {MIN_PAIRS:,} pairs, got {len(sample):,}; use more text "
            f"or omit the screen"
        )
    scorer = load_scorer()
    doubts = (
        scorer.measure_doubt([pair[side] for pair in sample], language)
        for side, language in enumerate(languages)
    )
    sound = [
        pair
        for pair, doubt in zip(sample, np.maximum(*doubts).tolist(), strict=True)
        if doubt <= PLAINLY_WRONG["language"]
    ]
    words = WordPairs.learn(sound)
    gains = [words.explain(*pair) for pair in sound[:GAIN_PAIRS]]
    source_gain, target_gain = (
        float(np.median([nats / max(count, 1) for nats, count in side]))
        for side in zip(*gains, strict=True)
    )
    letters = ([count_letters(side.strip()) for side in pair] for pair in sound)
    ratio = float(np.median([target / max(source, 1) for source, target in letters]))
    settings = {name: getattr(config, name) for name in FILTERS}
    thresholds = {
        name: np.inf if value == "off" else float(value) for name, value in settings.items()
    }
    screen = Screen(languages, words, (source_gain, target_gain), ratio, thresholds)
    if config.alignment != "off":
        half = len(sound) // 2
        mismatched = [
            Pair(pair.source, other.target)
            for pair, other in zip(sound, sound[half:] + sound[:half], strict=True)
        ]
        signals = [*map(screen.measure_alignment, mismatched[:GAIN_PAIRS])]
        thresholds["alignment"] = float(np.quantile(signals, 1 - config.alignment))
    return screen
