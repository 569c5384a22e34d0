"""Settings of search; this file imports no torch."""

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from nmt_core.base.config import Config, build

Unknown = Literal["forbid", "copy", "write"]


class SearchConfig(Config):
    """Scores and constraints of translations in any search."""

    length_penalty: float = Field(1.0, ge=0, le=10)
    """Exponent a in score = log-probability / length ** a, the end of the sentence counted; 0
    compares sums and favours short output, 1 compares means per token."""

    max_length_factor: float = Field(1.5, ge=0, le=1000)
    """Target tokens per source token that a hypothesis may have; the next setting is added."""

    max_length_offset: int = Field(10, ge=1, le=10_000)
    """Target tokens that a hypothesis may have beyond that, so that short sentences have room."""

    max_length: int = Field(256, ge=1, le=10_000)
    """Target tokens that no hypothesis exceeds, the end of the sentence included; only a given
    beginning may be longer."""

    unknown: Unknown = "forbid"
    """Treatment of the unknown token. ``forbid`` writes the next best token; models of subwords
    need nothing else. ``copy`` writes the source word with the highest attention, for models of
    words; without attention it forbids. ``write`` leaves ``<unk>`` in the text."""

    no_repeat_ngram_size: int = Field(0, ge=0)
    """Size of n-grams that must not repeat in a hypothesis; 0 turns this off, and sizes below 3
    harm good translations."""

    def limit_length(self, source_tokens: int) -> int:
        """Return how many tokens a hypothesis of a sentence may have, EOS included on both sides.

        In single precision, as ``compute_length_limits`` computes it for a batch.
        """
        scaled = np.float32(source_tokens) * np.float32(self.max_length_factor)
        return min(int(scaled) + self.max_length_offset, self.max_length)


class BeamConfig(SearchConfig):
    """Settings of beam search."""

    beam_size: int = Field(5, ge=1, le=1000)
    """Live hypotheses per sentence; 1 follows the single best token."""

    n_best: int = Field(1, ge=1)
    """Hypotheses to return per sentence, at most ``beam_size``; more of them take longer to be
    sure."""

    stopping: Literal["exact", "fast"] = "exact"
    """When a sentence is done: ``exact``, when no live hypothesis can enter its ``n_best`` any
    more; ``fast``, when ``beam_size`` hypotheses have ended, which misses better ones that end
    later."""

    diversity: float = Field(0.0, ge=0, le=1000)
    """Nats that each next-best continuation of the same hypothesis is set back when choosing whom
    to keep, so that different beginnings live on (Li, Monroe and Jurafsky 2016); scores stay the
    model's own. 0 keeps the best; around 1 makes the ``n_best`` differ."""

    @model_validator(mode="after")
    def _check(self) -> "BeamConfig":
        if self.n_best > self.beam_size:
            raise ValueError(f"n_best ({self.n_best}) may not exceed beam_size ({self.beam_size})")
        return self

    def change(self, **changes: float | None) -> "BeamConfig":
        """Return these settings with some others, but None; of fewer beams no more are returned.

        Raises:
            ConfigError: if they do not go together.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if given.items() <= dict(self).items():  # as of most sentences that are served
            return self
        fewer = {"n_best": min(self.n_best, given.get("beam_size", self.beam_size))}
        return build(BeamConfig, self.model_dump() | fewer | given, at="beam")


class TokenSampling(Config):
    """Settings of drawing a token."""

    temperature: float = Field(1.0, ge=0)
    """What log-probabilities are divided by before drawing: 1 draws as the model says, less makes
    likely tokens likelier, and 0 takes the likeliest."""
    top_k: int | None = Field(None, ge=1)
    """Draw from so many of the likeliest tokens alone (Fan et al. 2018); null draws from all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the fewest of the likeliest tokens that have this probability together, of what
    temperature and ``top_k`` leave (Holtzman et al. 2020)."""


class SamplingConfig(TokenSampling):
    """Settings of sampling."""

    samples: int = Field(1, ge=1, le=1000)
    """Translations per sentence, drawn apart from each other, so that some may be equal."""

    seed: int = Field(1, ge=0)
    """Another seed draws other translations."""
