"""Scores of greedy translations, which select the best checkpoint in training."""

from collections.abc import Sequence
from typing import Any

from nmt_core.base.compute import Compute
from nmt_core.data.batch import pad
from nmt_core.evaluation.metric import Metric
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.rules import compute_length_limits
from nmt_core.search.settings import SearchConfig
from nmt_core.search.stepwise import greedy_search
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import EOS, PAD

LENGTH_LIMITS = SearchConfig(max_length_factor=2.0, max_length_offset=10, max_length=10_000)
"""Length limits of translations, large enough for target languages with more tokens."""

BATCH_SENTENCES = 64
"""Sentences per batch."""


def score_greedy(
    model: Seq2Seq[Any, Any],
    *,
    metric: Metric,
    sources: Sequence[str],
    source_numbers: Sequence[Sequence[int]],
    references: Sequence[str],
    target: Side,
    compute: Compute,
) -> float:
    """Return the score of a model's greedy translations.

    Sources and references are raw text. ``source_numbers`` are the token IDs of each source,
    without EOS. ``target`` converts token IDs to text.
    """
    hypotheses = [""] * len(source_numbers)
    order = sorted(range(len(source_numbers)), key=lambda number: len(source_numbers[number]))
    for first in range(0, len(order), BATCH_SENTENCES):
        numbers = order[first : first + BATCH_SENTENCES]
        source = pad([[*source_numbers[number], EOS] for number in numbers]).to(compute.device)
        padding = source == PAD
        limits = compute_length_limits(padding, LENGTH_LIMITS)
        with compute.autocast():
            searched = greedy_search(model, source, padding, limits)
        for number, tokens in zip(numbers, searched, strict=True):
            hypotheses[number] = target.text(tokens)
    return metric.score(hypotheses, references, sources).value
