"""Significance of differences between systems, over test sets and seeds.

Metrics are computed from sums over sentences, so one matrix product scores thousands of resampled
test sets. Two tests resample sentences: the paired bootstrap (Koehn 2004) and approximate
randomization (Riezler and Maxwell 2005). The outputs of all seeds for a sentence are resampled
together (Clark et al. 2011). The variance between seeds is added, with Student's t and the degrees
of freedom of Satterthwaite 1946, as in Welch's test (1947). P-values are corrected for the number
of pairs (Holm 1979).

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
from nmt_core.evaluation.registry import load_metric

ScoreOfSums = Callable[[Float[np.ndarray, "R C"]], Float[np.ndarray, " R"]]
"""Returns the scores of test sets from the sums of their sentences' counts."""

RESAMPLES_AT_ONCE = 1000
"""Number of resamples in memory at a time."""

SEED = 1
"""Seed of the resamples of a comparison."""


@dataclass(frozen=True)
class PairedTest:
    """The difference between two systems, and its resampled distributions.

    A difference is the first system's score minus the second system's.
    """

    observed: float
    """Difference on the test set."""
    bootstrap: Float[np.ndarray, " R"]
    """Differences on test sets drawn with replacement."""
    randomized: Float[np.ndarray, " R"]
    """Differences after random exchanges of the two translations of each sentence."""

    def compute_gain(self) -> tuple[float, float]:
        """Return the one-sided p-values of a gain, by bootstrap and by randomization."""
        gain = compute_p_value(self.randomized >= self.observed)
        return compute_p_value(self.bootstrap <= 0), gain

    def compute_loss(self, margin: float = 0.0) -> tuple[float, float]:
        """Return the one-sided p-values of a loss beyond ``margin``, by both tests."""
        bootstrap = compute_p_value(self.bootstrap >= -margin)
        return bootstrap, compute_p_value(self.randomized <= self.observed + margin)

    def compute_two_sided(self) -> float:
        """Return the two-sided p-value by randomization."""
        return compute_p_value(np.abs(self.randomized) >= abs(self.observed))


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

    The bootstrap draws ``resamples`` test sets, and randomization exchanges sentences ``trials``
    times. The smallest possible p-value is about 1 / ``trials``.
    """
    sums = first.sum(axis=0), second.sum(axis=0)
    first_score, second_score = score_of_sums(np.stack(sums))
    bootstrap = [
        score_of_sums(draw @ first) - score_of_sums(draw @ second)
        for draw in (_count_draws(len(first), chunk, seed) for chunk in _chunks(resamples))
    ]
    exchanges = (_draw_exchanges(len(first), chunk, seed) for chunk in _chunks(trials))
    moved = (exchange @ (second - first) for exchange in exchanges)
    randomized = [score_of_sums(sums[0] + m) - score_of_sums(sums[1] - m) for m in moved]
    observed = float(first_score - second_score)
    return PairedTest(observed, np.concatenate(bootstrap), np.concatenate(randomized))


def resample_scores(
    score_of_sums: ScoreOfSums, counts: Counts, *, resamples: int, seed: int
) -> Float[np.ndarray, " R"]:
    """Return the scores of ``resamples`` test sets drawn with replacement (Koehn 2004)."""
    draws = (_count_draws(len(counts), chunk, seed) for chunk in _chunks(resamples))
    return np.concatenate([score_of_sums(draw @ counts) for draw in draws])


def compute_p_value(as_extreme: Bool[np.ndarray, " R"]) -> float:
    """Return the share of samples as extreme as the observed sample, which counts, too.

    Ties count; otherwise, systems that differ in a few sentences would seem different.
    """
    return float(1 + as_extreme.sum()) / (1 + len(as_extreme))


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for multiple tests, in the same order (Holm 1979).

    The smallest of n is multiplied by n, the next by n - 1, and so on, in ascending order up to 1.
    """
    corrected = [0.0] * len(p_values)
    previous = 0.0
    for rank, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        previous = max(previous, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = previous
    return corrected


def _chunks(total: int) -> list[tuple[int, int]]:
    """Return the index and the number of rows of each chunk."""
    return [
        (n, min(RESAMPLES_AT_ONCE, total - start))
        for n, start in enumerate(range(0, total, RESAMPLES_AT_ONCE))
    ]


@lru_cache(maxsize=2)
def _count_draws(sentences: int, chunk: tuple[int, int], seed: int) -> Float[np.ndarray, "R N"]:
    """Return how often each resampled test set contains each sentence, for a chunk of test sets."""
    number, rows = chunk
    draw = make_generator(seed, "bootstrap", number)
    chance = np.full(sentences, 1 / sentences)
    return draw.multinomial(sentences, chance, size=rows).astype(np.float64)


@lru_cache(maxsize=2)
def _draw_exchanges(sentences: int, chunk: tuple[int, int], seed: int) -> Float[np.ndarray, "R N"]:
    """Return 1 for each exchanged sentence of each trial, otherwise 0, for a chunk of trials."""
    number, rows = chunk
    draw = make_generator(seed, "exchange", number)
    return draw.integers(0, 2, size=(rows, sentences)).astype(np.float64)


VarianceSource = tuple[float, float]
"""Variance that a source of randomness adds, and the degrees of freedom of this estimate."""


def estimate_seed_variance(scores: Sequence[float]) -> VarianceSource:
    """Return the variance of the mean score of at least two seeds."""
    return variance(scores) / len(scores), len(scores) - 1


def compute_t_interval(value: float, sources: Sequence[VarianceSource]) -> tuple[float, float]:
    """Return the 95 % interval of a value with independent sources of variance."""
    from scipy import special  # slow to import

    error, freedom = _combine(sources)
    half = error * float(special.stdtrit(freedom, 0.975))
    return value - half, value + half


def compute_t_p_value(value: float, sources: Sequence[VarianceSource]) -> float:
    """Return the two-sided p-value of a value's distance from 0."""
    from scipy import special  # slow to import

    error, freedom = _combine(sources)
    if not error:
        return float(value == 0)
    return 2 * float(special.stdtr(freedom, -abs(value) / error))


def _combine(sources: Sequence[VarianceSource]) -> tuple[float, float]:
    """Return the standard error and its degrees of freedom (Satterthwaite 1946)."""
    total = math.fsum(component for component, _ in sources)
    if not total:
        return 0.0, math.inf
    shares = math.fsum((component / total) ** 2 / freedom for component, freedom in sources)
    return math.sqrt(total), 1 / shares


class Difference(Config):
    """The difference between two systems in one metric, with its p-value."""

    metric: str
    first: str
    second: str
    value: float
    """Mean score of the first system's seeds minus that of the second system's."""
    p_value: float
    """Two-sided p-value, corrected for the number of pairs. Several seeds use Welch's t-test over
    seeds and sentences, a single seed uses approximate randomization."""


def average_seeds(score_of_sums: ScoreOfSums, seeds: int) -> ScoreOfSums:
    """Return a function that computes the mean score of seeds from their concatenated counts."""

    def score(sums: Float[np.ndarray, "R KC"]) -> Float[np.ndarray, " R"]:
        return np.mean([score_of_sums(seed) for seed in np.split(sums, seeds, axis=1)], axis=0)

    return score


def compute_difference_p_value(
    test: PairedTest, scores: Sequence[Sequence[float]], sentences: int
) -> float:
    """Return the two-sided p-value of a difference, over sentences and, if several, seeds.

    ``scores`` has the score of each seed for both systems.
    """
    if len(scores[0]) == 1:
        return test.compute_two_sided()
    by_sentences = float(test.bootstrap.var()), max(1, sentences - 1)
    return compute_t_p_value(test.observed, [by_sentences, *map(estimate_seed_variance, scores)])


def compare_systems(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[Reference],
    sources: Sequence[str],
    *,
    metrics: Sequence[str],
    language: str,
    resamples: int = 1000,
    trials: int = 10_000,
) -> list[Difference]:
    """Return the difference between every two systems in every testable metric.

    Each system has the raw hypotheses of the same number of seeds. Only metrics that are computed
    from sums over sentences are testable. ``language`` is the code of the target language.

    Raises:
        ConfigError: if the word tokenizer of the target language is not installed.
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
            system: metric.score_of_sums(np.stack([c.sum(axis=0) for c in by_seed])).tolist()
            for system, by_seed in counts.items()
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
            compute_difference_p_value(test, [scores[system] for system in pair], len(references))
            for pair, test in zip(pairs, tests, strict=True)
        ]
        differences += [
            Difference(
                metric=name, first=first, second=second, value=test.observed, p_value=p_value
            )
            for (first, second), test, p_value in zip(
                pairs, tests, correct_holm(p_values), strict=True
            )
        ]
    return differences
