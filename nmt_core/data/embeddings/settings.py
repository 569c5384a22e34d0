"""Settings of word vectors; this file imports no NumPy."""

from typing import Literal, Self

from pydantic import Field, model_validator

from nmt_core.base.config import Config


class LearnedEmbeddings(Config):
    """The model learns its embeddings itself, from random numbers."""

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
    """Occurrences below which a word gets no vector of its own but one composed of subwords."""

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

    equal_dimensions: bool = True
    """Refuse vectors of two lengths; false for a model that takes another width on each side."""
