"""Text in, text out: one line gives one line, in the same order, whatever it holds."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from pydantic import Field
from torch.nn.utils.rnn import pad_sequence

from nmt_core import config
from nmt_core.config import Config
from nmt_core.decoding.beam import BeamConfig, Hypothesis, beam_search
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.normalize import normalize
from nmt_core.text.tokenizer import Tokenizer
from nmt_core.vocabulary import EOS, PAD, Vocabulary

_log = logging.getLogger(__name__)


class TranslatorConfig(Config):
    """How lines become translations."""

    beam: BeamConfig = BeamConfig()
    """How to search."""

    max_tokens: int = Field(2048, ge=1)
    """Padded source tokens per batch, which hold ``beam.width`` hypotheses each; a longer line is
    searched alone."""

    max_source_tokens: int = Field(512, ge=1)
    """Tokens of a line that are translated; the rest is left out, with a warning. It bounds time
    and memory, and models know little about lines longer than those they were trained on."""


class Translation(NamedTuple):
    """One translation of one line."""

    text: str
    """A line: it holds no line end of any kind."""

    score: float
    """Length-normalised log-probability; see ``Hypothesis``."""

    tokens: tuple[str, ...]
    """What the text was made of."""

    token_probabilities: tuple[float, ...]
    """One per token, and last that of the end of the sentence."""

    ids: tuple[int, ...]
    """The tokens' numbers."""


NOTHING = Translation(text="", score=0.0, tokens=(), token_probabilities=(), ids=())
"""The translation of an empty line."""


@dataclass(frozen=True, kw_only=True)
class Translator:
    """A model with what turns text into its tokens and back; puts the model in evaluation mode."""

    model: Seq2Seq[Any, Any]
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    config: TranslatorConfig = field(default_factory=TranslatorConfig)

    def __post_init__(self) -> None:
        self.model.eval()

    def translate(self, lines: Sequence[str], *, beam: int | None = None) -> list[str]:
        """Return the best translation of every line; that of an empty line is empty.

        Args:
            lines: source text.
            beam: live hypotheses per sentence; None as configured.
        """
        return [best.text for best, *_ in self.search(lines, beam=beam, best=1)]

    def search(
        self, lines: Sequence[str], *, beam: int | None = None, best: int | None = None
    ) -> list[list[Translation]]:
        """Return one or more translations of every line, best first.

        Args:
            lines: source text.
            beam: live hypotheses per sentence; None as configured.
            best: translations per line, at most ``beam``; None as configured.

        Raises:
            ConfigError: if ``best`` exceeds ``beam``.
        """
        search = self._configure(beam, best)
        sources = [self._read(line) for line in lines]
        lengths = {row: len(source) for row, source in enumerate(sources) if source}
        found = [[NOTHING] for _ in lines]
        for rows in batches(lengths, self.config.max_tokens):
            hypotheses = self._search([sources[row] for row in rows], search)
            for row, best_first in zip(rows, hypotheses, strict=True):
                found[row] = [self._write(hypothesis) for hypothesis in best_first]
        return found

    def _configure(self, beam: int | None, best: int | None) -> BeamConfig:
        configured = self.config.beam
        width = configured.width if beam is None else beam
        best = min(configured.best, width) if best is None else best
        values = configured.model_dump() | {"width": width, "best": best}
        return config.build(BeamConfig, values, at="beam")

    def _read(self, line: str) -> list[int]:
        """Return the numbers of a line's tokens and EOS; none at all for a line without tokens."""
        tokens = self.source_tokenizer.encode(normalize(line))
        kept = tokens[: self.config.max_source_tokens]
        if len(kept) < len(tokens):
            _log.warning(
                "a line has %d tokens, of which the first %d are translated; cut it into sentences "
                "or raise max_source_tokens: %.60s",
                len(tokens),
                len(kept),
                normalize(line),
            )
        return [*self.source_vocabulary.encode(kept), EOS] if kept else []

    def _search(self, sources: list[list[int]], search: BeamConfig) -> list[list[Hypothesis]]:
        rows = [torch.tensor(source) for source in sources]
        source = pad_sequence(rows, batch_first=True, padding_value=PAD)
        source = source.to(next(self.model.parameters()).device)
        return beam_search(self.model, source, source == PAD, search)

    def _write(self, hypothesis: Hypothesis) -> Translation:
        tokens = self.target_vocabulary.decode(hypothesis.tokens)
        return Translation(
            text=normalize(self.target_tokenizer.decode(tokens)),
            score=hypothesis.score,
            tokens=tuple(tokens),
            token_probabilities=tuple(math.exp(log) for log in hypothesis.token_log_probs),
            ids=hypothesis.tokens,
        )


def batches(lengths: Mapping[int, int], max_tokens: int) -> Iterator[list[int]]:
    """Yield the keys in batches of similar length, longest first, with room for their padding."""
    batch: list[int] = []
    for row in sorted(lengths, key=lambda row: (-lengths[row], row)):
        if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
