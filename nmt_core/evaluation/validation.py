"""A score of greedy translations, for choosing the best model while it trains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

LENGTHS = SearchConfig(max_length_factor=2.0, max_length_offset=10, max_length=10_000)
"""How long translations may be: there is room for languages that take more tokens than others."""


@dataclass(frozen=True)
class ValidationScore:
    """Translates the same sentences each time it is called; scores them as the end result is.

    Attributes:
        metric: scores the translations.
        sources: raw text.
        source_numbers: token numbers per sentence, without EOS.
        references: raw text, untouched.
        target: what makes text of tokens.
        compute: device and precision.
        batch_sentences: sentences translated side by side.
    """

    metric: Metric
    sources: Sequence[str]
    source_numbers: Sequence[Sequence[int]]
    references: Sequence[str]
    target: Side
    compute: Compute
    batch_sentences: int = 64

    def first(self, sentences: int) -> "ValidationScore":
        """Return the same for the first sentences only."""
        return replace(
            self,
            sources=self.sources[:sentences],
            source_numbers=self.source_numbers[:sentences],
            references=self.references[:sentences],
        )

    def __call__(self, model: Seq2Seq[Any, Any]) -> float:
        """Return the score of a model."""
        rows_of = self.source_numbers
        hypotheses = [""] * len(rows_of)
        order = sorted(range(len(rows_of)), key=lambda number: len(rows_of[number]))
        for first in range(0, len(order), self.batch_sentences):
            numbers = order[first : first + self.batch_sentences]
            rows = [[*rows_of[number], EOS] for number in numbers]
            source = pad(rows).to(self.compute.device)
            padding = source == PAD
            limits = compute_length_limits(padding, LENGTHS)
            with self.compute.autocast():
                searched = greedy_search(model, source, padding, limits)
            for number, tokens in zip(numbers, searched, strict=True):
                hypotheses[number] = self.target.text(tokens)
        return self.metric.score(hypotheses, self.references, self.sources).value
