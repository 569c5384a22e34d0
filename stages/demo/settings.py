"""How much of the demo language is written, as a person sets it."""

from pydantic import Field

from nmt_core.base.config import Config


class GrammarConfig(Config):
    """How much of the demo language to write."""

    train_pairs: int = Field(20_000, ge=1, le=10_000_000)
    """Pairs in the training set; below about 2000, too few words are known to test with."""

    validation_pairs: int = Field(500, ge=1, le=10_000_000)
    """Pairs in the validation set."""

    test_pairs: int = Field(1000, ge=1, le=10_000_000)
    """Pairs in the test set."""

    seed: int = 1
    """Another seed writes other sentences; what is held out stays."""
