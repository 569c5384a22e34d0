"""Settings of batching; this file imports no NumPy."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config


class TokenBatching(Config):
    """Batches of about as many padded tokens each, from pairs sorted by length."""

    kind: Literal["tokens"] = "tokens"
    """The tag of this choice."""
    max_tokens: int = Field(1024, ge=1, le=100_000_000)
    """Padded tokens per batch on the longer side: rows times the longest sentence with its end."""
    pool_batches: int = Field(200, ge=1, le=1_000_000)
    """Batches' worth of pairs sorted together; more waste less padding, fewer shuffle better."""


class BucketBatching(Config):
    """Batches of equally many sentences, bucketed by source length (van der Goten 2018)."""

    kind: Literal["buckets"] = "buckets"
    """The tag of this choice."""
    batch_size: int = Field(8, ge=1, le=1_000_000)
    """Sentence pairs per batch."""
    boundaries: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    """Source lengths, in tokens, at which a new bucket begins."""
    shuffle_pairs: int = Field(1000, ge=1, le=1_000_000_000)
    """Pairs in the buffer from which the next pair is drawn."""


class Phase(Config):
    """A part of the training that reads some of the corpora."""

    corpora: tuple[str, ...] = ()
    """Names of corpora; none stands for all."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens, ends of sentences counted, after which the next phase begins; null for the
    last phase alone."""


class MixtureConfig(Config):
    """The shares of several corpora."""

    temperature: float = Field(1.0, ge=0.1, le=100)
    """1 takes weights as they are; more brings shares of large and small corpora nearer to each
    other: one is in proportion to (weight x pairs)^(1/temperature) (Arivazhagan et al. 2019)."""
    untagged: float = Field(0.1, ge=0, le=1)
    """Share of the pairs of corpora with a tag that are read without it, drawn anew in every epoch,
    so that text whose tag nobody chooses is translated well, too."""
    phases: tuple[Phase, ...] = ()
    """Parts of the training in order, such as ``[{tokens: 20000000}, {corpora: [own]}]``: all
    corpora until 20 million target tokens, then only ``own``."""

    @model_validator(mode="after")
    def _check(self) -> "MixtureConfig":
        for number, phase in enumerate(self.phases, start=1):
            if (phase.tokens is None) != (number == len(self.phases)):
                raise ValueError(
                    f"phases: each but the last ends after a number of tokens, and the last with "
                    f"the budget, but phase {number} of {len(self.phases)} has "
                    f"tokens {'null' if phase.tokens is None else phase.tokens}"
                )
        return self


class AugmentationConfig(Config):
    """Share of the training pairs that each modifier changes, drawn anew in every epoch.

    Modifiers change what is read, not what is learnt to be written, but where said.
    """

    def __bool__(self) -> bool:
        """Tell whether anything is modified."""
        return any(self.model_dump().values())

    symbols: float = Field(0.0, ge=0, le=1)
    """Symbols in the place of numbers, names and other literals that stand on both sides, which
    the model so learns to copy."""
    lower: float = Field(0.0, ge=0, le=1)
    """No capitals."""
    title: float = Field(0.0, ge=0, le=1)
    """A capital at the beginning of every word."""
    capitals: float = Field(0.0, ge=0, le=1)
    """Capitals alone, on both sides; a line wholly in capitals needs none of this, as it is
    translated in the ordinary case."""
    no_final_stop: float = Field(0.0, ge=0, le=1)
    """No full stop at the end, on both sides."""
    no_accents: float = Field(0.0, ge=0, le=1)
    """Letters without accents."""
    typing_errors: float = Field(0.0, ge=0, le=1)
    """Letters mistyped, swapped, left out or typed twice, in one word of eight."""
    punctuation: float = Field(0.0, ge=0, le=1)
    """Other quotation marks, dashes and spaces."""
    merged: float = Field(0.0, ge=0, le=1)
    """Another pair behind this one, on both sides."""


BatchingConfig = Annotated[TokenBatching | BucketBatching, Field(discriminator="kind")]
