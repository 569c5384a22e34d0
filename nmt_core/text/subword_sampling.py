"""Subword regularization: BPE-dropout and sampling from a unigram model.

A model that sees another segmentation of a sentence in each epoch learns the parts of words.
SentencePiece can sample, too, but its draws are not reproducible across processes. Pieces do not
cross the boundaries of words. ``draws`` are independent and uniform in (0, 1].
"""

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Literal

import numpy as np
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.text.normalize import WORD_BOUNDARY
from nmt_core.text.subwords import Subwords
from nmt_core.text.tokenizer import Tokenizer

ScoredPieces = Mapping[str, tuple[int, float]]
"""ID and score of every piece."""

MAX_PIECE_CHARACTERS = 16
"""Length of the longest piece that SentencePiece learns, in characters."""


def drop_merges(
    word: str, draws: Iterator[float], pieces: ScoredPieces, dropout: float
) -> tuple[int, ...]:
    """Return the piece IDs of a word by BPE-dropout (Provilkov et al. 2020, algorithm 1).

    In each step, every possible merge is dropped with probability ``dropout`` in [0, 1), and the
    best remaining merge is applied. The best ``k`` merges are all dropped with probability
    ``dropout ** k``, so a single draw decides a step.
    """
    ends = [*range(len(word) + 1)]
    per_log = 1 / math.log(dropout) if dropout else 0.0
    while merges := sorted(_list_merges(word, ends, pieces)):
        dropped = int(math.log(next(draws)) * per_log)
        if dropped >= len(merges):
            break
        ends.remove(merges[dropped][1])
    return tuple(pieces[word[first:last]][0] for first, last in pairwise(ends))


def _list_merges(
    word: str, ends: Sequence[int], pieces: ScoredPieces
) -> Iterator[tuple[float, int]]:
    """Yield the rank of each possible merge, lower is better, and the offset between its pieces."""
    for first, middle, last in zip(ends, ends[1:], ends[2:], strict=False):
        if piece := pieces.get(word[first:last]):
            yield -piece[1], middle


def draw_segmentation(
    word: str, draws: Iterator[float], pieces: ScoredPieces, alpha: float
) -> tuple[int, ...]:
    """Return the piece IDs of a word by subword regularization (Kudo 2018, section 3.3).

    Draws a segmentation with its probability to the power ``alpha``, by forward filtering and
    backward sampling: sums over all segmentations of each prefix, then pieces from the end.
    """
    totals, lattice = [0.0], {}
    for end in range(1, len(word) + 1):
        first = max(0, end - MAX_PIECE_CHARACTERS)
        starts = [start for start in range(first, end) if word[start:end] in pieces]
        logs = [totals[start] + alpha * pieces[word[start:end]][1] for start in starts]
        highest = max(logs)
        sums = [*accumulate(math.exp(log - highest) for log in logs)]
        totals.append(highest + math.log(sums[-1]))
        lattice[end] = sums, starts
    drawn: list[int] = []
    end = len(word)
    while end:
        sums, starts = lattice[end]
        start = starts[bisect.bisect_left(sums, next(draws) * sums[-1])]
        drawn.append(pieces[word[start:end]][0])
        end = start
    return tuple(reversed(drawn))


SAMPLED_MODEL_TYPES = {"bpe_dropout": "bpe", "unigram": "unigram"}
"""The model type that each kind of sampling requires."""


class SubwordSampling(Config):
    """Sample other subwords for each training pair in each epoch; translation uses the best."""

    kind: Literal["none", "bpe_dropout", "unigram"] = "none"
    """``bpe_dropout`` drops merges (Provilkov et al. 2020) and requires the
    ``tokenize.subwords.model_type`` bpe; ``unigram`` is subword regularization (Kudo 2018) and
    requires unigram; ``none`` is off. Sentences become at least a tenth longer."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """BPE-dropout only: probability of dropping a merge; 0.1 in Provilkov et al. 2020."""
    alpha: float = Field(0.2, gt=0, le=100)
    """Unigram only: probabilities of segmentations are raised to this power; smaller values make
    segmentations more diverse."""
    sides: Literal["both", "source", "target"] = "both"
    """Sides to sample; for large corpora, only the source (Provilkov et al. 2020)."""


class SubwordSampler:
    """Samples the subwords of one side; not thread-safe.

    Raises:
        ConfigError: if the tokenizer has no subwords, or another model type.
    """

    def __init__(self, config: SubwordSampling, tokenizer: Tokenizer) -> None:
        kind = tokenizer.model_type if isinstance(tokenizer, Subwords) else "no subwords"
        if not isinstance(tokenizer, Subwords) or kind != SAMPLED_MODEL_TYPES[config.kind]:
            raise ConfigError(
                f"train.subword_sampling.kind {config.kind!r} needs a tokenizer of model_type "
                f"{SAMPLED_MODEL_TYPES[config.kind]!r}, got {kind}; choose this type, or 'none'"
            )
        pieces = tokenizer.scored_pieces
        self._texts = {number: piece for piece, (number, _) in pieces.items()}
        self._draw = (
            partial(drop_merges, pieces=pieces, dropout=config.dropout)
            if config.kind == "bpe_dropout"
            else partial(draw_segmentation, pieces=pieces, alpha=config.alpha)
        )

    def sample(self, numbers: Sequence[int], draw: np.random.Generator) -> list[int]:
        """Return the IDs of other pieces for the line of these piece IDs.

        Byte pieces and the unknown token do not change, because no piece covers their text.
        """
        units = [*self._list_units(numbers)]
        characters = sum(len(unit) for unit in units if isinstance(unit, str))
        draws = iter((1 - draw.random(characters)).tolist())
        return [
            *chain.from_iterable(
                self._draw(unit, draws) if isinstance(unit, str) else (unit,) for unit in units
            )
        ]

    def _list_units(self, numbers: Sequence[int]) -> Iterator[str | int]:
        """Yield words, and the IDs of tokens outside of words."""
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
