"""Check that another engine translates as PyTorch does, before it is exported."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmt_core.base.config import Config
from nmt_core.evaluation.metrics.bleu import Bleu
from nmt_core.evaluation.registered import load_metric
from nmt_core.evaluation.statistics.resampling import run_paired_test
from nmt_core.search.engine import Engine
from nmt_core.search.registered import Precision
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

LEAST_EQUAL = 0.995
"""Share of sentences that an engine in float32 must translate greedily as PyTorch does, token by
token; of the others, ties, rounding decides."""

MOST_LOST = 0.3
"""BLEU that an engine may be behind PyTorch, each with its own search."""

RESAMPLES = 1000
"""Of the bootstrap."""

SEED = 1
"""Draws them."""


class ParityText(NamedTuple):
    """Text that no training has seen."""

    sources: Sequence[str]
    references: Sequence[str]
    """Their translations."""
    language: str
    """Of the latter, a code such as en."""


class Parity(Config):
    """An engine's translations of the validation set compared with those of PyTorch."""

    sentences: int
    equal_greedy: float
    """Share of sentences that both translate token by token alike, greedily."""
    equal: float
    """The same with the configured search, as for the rest."""
    bleu: float
    bleu_torch: float
    difference: float
    """The engine's BLEU less PyTorch's."""
    low: float
    """Lower end of the difference's 95 % interval, by paired bootstrap resampling (Koehn 2004)."""
    high: float
    score_shift: float = 0.0
    """Mean difference of the scores of sentences that both translate alike."""


def measure_parity(translator: Translator, engine: Engine, text: ParityText) -> Parity:
    """Compare the translations of an engine and of a translator by PyTorch, of one model."""
    greedily = translator.config.beam.model_copy(
        update={"beam_size": 1, "n_best": 1, "stopping": "fast"}
    )
    greedy = translator.config.model_copy(update={"beam": greedily})
    both = replace(translator, engine=engine), translator
    written = [replace(each, config=greedy).search_best(text.sources) for each in both]
    beams = [each.search_best(text.sources) for each in both]
    metric = load_metric("bleu", text.language)
    assert isinstance(metric, Bleu)
    counts = [
        metric.counts([best.text for best in beam], text.references, text.sources) for beam in beams
    ]
    bleu, bleu_torch = metric.score_of_sums(np.stack([count.sum(axis=0) for count in counts]))
    test = run_paired_test(metric.score_of_sums, *counts, resamples=RESAMPLES, trials=1, seed=SEED)
    shifts = [
        one.score - other.score
        for one, other in zip(*beams, strict=True)
        if one.ids and one.ids == other.ids
    ]
    low, high = np.percentile(test.drawn, [2.5, 97.5])
    return Parity(
        sentences=len(text.sources),
        equal_greedy=_share_equal(*written),
        equal=_share_equal(*beams),
        bleu=float(bleu),
        bleu_torch=float(bleu_torch),
        difference=test.seen,
        low=float(low),
        high=float(high),
        score_shift=float(np.mean(shifts)) if shifts else 0.0,
    )


def explain_disparity(precision: Precision, parity: Parity) -> str | None:
    """Return the reason why an engine is not good enough; None if it is."""
    if precision == "float32" and parity.equal_greedy < LEAST_EQUAL:
        return (
            f"it translates {parity.equal_greedy:.1%} of {parity.sentences} sentences greedily as "
            f"PyTorch does, not {LEAST_EQUAL:.1%}"
        )
    if parity.difference <= -MOST_LOST:
        return (
            f"its BLEU is {parity.difference:+.2f} ({parity.low:+.2f} to {parity.high:+.2f}) of "
            f"PyTorch's {parity.bleu_torch:.1f}, and may be less than {MOST_LOST} behind"
        )
    return None


def _share_equal(first: Sequence[Translation], second: Sequence[Translation]) -> float:
    pairs = zip(first, second, strict=True)
    return sum(a.ids == b.ids for a, b in pairs) / max(1, len(first))
