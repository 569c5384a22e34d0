"""Settings of batching; this file imports no NumPy."""

from typing import Annotated, Literal

from pydantic import Field

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


BatchingConfig = Annotated[TokenBatching | BucketBatching, Field(discriminator="kind")]
