"""Whether one system is better than another, or the test set was kind to it.

Both tests are sacreBLEU's, on the same resamples for all: paired bootstrap resampling (Koehn 2004)
and paired approximate randomisation (Riezler and Maxwell 2005). Of many pairs some differ by chance
alone, so p-values are corrected for their number (Holm 1979).

A system trained with several seeds is one system: its outputs for a sentence are drawn, or
exchanged, together (Clark et al. 2011). What the tests judge is the choice of sentences, not seeds.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from nmt_core.config import Config

SEED = 12345
"""Draws the resamples; sacreBLEU's own."""


class Difference(Config):
    """How two systems differ in one metric, and how probable as much would be by chance."""

    metric: Literal["BLEU", "chrF2"]
    first: str
    second: str
    value: float
    """Score of the first minus that of the second, all seeds of a system scored as one text."""
    bootstrap: float
    """p-value of paired bootstrap resampling."""
    randomization: float
    """p-value of paired approximate randomisation."""
    bootstrap_holm: float
    """The same, corrected for the number of pairs."""
    randomization_holm: float


class _Pooled(Metric):
    """Scores a sentence's translations by all seeds together; its statistics are counts."""

    def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
        count = super()._extract_corpus_statistics
        counts = [count(list(texts), references) for texts in zip(*hypotheses, strict=True)]
        return np.sum(counts, axis=0).tolist()


class _PooledBleu(_Pooled, BLEU):
    """BLEU of all seeds' translations as one text."""


class _PooledChrf(_Pooled, CHRF):
    """chrF of all seeds' translations as one text."""


METRICS: dict[Literal["BLEU", "chrF2"], type[Metric]] = {"BLEU": _PooledBleu, "chrF2": _PooledChrf}


def differences(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    *,
    resamples: int = 1000,
    trials: int = 10_000,
) -> list[Difference]:
    """Return how every two systems differ, in BLEU and then in chrF.

    Args:
        systems: per name, the raw hypotheses of each seed.
        references: raw text, one per hypothesis.
        resamples: of the bootstrap.
        trials: of the randomisation; no p-value is below one in so many.
    """
    texts = {name: list(zip(*seeds, strict=True)) for name, seeds in systems.items()}
    found: list[Difference] = []
    for name, metric in METRICS.items():
        uncorrected = []
        for first, second in combinations(texts, 2):
            pair = (texts[first], texts[second], references)
            value, bootstrap = _test(metric(), "bs", resamples, *pair)
            _, randomization = _test(metric(), "ar", trials, *pair)
            uncorrected.append(
                Difference(
                    metric=name,
                    first=first,
                    second=second,
                    value=value,
                    bootstrap=bootstrap,
                    randomization=randomization,
                    bootstrap_holm=bootstrap,
                    randomization_holm=randomization,
                )
            )
        found += _corrected(uncorrected)
    return found


def _test(
    metric: Metric,
    kind: Literal["bs", "ar"],
    samples: int,
    first: Sequence[Any],
    second: Sequence[Any],
    references: Sequence[str],
) -> tuple[float, float]:
    """Return the difference of two scores and its p-value."""
    systems = [("first", first), ("second", second)]
    test = PairedTest(systems, {"": metric}, [list(references)], kind, n_samples=samples)
    test._seed = SEED  # noqa: SLF001 - or the environment would decide
    _, results = test()
    [(one, other)] = [found for name, found in results.items() if name != "System"]
    assert not isinstance(one, str)
    assert not isinstance(other, str)
    assert other.p_value is not None
    value = float(one.score - other.score)
    # it counts larger differences than the one seen, so that none at all would seem rare
    return value, float(other.p_value) if value else 1.0


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
