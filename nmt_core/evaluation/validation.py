"""BLEU of greedy translations, for choosing the best model while it trains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from nmt_core.compute import Compute
from nmt_core.data.batch import pad
from nmt_core.decoding.greedy import greedy
from nmt_core.evaluation.scores import bleu
from nmt_core.evaluation.words import check_installed
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import EOS, PAD


@dataclass(frozen=True)
class ValidationBleu:
    """Translates the same sentences each time it is called; scores them as the end result is.

    Attributes:
        sources: token numbers per sentence, without EOS.
        references: raw text, untouched.
        target: what makes text of tokens.
        language: the target language's code.
        compute: device and precision.
        batch_sentences: sentences translated side by side.

    Raises:
        ConfigError: if what cuts the target language into words is not installed.
    """

    sources: Sequence[Sequence[int]]
    references: Sequence[str]
    target: Side
    language: str
    compute: Compute
    batch_sentences: int = 64

    def __post_init__(self) -> None:
        check_installed(self.language)

    def first(self, sentences: int) -> "ValidationBleu":
        """Return the same for the first sentences alone."""
        return replace(
            self, sources=self.sources[:sentences], references=self.references[:sentences]
        )

    def __call__(self, model: Seq2Seq[Any, Any]) -> float:
        """Return the BLEU of a model, 0 to 100."""
        hypotheses = [""] * len(self.sources)
        order = sorted(range(len(self.sources)), key=lambda number: len(self.sources[number]))
        for first in range(0, len(order), self.batch_sentences):
            numbers = order[first : first + self.batch_sentences]
            rows = [[*self.sources[number], EOS] for number in numbers]
            source = pad(rows).to(self.compute.device)
            longest = torch.tensor([2 * len(row) + 10 for row in rows], device=source.device)
            with self.compute.autocast():
                found = greedy(model, source, source == PAD, longest)
            for number, tokens in zip(numbers, found, strict=True):
                hypotheses[number] = self.target.text(tokens)
        return bleu(hypotheses, self.references, language=self.language).value
