"""Settings of batches, mixtures, augmentation and word vectors; this file imports no NumPy."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from nmt_core.base.config import Config


class TokenBatching(Config):
    """Batches with about the same number of padded tokens, from pairs sorted by length."""

    kind: Literal["tokens"] = "tokens"
    """Selects these settings."""
    max_tokens: int = Field(1024, ge=1, le=100_000_000)
    """Maximum padded tokens per batch on the longer side, EOS included."""
    pool_batches: int = Field(200, ge=1, le=1_000_000)
    """Batches whose pairs are sorted together: more reduce padding, fewer shuffle better."""


class BucketBatching(Config):
    """Batches with the same number of sentences, bucketed by source length (van der Goten 2018)."""

    kind: Literal["buckets"] = "buckets"
    """Selects these settings."""
    batch_size: int = Field(8, ge=1, le=1_000_000)
    """Sentence pairs per batch."""
    boundaries: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    """Source lengths, in tokens, at which a new bucket begins."""
    shuffle_pairs: int = Field(1000, ge=1, le=1_000_000_000)
    """Pairs in the buffer from which the next pair is drawn."""


class MixtureConfig(Config):
    """How several corpora are sampled."""

    temperature: float = Field(1.0, ge=0.1, le=100)
    """The share of a corpus is in proportion to (weight x pairs)^(1/temperature) (Arivazhagan et
    al. 2019). 1 keeps the weights; larger values sample small corpora more often."""
    untagged: float = Field(0.1, ge=0, le=1)
    """Share of tagged pairs that are read without their tag, drawn again in every epoch, so that
    the model also translates text without a tag."""


class AugmentationConfig(Config):
    """Share of training pairs that each modifier changes, drawn again in every epoch."""

    def __bool__(self) -> bool:
        """Return whether any modifier is on."""
        return any(self.model_dump().values())

    symbols: float = Field(0.0, ge=0, le=1)
    """Replace numbers, names and other literals that occur on both sides by symbols, so that the
    model learns to copy symbols."""
    no_final_stop: float = Field(0.0, ge=0, le=1)
    """Remove the full stop at the end of both sides."""
    typing_errors: float = Field(0.0, ge=0, le=1)
    """Mistype, swap, omit or double a letter in one word of eight, in the source."""
    punctuation: float = Field(0.0, ge=0, le=1)
    """Replace quotation marks, dashes and spaces in the source."""
    merged: float = Field(0.0, ge=0, le=1)
    """Append another pair, on both sides."""


BatchingConfig = Annotated[TokenBatching | BucketBatching, Field(discriminator="kind")]


class LearnedEmbeddings(Config):
    """Embeddings are initialized at random and learned by the model."""

    kind: Literal["none"] = "none"
    """Selects these settings."""


class TrainedVectors(Config):
    """Vectors that fastText trains on the training text of each language."""

    kind: Literal["train"] = "train"
    """Selects these settings."""

    objective: Literal["skipgram", "cbow"] = "skipgram"
    """Predict the context from a word (skipgram, as in the paper), or the reverse (cbow)."""

    dimensions: int = Field(300, ge=1, le=10_000)
    """Dimensions of a vector; the published fastText vectors have 300."""

    epochs: int = Field(10, ge=1, le=10_000)
    """Passes over the text; on a small text, fewer than 10 leave all vectors similar."""

    min_count: int = Field(5, ge=1)
    """Minimum occurrences of a word; rarer words get vectors composed of subwords."""

    learning_rate: float = Field(0.05, gt=0)
    """Initial learning rate, which decays linearly to 0; 0.05 is fastText's default."""

    min_n: int = Field(3, ge=0, le=100)
    """Minimum number of letters of a subword."""

    max_n: int = Field(6, ge=0, le=100)
    """Maximum number of letters of a subword; 0 turns off subwords and vectors of rare words."""

    buckets: int = Field(200_000, ge=1, le=100_000_000)
    """Hash buckets for subwords; fastText's default, 2,000,000, takes 2.4 GB at 300 dimensions."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_n and not 1 <= self.min_n <= self.max_n:
            raise ValueError(
                f"min_n must be from 1 to max_n ({self.max_n}), got {self.min_n}; "
                f"set max_n to 0 to turn subwords off"
            )
        return self


class GivenVectors(Config):
    """Pretrained vectors from the download stage, such as fastText's Wikipedia vectors."""

    kind: Literal["vectors"] = "vectors"
    """Selects these settings."""
