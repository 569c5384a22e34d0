"""Other subwords of the same line: BPE-dropout and sampling from a unigram model.

A model that reads each sentence in other subwords every time learns what words are made of.
SentencePiece can sample, too, but draws differently in every process, for any seed.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

import numpy as np
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.text.normalize import WORD_BOUNDARY
from nmt_core.text.segmentations import MergeDropout, SegmentationSampler, UnigramLattice
from nmt_core.text.subwords import Subwords
from nmt_core.text.tokenizer import Tokenizer

SAMPLED = {"bpe_dropout": "bpe", "unigram": "unigram"}
"""Which model each kind of sampling draws from."""


class SubwordSampling(Config):
    """Other subwords for every training pair in every epoch; translation always takes the best."""

    kind: Literal["none", "bpe_dropout", "unigram"] = "none"
    """None is off. BPE-dropout (Provilkov et al. 2020) leaves merges out, where
    ``tokenize.subwords.model_type`` is bpe; unigram is subword regularization (Kudo 2018), where it
    is unigram. Sentences become longer, by a tenth or more, and batches with them."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """BPE-dropout only: probability of leaving a merge out; 0.1 in Provilkov et al. 2020."""
    alpha: float = Field(0.2, gt=0, le=100)
    """Unigram only: segmentations are drawn by their probability to this power; the smaller, the
    more they differ."""
    sides: Literal["both", "source", "target"] = "both"
    """Which sides are drawn anew; on much text, the source alone (Provilkov et al. 2020)."""


class SubwordSampler:
    """Draws the subwords of one side, for one thread.

    Raises:
        ConfigError: if the tokenizer has no subwords, or those of another model.
    """

    def __init__(self, config: SubwordSampling, tokenizer: Tokenizer) -> None:
        kind = tokenizer.model_type if isinstance(tokenizer, Subwords) else "no subwords"
        if not isinstance(tokenizer, Subwords) or kind != SAMPLED[config.kind]:
            raise ConfigError(
                f"train.subword_sampling.kind {config.kind!r} needs a tokenizer of model_type "
                f"{SAMPLED[config.kind]!r}, got {kind}; choose what fits, or 'none'"
            )
        scored = tokenizer.scored_pieces
        self._texts = {number: piece for piece, (number, _) in scored.items()}
        self._segmenter: SegmentationSampler
        if config.kind == "bpe_dropout":
            ranked = {piece: (number, -score) for piece, (number, score) in scored.items()}
            self._segmenter = MergeDropout(ranked, config.dropout)
        else:
            self._segmenter = UnigramLattice(scored, config.alpha)

    def sample(self, numbers: Sequence[int], draw: np.random.Generator) -> list[int]:
        """Return other pieces of the line that some pieces make, all by their numbers.

        Bytes, and the unknown token, stay as they are: no piece covers what they stand for.
        """
        parts = [*self._parts(numbers)]
        characters = sum(len(part) for part in parts if isinstance(part, str))
        chances = iter((1 - draw.random(characters)).tolist())
        return [
            *chain.from_iterable(
                self._segmenter.draw(part, chances) if isinstance(part, str) else (part,)
                for part in parts
            )
        ]

    def _parts(self, numbers: Sequence[int]) -> Iterator[str | int]:
        """Yield words, and the numbers of tokens outside of words."""
        word = ""
        for number in numbers:
            text = self._texts.get(number)
            if text is None:
                if word:
                    yield word
                word = ""
                yield number
            elif word and text.startswith(WORD_BOUNDARY):
                yield word
                word = text
            else:
                word += text
        if word:
            yield word
