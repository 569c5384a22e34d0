"""Settings of search; this file imports no torch."""

from array import array
from typing import Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config, build

Unknown = Literal["forbid", "copy", "write"]


class SearchConfig(Config):
    """Scores and constraints of translations in any search."""

    length_penalty: float = Field(1.0, ge=0, le=10)
    """Exponent a in score = log-probability / length ** a, where EOS counts as a token; 0 compares
    sums and favours short output, 1 compares means per token."""

    max_length_factor: float = Field(1.5, ge=0, le=1000)
    """Maximum target tokens per source token; ``max_length_offset`` is added."""

    max_length_offset: int = Field(10, ge=1, le=10_000)
    """Target tokens added to the maximum, mainly for short sentences."""

    max_length: int = Field(256, ge=1, le=10_000)
    """Maximum target tokens of any sentence, EOS included; only a prefix may be longer."""

    unknown: Unknown = "forbid"
    """Treatment of the unknown token. ``forbid`` writes the next best token, the right choice for
    subwords. ``copy`` writes the source word with the highest attention, for models of words;
    without attention, it is ``forbid``. ``write`` leaves ``<unk>`` in the text."""

    no_repeat_ngram_size: int = Field(0, ge=0)
    """Size of n-grams that must not repeat in a hypothesis; 0 turns this off, and sizes below 3
    harm good translations."""

    def limit_length(self, source_tokens: int) -> int:
        """Return the maximum tokens of a hypothesis; EOS counts on both sides.

        Uses single precision, like ``compute_length_limits`` for a batch.
        """
        [factor] = array("f", [self.max_length_factor])
        [scaled] = array("f", [source_tokens * factor])
        return min(int(scaled) + self.max_length_offset, self.max_length)


class BeamConfig(SearchConfig):
    """Settings of beam search."""

    beam_size: int = Field(5, ge=1, le=1000)
    """Live hypotheses per sentence; 1 is greedy search."""

    n_best: int = Field(1, ge=1)
    """Hypotheses to return per sentence, at most ``beam_size``; more make exact stopping slower."""

    stopping: Literal["exact", "fast"] = "exact"
    """When a sentence is finished: ``exact``, when no live hypothesis can enter its ``n_best`` any
    more; ``fast``, when ``beam_size`` hypotheses have ended, which misses better hypotheses that
    end later."""

    diversity: float = Field(0.0, ge=0, le=1000)
    """Diversity penalty in nats: selecting beams, a hypothesis's second-best continuation loses it
    once, its third-best twice, and so on (Li, Monroe and Jurafsky 2016). Scores do not change. 0
    turns it off; around 1 makes the ``n_best`` differ."""

    @model_validator(mode="after")
    def _check(self) -> "BeamConfig":
        if self.n_best > self.beam_size:
            raise ValueError(
                f"n_best ({self.n_best}) exceeds beam_size ({self.beam_size}); change one of them"
            )
        return self

    def change(self, **changes: float | None) -> "BeamConfig":
        """Return a copy with changed settings; None changes nothing, fewer beams lower ``n_best``.

        Raises:
            ConfigError: if the settings are invalid together.
        """
        values = {name: value for name, value in changes.items() if value is not None}
        if values.items() <= dict(self).items():  # a shortcut for most requests of a server
            return self
        limited = {"n_best": min(self.n_best, values.get("beam_size", self.beam_size))}
        return build(BeamConfig, self.model_dump() | limited | values, at="beam")


class TokenSampling(Config):
    """Settings of drawing a token."""

    temperature: float = Field(1.0, ge=0)
    """Divisor of log-probabilities: 1 keeps the model's distribution, smaller values favour likely
    tokens, and 0 takes the most likely token."""
    top_k: int | None = Field(None, ge=1)
    """Draw only from this many most likely tokens (Fan et al. 2018); null draws from all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Nucleus sampling: draw only from the most likely tokens that together have this probability,
    after temperature and ``top_k`` (Holtzman et al. 2020)."""


class SamplingConfig(TokenSampling):
    """Settings of sampling."""

    samples: int = Field(1, ge=1, le=1000)
    """Translations per sentence, drawn independently, so some may be equal."""

    seed: int = Field(1, ge=0)
    """Seed of the random draws."""
