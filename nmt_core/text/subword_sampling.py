"""Other subwords of the same line: BPE-dropout and sampling from a unigram model.

A model that reads each sentence in other subwords every time learns what words are made of.
SentencePiece draws; a seed per draw makes its draws functions of a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, field_validator

from nmt_core.config import Config
from nmt_core.errors import ConfigError
from nmt_core.text.subwords import Subwords
from nmt_core.text.tokenizer import Tokenizer

SAMPLED = {"bpe_dropout": "bpe", "unigram": "unigram"}
"""Which model each kind of sampling draws from."""


class SubwordSampling(Config):
    """Other subwords for every training pair in every epoch; translation always takes the best."""

    kind: Literal["none", "bpe_dropout", "unigram"] = "none"
    """None is off. BPE-dropout (Provilkov et al. 2020) leaves merges out, where
    ``tokenize.subwords.model_type`` is bpe; unigram is subword regularization (Kudo 2018), where it
    is unigram. Sentences become longer, by a tenth or more."""
    dropout: float = Field(0.05, ge=0, lt=1)
    """BPE-dropout only: probability of leaving a merge out, for good. Provilkov et al. 2020 give it
    another chance after every other merge: their 0.1 lengthens sentences as 0.05 does here."""
    alpha: float = Field(0.2, gt=0, le=100)
    """Unigram only: segmentations are drawn by their probability to this power; the smaller, the
    more they differ."""
    nbest_size: int = Field(-1, ge=-1, le=512)
    """Unigram only: of how many best segmentations to draw, 2 or more; -1 draws of all."""
    sides: Literal["both", "source", "target"] = "both"
    """Which sides are drawn anew; on much text, the source alone (Provilkov et al. 2020)."""

    @field_validator("nbest_size")
    @classmethod
    def _check(cls, size: int) -> int:
        if size in (0, 1):
            raise ValueError("must be -1, for all segmentations, or 2 and more")
        return size


@dataclass(frozen=True)
class SubwordSampler:
    """Draws the subwords of one side, of what :meth:`fitting` allows."""

    subwords: Subwords
    config: SubwordSampling

    @classmethod
    def fitting(cls, config: SubwordSampling, tokenizer: Tokenizer) -> Self:
        """Return what draws by a tokenizer's model.

        Raises:
            ConfigError: if the tokenizer has no subwords, or those of another model.
        """
        found = tokenizer.model_type if isinstance(tokenizer, Subwords) else "no subwords"
        if not isinstance(tokenizer, Subwords) or found != SAMPLED[config.kind]:
            raise ConfigError(
                f"train.subword_sampling.kind {config.kind!r} needs a tokenizer of model_type "
                f"{SAMPLED[config.kind]!r}, got {found}; choose what fits, or 'none'"
            )
        return cls(tokenizer, config)

    def sample(self, numbers: Sequence[int], seed: int) -> list[int]:
        """Return the pieces of the same line in a segmentation that the seed alone decides."""
        config = self.config
        by_dropout = config.kind == "bpe_dropout"
        return self.subwords.sample(
            numbers,
            alpha=config.dropout if by_dropout else config.alpha,
            nbest_size=-1 if by_dropout else config.nbest_size,
            seed=seed,
        )
