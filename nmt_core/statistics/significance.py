"""Whether one system is better than another, or the test set was kind to it.

Both tests are two-sided, on the same resamples for all: paired bootstrap resampling (Koehn 2004)
and paired approximate randomisation (Riezler and Maxwell 2005). Of many pairs some differ by chance
alone, so p-values are corrected for their number (Holm 1979).

A system trained with several seeds is one system: its outputs for a sentence are drawn, or
exchanged, together (Clark et al. 2011). What the tests judge is the choice of sentences, not seeds.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from nmt_core.config import Config
from nmt_core.evaluation.metrics.base import Counts, SummedMetric
from nmt_core.evaluation.metrics.registered import load_metric
from nmt_core.statistics.resampling import run_paired_test

SEED = 1
"""Draws the resamples."""


class Difference(Config):
    """How two systems differ in one metric, and how probable as much would be by chance."""

    metric: str
    """By its name."""
    first: str
    second: str
    value: float
    """Score of the first minus that of the second, all seeds of a system scored as one text."""
    bootstrap: float
    """p-value of paired bootstrap resampling: the share of test sets on which the difference is as
    far from the one seen as that is from none."""
    randomization: float
    """p-value of paired approximate randomisation: the share of trials in which either system is
    ahead by as much."""
    bootstrap_holm: float
    """The same, corrected for the number of pairs."""
    randomization_holm: float


def compare_all(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    sources: Sequence[str],
    *,
    metrics: Sequence[str],
    language: str,
    resamples: int = 1000,
    trials: int = 10_000,
) -> list[Difference]:
    """Return how every two systems differ, metric by metric.

    A metric that is no function of sums over sentences is left out: it cannot be tested.

    Args:
        systems: per name, the raw hypotheses of each seed.
        references: raw text, one per hypothesis.
        sources: what was translated.
        metrics: by name.
        language: of the hypotheses; a code such as en.
        resamples: of the bootstrap.
        trials: of the randomisation; no p-value is below one in so many.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    found: list[Difference] = []
    for name in metrics:
        metric = load_metric(name, language)
        if not isinstance(metric, SummedMetric):
            continue
        counts: dict[str, Counts] = {
            system: np.sum([metric.counts(lines, references, sources) for lines in seeds], axis=0)
            for system, seeds in systems.items()
        }
        pairs = list(combinations(counts, 2))
        tests = [
            run_paired_test(
                metric.score_of_sums,
                *(counts[system] for system in pair),
                resamples=resamples,
                trials=trials,
                seed=SEED,
            )
            for pair in pairs
        ]
        p_values = [test.apart() for test in tests]
        corrected = [correct_holm([p[kind] for p in p_values]) for kind in range(2)]
        found += [
            Difference(
                metric=name,
                first=first,
                second=second,
                value=test.seen,
                bootstrap=p.bootstrap,
                randomization=p.randomization,
                bootstrap_holm=bootstrap,
                randomization_holm=randomization,
            )
            for (first, second), test, p, bootstrap, randomization in zip(
                pairs, tests, p_values, *corrected, strict=True
            )
        ]
    return found


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
