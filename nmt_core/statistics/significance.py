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
from nmt_core.statistics.resampling import (
    FORMULAS,
    Counts,
    MetricName,
    bootstrapped,
    counts_of,
    difference,
    exchanged,
    p_value,
)

SEED = 1
"""Draws the resamples."""


class Difference(Config):
    """How two systems differ in one metric, and how probable as much would be by chance."""

    metric: MetricName
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


def differences(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    *,
    language: str,
    resamples: int = 1000,
    trials: int = 10_000,
) -> list[Difference]:
    """Return how every two systems differ, in BLEU and then in chrF.

    Args:
        systems: per name, the raw hypotheses of each seed.
        references: raw text, one per hypothesis.
        language: of the text; a code such as en.
        resamples: of the bootstrap.
        trials: of the randomisation; no p-value is below one in so many.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    found: list[Difference] = []
    for name in FORMULAS:
        counts = {
            system: np.sum(
                [counts_of(name, lines, references, language=language) for lines in seeds], axis=0
            )
            for system, seeds in systems.items()
        }
        found += _corrected(
            [
                _difference(name, pair, counts, resamples=resamples, trials=trials)
                for pair in combinations(counts, 2)
            ]
        )
    return found


def _difference(
    metric: MetricName,
    pair: tuple[str, str],
    counts: Mapping[str, Counts],
    *,
    resamples: int,
    trials: int,
) -> Difference:
    """Measure and test the difference of two systems, from what each sentence counts."""
    formula = FORMULAS[metric]
    first, second = (counts[system] for system in pair)
    found = difference(formula, first, second)
    drawn = bootstrapped(formula, first, second, resamples=resamples, seed=SEED)
    chance = exchanged(formula, first, second, trials=trials, seed=SEED)
    bootstrap = p_value(np.abs(drawn - found) >= abs(found))
    randomization = p_value(np.abs(chance) >= abs(found))
    return Difference(
        metric=metric,
        first=pair[0],
        second=pair[1],
        value=found,
        bootstrap=bootstrap,
        randomization=randomization,
        bootstrap_holm=bootstrap,
        randomization_holm=randomization,
    )


def _corrected(differences_of_a_metric: list[Difference]) -> list[Difference]:
    bootstrap = holm([pair.bootstrap for pair in differences_of_a_metric])
    randomization = holm([pair.randomization for pair in differences_of_a_metric])
    return [
        pair.model_copy(update={"bootstrap_holm": b, "randomization_holm": r})
        for pair, b, r in zip(differences_of_a_metric, bootstrap, randomization, strict=True)
    ]


def holm(p_values: Sequence[float]) -> list[float]:
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
