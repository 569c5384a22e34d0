"""Settings of batching; this file imports no NumPy."""

from typing import Annotated, Literal, Self

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


class MixtureConfig(Config):
    """The shares of several corpora."""

    temperature: float = Field(1.0, ge=0.1, le=100)
    """The share of a corpus is in proportion to (weight x pairs)^(1/temperature) (Arivazhagan et
    al. 2019): 1 takes weights as they are, more brings large and small corpora nearer."""
    untagged: float = Field(0.1, ge=0, le=1)
    """Share of tagged pairs that are read without their tag, drawn anew in every epoch, so that
    text without a tag is translated well, too."""


class AugmentationConfig(Config):
    """Share of the training pairs that each modifier changes, drawn anew in every epoch."""

    def __bool__(self) -> bool:
        """Tell whether anything is modified."""
        return any(self.model_dump().values())

    symbols: float = Field(0.0, ge=0, le=1)
    """Symbols in the place of numbers, names and other literals that stand on both sides, which
    the model so learns to copy."""
    no_final_stop: float = Field(0.0, ge=0, le=1)
    """No full stop at the end, on both sides."""
    typing_errors: float = Field(0.0, ge=0, le=1)
    """Letters mistyped, swapped, left out or typed twice, in one word of eight."""
    punctuation: float = Field(0.0, ge=0, le=1)
    """Other quotation marks, dashes and spaces."""
    merged: float = Field(0.0, ge=0, le=1)
    """Another pair behind this one, on both sides."""


BatchingConfig = Annotated[TokenBatching | BucketBatching, Field(discriminator="kind")]


class LearnedEmbeddings(Config):
    """The model learns its embeddings, from random numbers."""

    kind: Literal["none"] = "none"
    """The tag of this choice."""


class TrainedVectors(Config):
    """Vectors that fastText learns from the training text, per language."""

    kind: Literal["train"] = "train"
    """The tag of this choice."""

    objective: Literal["skipgram", "cbow"] = "skipgram"
    """Predict the words around a word, or the word from those around; skipgram as published."""

    dimensions: int = Field(300, ge=1, le=10_000)
    """Numbers per vector; 300 as in the published vectors."""

    epochs: int = Field(10, ge=1, le=10_000)
    """Passes over the text; fewer than 10 on a small text make all vectors alike."""

    min_count: int = Field(5, ge=1)
    """Words below this number of occurrences get vectors composed of subwords."""

    learning_rate: float = Field(0.05, gt=0)
    """At the start; falls to 0 in a straight line. 0.05 is fastText's own."""

    min_n: int = Field(3, ge=0, le=100)
    """Letters in the shortest subwords."""

    max_n: int = Field(6, ge=0, le=100)
    """Letters in the longest subwords; 0 for none, then rare words have no vector."""

    buckets: int = Field(200_000, ge=1, le=100_000_000)
    """Vectors that all subwords share; fastText's own 2,000,000 take 2.4 GB at 300 dimensions."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_n and not 1 <= self.min_n <= self.max_n:
            raise ValueError(
                f"min_n must be from 1 to max_n ({self.max_n}), got {self.min_n}; "
                f"set max_n to 0 for no subwords"
            )
        return self


class GivenVectors(Config):
    """Vectors that the download stage has brought, such as fastText's of Wikipedia."""

    kind: Literal["vectors"] = "vectors"
    """The tag of this choice."""
