"""Splits of pairs into train, validation and test: settings, and the hash that decides."""

from hashlib import blake2b
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from nmt_core.base.config import Config
from nmt_core.corpora.filters import make_comparison_key

Digests: TypeAlias = npt.NDArray[np.uint64]
"""Digests of the sentences of pairs, (pairs, sides)."""

Mask: TypeAlias = npt.NDArray[np.bool_]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Rate = Annotated[float, Field(gt=0, lt=10_000)]

PER = 10_000
"""The denominator of rates."""

MAX_SALT_BYTES = 64
"""Longest key of BLAKE2b."""


class SplitConfig(Config):
    """Splits of a corpus that has no validation or test set.

    A keyed hash of the source sentence decides alone, so that a pair keeps its split when others
    are added or removed, and a sentence with several translations lies in one split.
    """

    validation_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to validation, or slightly more so that documents stay whole."""

    test_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to test."""

    salt: str = "nmt"
    """Key of the hash, up to 64 bytes; another key selects other sentences."""

    def rate(self, split: Split) -> float:
        """Return the sentences in 10,000 of validation or test."""
        return self.test_per_10000 if split == "test" else self.validation_per_10000

    @model_validator(mode="after")
    def _check(self) -> "SplitConfig":
        if self.validation_per_10000 + self.test_per_10000 >= PER:
            raise ValueError("validation_per_10000 and test_per_10000 leave nothing to train on")
        if len(self.salt.encode()) > MAX_SALT_BYTES:
            raise ValueError(f"salt is longer than {MAX_SALT_BYTES} bytes")
        return self


class NearDuplicateConfig(Config):
    """Removal of training pairs with a sentence that nearly equals one of validation or test."""

    distance: Annotated[float, Field(ge=0, le=0.4)] = 0.2
    """Word edits per word of a validation or test sentence up to which a sentence of train is a
    near duplicate: 0.2 allows one edit for five to nine words, two for ten to fourteen. Case and
    punctuation do not count; 0 turns the search off."""


def split_of(source: str, config: SplitConfig) -> Split:
    """Return the split of all pairs with this source sentence.

    Test grows from one end of the hashes and validation from the other, so that changing the size
    of one does not affect the other.
    """
    hashed = digest(make_comparison_key(source), salt=config.salt)
    position = int.from_bytes(hashed, "little") / 2**64 * PER
    if position < config.test_per_10000:
        return "test"
    if position >= PER - config.validation_per_10000:
        return "validation"
    return "train"


def digest(key: str, *, salt: str = "") -> bytes:
    """Return the eight-byte digest by which sentences are compared."""
    return blake2b(key.encode(), digest_size=8, key=salt.encode()).digest()
