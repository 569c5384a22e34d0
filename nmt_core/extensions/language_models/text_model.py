"""A language model with its tokens: scores of texts, and generated text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, islice, pairwise
from typing import Any

import numpy as np

from nmt_core.base.random import make_generator
from nmt_core.extensions.language_models.generation import generate_tokens
from nmt_core.extensions.language_models.model import LanguageModel
from nmt_core.extensions.language_models.scoring import line_log_likelihoods, stream_log_likelihoods
from nmt_core.extensions.language_models.units import Units, blank, split_lines, unknown
from nmt_core.search.score import LogLikelihood
from nmt_core.search.settings import TokenSampling
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK


@dataclass(frozen=True)
class TextModel:
    """A language model and its units; puts the model in evaluation mode."""

    model: LanguageModel[Any]
    units: Units

    def __post_init__(self) -> None:
        self.model.eval()

    def score(self, lines: Sequence[str]) -> list[LogLikelihood]:
        """Return the log-likelihood of every line, its end included.

        Characters are read as one stream, each line after those before it; so are words and
        subwords by a model that was trained to go on from line to line. Of words and subwords, a
        blank line counts nothing, as in training.
        """
        counts = [self.units.document or not blank(line) for line in lines]
        read = list(compress(lines, counts))
        if self.units.document:
            tokens = [self.units.encode_part(f"{line}\n") for line in read]
            flat = [BOS, *(number for line in tokens for number in line)]
            ends = np.cumsum([0, *(len(line) for line in tokens)])
            nats = stream_log_likelihoods(self.model, flat)
            worth = [nats[begin:end] for begin, end in pairwise(ends)]
        else:
            encoded = [self.units.encode_line(line) for line in read]
            tokens = [line[1:] for line in encoded]
            worth = line_log_likelihoods(self.model, encoded)
        scores = iter(
            LogLikelihood(float(nats.sum()), len(numbers), unknown(numbers), len(line) + 1)
            for nats, numbers, line in zip(worth, tokens, read, strict=True)
        )
        return [next(scores) if counted else LogLikelihood() for counted in counts]

    def generate(self, length: int, sampling: TokenSampling, *, seed: int, prefix: str = "") -> str:
        """Return ``prefix`` and ``length`` more tokens.

        Args:
            length: tokens to write; ends of lines count.
            sampling: how to draw.
            seed: the same seed gives the same text.
            prefix: what to go on from.
        """
        if self.units.document:
            read, never = self.units.encode_part(prefix), [PAD, BOS, UNK, EOS]
        else:
            lines = [self.units.encode_line(line) for line in split_lines(prefix)] or [[BOS, EOS]]
            read, never = [n for line in lines for n in line][1:-1], [PAD, BOS, UNK]
        context = [BOS, *read]
        if not (self.units.document or self.model.carries):
            context = context[len(context) - 1 - context[::-1].index(BOS) :]
        tokens = generate_tokens(
            self.model, context, sampling, make_generator(seed, "generate"), never=never
        )
        return self.units.decode([*read, *islice(tokens, length)])
