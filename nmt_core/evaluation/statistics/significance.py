"""Tests of significance between systems, over test sets and seeds.

Two tests ask about the choice of sentences, two-sided, on the same resamples for all: paired
bootstrap resampling (Koehn 2004) and paired approximate randomisation (Riezler and Maxwell 2005).
The outputs of all seeds for a sentence are drawn, or exchanged, together (Clark et al. 2011). They
say nothing of other seeds. Where each system has several, a third test asks about sentences and
seeds at once (``nmt_core.evaluation.statistics.seeds``), and that is the one to go by.

Of many pairs some differ by chance alone, so p-values are corrected for their number (Holm 1979).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float

from nmt_core.base.config import Config
from nmt_core.evaluation.metric import Reference, SummedMetric
from nmt_core.evaluation.registered import load_metric
from nmt_core.evaluation.statistics.resampling import (
    PairedTest,
    ScoreOfSums,
    correct_holm,
    run_paired_test,
)
from nmt_core.evaluation.statistics.seeds import VarianceSource, compute_t_p_value, measure_seeds

SEED = 1
"""Draws the resamples."""


class Difference(Config):
    """The difference between two systems in one metric, with its p-values."""

    metric: str
    """By its name."""
    first: str
    second: str
    value: float
    """Score of the first minus that of the second, each the mean over its seeds."""
    bootstrap: float
    """p-value of paired bootstrap resampling: the share of test sets on which the difference is as
    far from the one seen as that is from none."""
    randomization: float
    """p-value of paired approximate randomisation: the share of trials in which either system is
    ahead by as much."""
    bootstrap_holm: float
    """The same, corrected for the number of pairs."""
    randomization_holm: float
    seeds: float | None = None
    """p-value over seeds and sentences; none where there is one seed."""
    seeds_holm: float | None = None

    @property
    def p_value(self) -> float:
        """The corrected one to go by: over seeds, too, where there are several."""
        return self.randomization_holm if self.seeds_holm is None else self.seeds_holm


def average_seeds(score_of_sums: ScoreOfSums, seeds: int) -> ScoreOfSums:
    """Return the mean score of seeds, from their counts side by side."""

    def score(sums: Float[np.ndarray, "R KC"]) -> Float[np.ndarray, " R"]:
        return np.mean([score_of_sums(part) for part in np.split(sums, seeds, axis=1)], axis=0)

    return score


def judge_over_seeds(
    test: PairedTest, scores: Sequence[Sequence[float]], sentences: int
) -> float | None:
    """Return the p-value of a difference over sentences and seeds; None where there is one seed.

    Args:
        test: gives the variance by the choice of sentences.
        scores: of each seed, on the whole test set, of both systems.
        sentences: their number.
    """
    if len(scores[0]) == 1:
        return None
    by_sentences = VarianceSource(float(test.drawn.var()), max(1, sentences - 1))
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

    A metric that is no function of sums over sentences is left out: it cannot be tested.

    Args:
        systems: per name, the raw hypotheses of each seed; of each system as many.
        references: raw text of each sentence.
        sources: what was translated.
        metrics: by name.
        language: of the hypotheses; a code such as en.
        resamples: of the bootstrap.
        trials: of the randomisation; its least p-value is about 1 / ``trials``.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    [number] = {len(seeds) for seeds in systems.values()}
    all_differences: list[Difference] = []
    for name in metrics:
        metric = load_metric(name, language)
        if not isinstance(metric, SummedMetric):
            continue
        counts = {
            system: [metric.counts(lines, references, sources) for lines in seeds]
            for system, seeds in systems.items()
        }
        score = average_seeds(metric.score_of_sums, number)
        scores = {
            system: metric.score_of_sums(np.stack([each.sum(axis=0) for each in seeds])).tolist()
            for system, seeds in counts.items()
        }
        pairs = list(combinations(counts, 2))
        tests = [
            run_paired_test(
                score,
                *(np.concatenate(counts[system], axis=1) for system in pair),
                resamples=resamples,
                trials=trials,
                seed=SEED,
            )
            for pair in pairs
        ]
        over_seeds = [
            judge_over_seeds(test, [scores[system] for system in pair], len(references))
            for pair, test in zip(pairs, tests, strict=True)
        ]
        all_differences += gather_differences(name, pairs, tests, over_seeds)
    return all_differences


def gather_differences(
    metric: str,
    pairs: Sequence[tuple[str, str]],
    tests: Sequence[PairedTest],
    over_seeds: Sequence[float | None],
) -> list[Difference]:
    """Return the difference of each pair in one metric, with corrected p-values."""
    p_values = [test.apart() for test in tests]
    columns = {
        "bootstrap": [values.bootstrap for values in p_values],
        "randomization": [values.randomization for values in p_values],
        "seeds": [values for values in over_seeds if values is not None],
    }
    columns |= {f"{name}_holm": correct_holm(values) for name, values in columns.items()}
    return [
        Difference(
            metric=metric,
            first=first,
            second=second,
            value=tests[number].seen,
            **{name: values[number] for name, values in columns.items() if values},
        )
        for number, (first, second) in enumerate(pairs)
    ]
