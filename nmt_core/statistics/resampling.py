"""Scores of thousands of resampled test sets at once, from what each sentence adds to the counts.

BLEU and chrF are functions of sums over sentences. sacreBLEU counts; here the sums of all resamples
are one matrix product, and the functions, the same as sacreBLEU's, take them all together.

Letters: N sentences, C counts of a sentence, R resamples.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from nmt_core.evaluation.scores import bleu_metric, chrf_metric
from nmt_core.random import generator

MetricName = Literal["BLEU", "chrF2"]
Counts = Float[np.ndarray, "N C"]
Formula = Callable[[Float[np.ndarray, "R C"]], Float[np.ndarray, " R"]]

ORDERS = 4
"""Longest n-grams of BLEU, in words."""

CHUNK = 1000
"""Resamples whose choices are held in memory together."""


def counts_of(
    metric: MetricName, hypotheses: Sequence[str], references: Sequence[str], *, language: str
) -> Counts:
    """Return what each sentence adds to a metric's counts, by sacreBLEU.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    counter = bleu_metric(language) if metric == "BLEU" else chrf_metric()
    found = counter._extract_corpus_statistics(list(hypotheses), [list(references)])  # noqa: SLF001
    return np.asarray(found, dtype=np.float64).reshape(len(references), -1)


def bleu_of_sums(sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
    """Return BLEU (0-100) of summed counts: lengths, matches per order, n-grams per order.

    An order without a match counts as half a match, the next one as a quarter, and so on (Chen and
    Cherry 2014, method 3), as sacreBLEU does by default.
    """
    length, reference = sums[:, 0], sums[:, 1]
    matches, total = sums[:, 2 : 2 + ORDERS], sums[:, 2 + ORDERS : 2 + 2 * ORDERS]
    nothing = (matches == 0) & (total > 0)
    smoothed = np.where(nothing, 0.5 ** np.cumsum(nothing, axis=1), matches)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.where(total > 0, smoothed / total, 0.0)
        brevity = np.exp(np.minimum(0.0, 1 - reference / length))
        score = 100 * brevity * np.exp(np.log(precisions).mean(axis=1))
    return np.where(matches.any(axis=1) & (total > 0).all(axis=1), score, 0.0)


def chrf_of_sums(sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
    """Return chrF2 (0-100) of summed counts: per order, those of hypothesis, reference and both."""
    ours, theirs, both = (sums[:, first::3] for first in range(3))
    present = (ours > 0) & (theirs > 0)
    orders = np.maximum(1, present.sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(present, both / ours, 0.0).sum(axis=1) / orders
        recall = np.where(present, both / theirs, 0.0).sum(axis=1) / orders
        score = 100 * 5 * precision * recall / (4 * precision + recall)
    return np.where(precision + recall > 0, score, 0.0)


FORMULAS: dict[MetricName, Formula] = {"BLEU": bleu_of_sums, "chrF2": chrf_of_sums}


def difference(formula: Formula, first: Counts, second: Counts) -> float:
    """Return the score of the first system minus that of the second, on the whole test set."""
    one, other = formula(np.stack([first.sum(axis=0), second.sum(axis=0)]))
    return float(one - other)


def bootstrapped(
    formula: Formula, first: Counts, second: Counts, *, resamples: int, seed: int
) -> Float[np.ndarray, " R"]:
    """Return the differences on test sets drawn with replacement (Koehn 2004)."""
    chosen = (_drawn(len(first), number, seed) for number in _chunks(resamples))
    return np.concatenate([formula(draw @ first) - formula(draw @ second) for draw in chosen])


def exchanged(
    formula: Formula, first: Counts, second: Counts, *, trials: int, seed: int
) -> Float[np.ndarray, " R"]:
    """Return the differences if, sentence by sentence, chance decides which system it was from.

    This is approximate randomisation (Riezler and Maxwell 2005).
    """
    change, base, other = second - first, first.sum(axis=0), second.sum(axis=0)
    moved = (_flips(len(first), number, seed) @ change for number in _chunks(trials))
    return np.concatenate([formula(base + sums) - formula(other - sums) for sums in moved])


def p_value(as_extreme: Bool[np.ndarray, " R"]) -> float:
    """Return the share of resamples as extreme as what was seen, which is one of them.

    Ties count: leaving them out would make sure of what differs in a few sentences alone.
    """
    return float(1 + as_extreme.sum()) / (1 + len(as_extreme))


def _chunks(total: int) -> list[tuple[int, int]]:
    """Return the number and the rows of each chunk."""
    return [(n, min(CHUNK, total - start)) for n, start in enumerate(range(0, total, CHUNK))]


@lru_cache(maxsize=2)
def _drawn(sentences: int, chunk: tuple[int, int], seed: int) -> Float[np.ndarray, "R N"]:
    """Return how often each sentence is drawn for each of a chunk of test sets."""
    number, rows = chunk
    draw = generator(seed, "bootstrap", number)
    chance = np.full(sentences, 1 / sentences)
    return draw.multinomial(sentences, chance, size=rows).astype(np.float64)


@lru_cache(maxsize=2)
def _flips(sentences: int, chunk: tuple[int, int], seed: int) -> Float[np.ndarray, "R N"]:
    """Return 1 where a sentence's two translations are exchanged, for a chunk of trials."""
    number, rows = chunk
    draw = generator(seed, "exchange", number)
    return draw.integers(0, 2, size=(rows, sentences)).astype(np.float64)
