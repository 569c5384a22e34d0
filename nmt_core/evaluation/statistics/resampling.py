"""Scores of thousands of resampled test sets at once, from counts of sentences.

A metric is a function of sums over sentences; the sums of all resamples are one matrix product.

Letters: N sentences, C counts of a sentence, R resamples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from nmt_core.base.random import make_generator
from nmt_core.evaluation.metric import Counts

ScoreOfSums = Callable[[Float[np.ndarray, "R C"]], Float[np.ndarray, " R"]]
"""The scores of test sets, each given by the sum of its sentences' counts."""

RESAMPLES_AT_ONCE = 1000
"""Resamples whose choices are held in memory together."""


class PValues(NamedTuple):
    """The p-values of a difference by two tests."""

    bootstrap: float
    randomization: float


@dataclass(frozen=True)
class PairedTest:
    """The difference between two systems, and differences that chance might have given.

    All differences are those of the first system's score less the second's.
    """

    seen: float
    """On the whole test set."""
    drawn: Float[np.ndarray, " R"]
    """On test sets drawn with replacement: paired bootstrap resampling (Koehn 2004)."""
    exchanged: Float[np.ndarray, " R"]
    """If, sentence by sentence, chance decides which system it was from: approximate randomisation
    (Riezler and Maxwell 2005)."""

    def above(self, margin: float = 0.0) -> PValues:
        """Return the probability that chance puts the first system ahead by as much.

        With a margin, of one that is ahead by that already: by as much more.
        """
        return PValues(
            compute_p_value(self.drawn <= margin),
            compute_p_value(self.exchanged >= self.seen - margin),
        )

    def below(self, margin: float = 0.0) -> PValues:
        """Return the probability that chance puts the first system behind by as much.

        With a margin, of one that is behind by that already: by as much more.
        """
        return PValues(
            compute_p_value(self.drawn >= -margin),
            compute_p_value(self.exchanged <= self.seen + margin),
        )

    def apart(self) -> PValues:
        """Return the probability that chance puts either system ahead by as much.

        That of the bootstrap is the share of test sets on which the difference is as far from the
        one seen as that is from none.
        """
        far = abs(self.seen)
        return PValues(
            compute_p_value(np.abs(self.drawn - self.seen) >= far),
            compute_p_value(np.abs(self.exchanged) >= far),
        )


def run_paired_test(
    score_of_sums: ScoreOfSums,
    first: Counts,
    second: Counts,
    *,
    resamples: int,
    trials: int,
    seed: int,
) -> PairedTest:
    """Resample the difference between two systems that translated the same test set.

    Args:
        score_of_sums: the metric.
        first: the metric's counts of each sentence of a system.
        second: the same of the other system.
        resamples: of the bootstrap.
        trials: of the randomisation; the least p-value is about 1 / ``trials``.
        seed: draws both.
    """
    sums = first.sum(axis=0), second.sum(axis=0)
    ours, theirs = score_of_sums(np.stack(sums))
    drawn = [
        score_of_sums(draw @ first) - score_of_sums(draw @ second)
        for draw in (_drawn(len(first), chunk, seed) for chunk in _chunks(resamples))
    ]
    moved = (_flips(len(first), chunk, seed) @ (second - first) for chunk in _chunks(trials))
    exchanged = [score_of_sums(sums[0] + m) - score_of_sums(sums[1] - m) for m in moved]
    return PairedTest(float(ours - theirs), np.concatenate(drawn), np.concatenate(exchanged))


def resample_scores(
    score_of_sums: ScoreOfSums, counts: Counts, *, resamples: int, seed: int
) -> Float[np.ndarray, " R"]:
    """Return the scores of test sets drawn with replacement (Koehn 2004).

    Args:
        score_of_sums: the metric.
        counts: the metric's counts of each sentence.
        resamples: how many are drawn.
        seed: draws them.
    """
    draws = (_drawn(len(counts), chunk, seed) for chunk in _chunks(resamples))
    return np.concatenate([score_of_sums(draw @ counts) for draw in draws])


def compute_p_value(as_extreme: Bool[np.ndarray, " R"]) -> float:
    """Return the share of resamples as extreme as the observed one, which is one of them.

    Ties count: leaving them out would make sure of what differs in a few sentences only.
    """
    return float(1 + as_extreme.sum()) / (1 + len(as_extreme))


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for being many, in their order (Holm 1979).

    The smallest is multiplied by their number, the next by one less, and so on; none may come out
    below a smaller one's, or above 1.
    """
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = least
    return corrected


def _chunks(total: int) -> list[tuple[int, int]]:
    """Return the number and the rows of each chunk."""
    return [
        (n, min(RESAMPLES_AT_ONCE, total - start))
        for n, start in enumerate(range(0, total, RESAMPLES_AT_ONCE))
    ]


@lru_cache(maxsize=2)
def _drawn(sentences: int, chunk: tuple[int, int], seed: int) -> Float[np.ndarray, "R N"]:
    """Count the draws of each sentence for each of some test sets."""
    number, rows = chunk
    draw = make_generator(seed, "bootstrap", number)
    chance = np.full(sentences, 1 / sentences)
    return draw.multinomial(sentences, chance, size=rows).astype(np.float64)


@lru_cache(maxsize=2)
def _flips(sentences: int, chunk: tuple[int, int], seed: int) -> Float[np.ndarray, "R N"]:
    """Return 1 where a sentence's two translations are exchanged, for a chunk of trials."""
    number, rows = chunk
    draw = make_generator(seed, "exchange", number)
    return draw.integers(0, 2, size=(rows, sentences)).astype(np.float64)
