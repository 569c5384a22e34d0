"""Split pairs into train, validation and test by a hash of the source sentence."""

from hashlib import blake2b
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from nmt_core.base.config import Config
from nmt_core.corpora.filters import make_comparison_key

Digests: TypeAlias = npt.NDArray[np.uint64]
"""Digests of the sentences of pairs, (pairs, 2)."""

Mask: TypeAlias = npt.NDArray[np.bool_]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Rate = Annotated[float, Field(gt=0, lt=10_000)]

PER = 10_000
"""The denominator of rates."""

MAX_SALT_BYTES = 64
"""Maximum length of a key of BLAKE2b, in bytes."""


class SplitConfig(Config):
    """Splits of a corpus that has no validation or test set.

    A keyed hash of the source sentence selects the split. So a pair keeps its split when other
    pairs are added or removed, and all translations of a sentence are in the same split.
    """

    validation_per_10000: Rate = 10.0
    """Sentences of validation per 10,000 sentences."""

    test_per_10000: Rate = 10.0
    """Sentences of test per 10,000 sentences."""

    salt: str = "nmt"
    """Key of the hash, at most 64 bytes; another key selects other sentences."""

    def rate(self, split: Split) -> float:
        """Return the sentences of validation or test per 10,000 sentences."""
        return self.test_per_10000 if split == "test" else self.validation_per_10000

    @model_validator(mode="after")
    def _check(self) -> "SplitConfig":
        if self.validation_per_10000 + self.test_per_10000 >= PER:
            raise ValueError("validation_per_10000 + test_per_10000 must be less than 10,000")
        if len(self.salt.encode()) > MAX_SALT_BYTES:
            raise ValueError(f"salt must have at most {MAX_SALT_BYTES} bytes")
        return self


class NearDuplicateConfig(Config):
    """Removal of training pairs with a sentence that nearly equals one of validation or test."""

    distance: Annotated[float, Field(ge=0, le=0.4)] = 0.2
    """Maximum number of word edits between near duplicates, per word of the validation or test
    sentence: 0.2 allows one edit in five to nine words, two in ten to fourteen. Case and
    punctuation are ignored; 0 turns the search off."""


def split_of(source: str, config: SplitConfig) -> Split:
    """Return the split of all pairs with this source sentence.

    Test takes the lowest hashes and validation the highest, so changing the size of one does not
    affect the other.
    """
    hashed = digest(source, salt=config.salt)
    position = int.from_bytes(hashed, "little") / 2**64 * PER
    if position < config.test_per_10000:
        return "test"
    if position >= PER - config.validation_per_10000:
        return "validation"
    return "train"


def digest(sentence: str, *, salt: str = "") -> bytes:
    """Return an eight-byte digest of the comparison key of a sentence."""
    key = make_comparison_key(sentence)
    return blake2b(key.encode(), digest_size=8, key=salt.encode()).digest()
