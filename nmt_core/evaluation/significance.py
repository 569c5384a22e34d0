"""Significance of differences between systems, over test sets and seeds.

A metric is a function of sums over sentences, so the scores of thousands of resampled test sets are
one matrix product. Two tests resample sentences: the paired bootstrap (Koehn 2004) and approximate
randomization (Riezler and Maxwell 2005). The outputs of all seeds for a sentence are resampled
together (Clark et al. 2011). Seeds add their sample variance, with Student's t and the degrees of
freedom of Satterthwaite 1946, as in Welch's test (1947). P-values are corrected for the number of
pairs (Holm 1979).

Letters: N sentences, C counts of a sentence, R resamples.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import variance

import numpy as np
from jaxtyping import Bool, Float

from nmt_core.base.config import Config
from nmt_core.base.random import make_generator
from nmt_core.evaluation.metric import Counts, Reference, SummedMetric
from nmt_core.evaluation.registered import load_metric

ScoreOfSums = Callable[[Float[np.ndarray, "R C"]], Float[np.ndarray, " R"]]
"""The scores of test sets, each given by the sum of its sentences' counts."""

RESAMPLES_AT_ONCE = 1000
"""Number of resamples that are held in memory together."""

SEED = 1
"""Seed of the resamples of a comparison."""


@dataclass(frozen=True)
class PairedTest:
    """The difference between two systems, and differences that chance might have given.

    All differences are those of the first system's score less the second's.
    """

    seen: float
    """On the whole test set."""
    drawn: Float[np.ndarray, " R"]
    """On test sets drawn with replacement."""
    exchanged: Float[np.ndarray, " R"]
    """With the two translations of a sentence exchanged by chance, sentence by sentence."""

    def above(self) -> tuple[float, float]:
        """Return the probability that chance puts the first system ahead by as much, by both tests.

        The first is by bootstrap, the second by randomization.
        """
        return compute_p_value(self.drawn <= 0), compute_p_value(self.exchanged >= self.seen)

    def below(self, margin: float = 0.0) -> tuple[float, float]:
        """Return the probabilities that chance puts the first system behind by as much.

        With a margin, of a system that is behind by that already: by as much more.
        """
        bootstrap = compute_p_value(self.drawn >= -margin)
        return bootstrap, compute_p_value(self.exchanged <= self.seen + margin)

    def apart(self) -> float:
        """Return the probability that exchanges put either system ahead by as much."""
        return compute_p_value(np.abs(self.exchanged) >= abs(self.seen))


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

    ``resamples`` test sets are drawn for the bootstrap, and sentences exchanged in ``trials``: the
    least p-value is about 1 / ``trials``.
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
    """Return the scores of ``resamples`` test sets drawn with replacement (Koehn 2004)."""
    draws = (_drawn(len(counts), chunk, seed) for chunk in _chunks(resamples))
    return np.concatenate([score_of_sums(draw @ counts) for draw in draws])


def compute_p_value(as_extreme: Bool[np.ndarray, " R"]) -> float:
    """Return the share of resamples as extreme as the observed one, which is one of them.

    Ties count: without them, systems that differ in a few sentences would seem surely different.
    """
    return float(1 + as_extreme.sum()) / (1 + len(as_extreme))


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number, in their order (Holm 1979).

    The smallest is multiplied by their number, the next by one less, and so on; none becomes
    smaller than that of a smaller one, or larger than 1.
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


VarianceSource = tuple[float, float]
"""Variance that a source adds to a number, and the degrees of freedom of that estimate."""


def measure_seeds(scores: Sequence[float]) -> VarianceSource:
    """Return the part of seeds in the variance of their mean score; of at least two seeds."""
    return variance(scores) / len(scores), len(scores) - 1


def compute_t_interval(value: float, sources: Sequence[VarianceSource]) -> tuple[float, float]:
    """Return the 95 % interval of a number with independent sources of variance."""
    from scipy import special  # slow to import

    error, freedom = _combine(sources)
    half = error * float(special.stdtrit(freedom, 0.975))
    return value - half, value + half


def compute_t_p_value(value: float, sources: Sequence[VarianceSource]) -> float:
    """Return the two-sided p-value of a number's distance from 0."""
    from scipy import special  # slow to import

    error, freedom = _combine(sources)
    if not error:
        return float(value == 0)
    return 2 * float(special.stdtr(freedom, -abs(value) / error))


def _combine(sources: Sequence[VarianceSource]) -> tuple[float, float]:
    """Return the standard error, and its degrees of freedom (Satterthwaite 1946)."""
    total = math.fsum(part for part, _ in sources)
    if not total:
        return 0.0, math.inf
    shares = math.fsum((part / total) ** 2 / freedom for part, freedom in sources)
    return math.sqrt(total), 1 / shares


class Difference(Config):
    """The difference between two systems in one metric, with its p-value."""

    metric: str
    first: str
    second: str
    value: float
    """Score of the first minus that of the second, each the mean over its seeds."""
    p_value: float
    """Two-sided p-value, corrected for the number of pairs: Welch's t-test over seeds and sentences
    for several seeds, otherwise approximate randomization."""


def average_seeds(score_of_sums: ScoreOfSums, seeds: int) -> ScoreOfSums:
    """Return the mean score of seeds, from their counts side by side."""

    def score(sums: Float[np.ndarray, "R KC"]) -> Float[np.ndarray, " R"]:
        return np.mean([score_of_sums(part) for part in np.split(sums, seeds, axis=1)], axis=0)

    return score


def judge_difference(test: PairedTest, scores: Sequence[Sequence[float]], sentences: int) -> float:
    """Return the p-value of a difference, over seeds, too, if there are several.

    The test gives the variance by the choice of sentences; both systems have a score for each seed.
    """
    if len(scores[0]) == 1:
        return test.apart()
    by_sentences = float(test.drawn.var()), max(1, sentences - 1)
    return compute_t_p_value(test.seen, [by_sentences, *map(measure_seeds, scores)])


def compare_all(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[Reference],
    sources: Sequence[str],
    *,
    metrics: Sequence[str],
    language: str,
    resamples: int = 1000,
    trials: int = 10_000,
) -> list[Difference]:
    """Return how every two systems differ, metric by metric.

    A metric that is not a function of sums over sentences is left out: it cannot be tested. Each
    system has the raw hypotheses of as many seeds. ``language`` is the code of the hypotheses.

    Raises:
        ConfigError: if the tokenizer of the language's words is not installed.
    """
    [seeds] = {len(outputs) for outputs in systems.values()}
    pairs = list(combinations(systems, 2))
    differences: list[Difference] = []
    for name in metrics:
        metric = load_metric(name, language)
        if not isinstance(metric, SummedMetric):
            continue
        counts = {
            system: [metric.counts(lines, references, sources) for lines in outputs]
            for system, outputs in systems.items()
        }
        scores = {
            system: metric.score_of_sums(np.stack([each.sum(axis=0) for each in own])).tolist()
            for system, own in counts.items()
        }
        tests = [
            run_paired_test(
                average_seeds(metric.score_of_sums, seeds),
                *(np.concatenate(counts[system], axis=1) for system in pair),
                resamples=resamples,
                trials=trials,
                seed=SEED,
            )
            for pair in pairs
        ]
        p_values = [
            judge_difference(test, [scores[system] for system in pair], len(references))
            for pair, test in zip(pairs, tests, strict=True)
        ]
        differences += [
            Difference(metric=name, first=first, second=second, value=test.seen, p_value=p_value)
            for (first, second), test, p_value in zip(
                pairs, tests, correct_holm(p_values), strict=True
            )
        ]
    return differences
