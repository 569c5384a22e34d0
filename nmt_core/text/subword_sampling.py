"""Other subwords of the same line: BPE-dropout and sampling from a unigram model.

A model that reads each sentence in other subwords every time learns what words are made of.
SentencePiece can sample, too, but draws differently in every process, for any seed. A word is what
no piece reaches beyond. Chances are independent numbers, uniform above 0 up to 1.
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
"""Number and score of every piece."""

LONGEST_PIECE = 16
"""Characters of the longest piece that SentencePiece learns."""


def drop_merges(
    word: str, chances: Iterator[float], pieces: ScoredPieces, dropout: float
) -> tuple[int, ...]:
    """Return the pieces of a word by BPE-dropout (Provilkov et al. 2020, algorithm 1).

    Of all merges that are possible, each is left out with probability ``dropout``, at least 0 and
    below 1, and the best of the others is made, until none is left. The best ``k`` are left out
    with probability ``dropout ** k``, so that one chance decides about them all.
    """
    ends = [*range(len(word) + 1)]
    per_log = 1 / math.log(dropout) if dropout else 0.0
    while merges := sorted(_list_merges(word, ends, pieces)):
        left_out = int(math.log(next(chances)) * per_log)
        if left_out >= len(merges):
            break
        ends.remove(merges[left_out][1])
    return tuple(pieces[word[first:last]][0] for first, last in pairwise(ends))


def _list_merges(
    word: str, ends: Sequence[int], pieces: ScoredPieces
) -> Iterator[tuple[float, int]]:
    """Yield the rank of each possible merge, best first, and where its two symbols meet."""
    for first, middle, last in zip(ends, ends[1:], ends[2:], strict=False):
        if piece := pieces.get(word[first:last]):
            yield -piece[1], middle


def draw_segmentation(
    word: str, chances: Iterator[float], pieces: ScoredPieces, alpha: float
) -> tuple[int, ...]:
    """Return the pieces of a word by subword regularization (Kudo 2018, section 3.3).

    One of all segmentations is drawn by its probability to the power ``alpha``: forward, the sums
    over all segmentations of the beginnings of a word; backward, piece by piece from its end.
    """
    totals, lattice = [0.0], {}
    for end in range(1, len(word) + 1):
        first = max(0, end - LONGEST_PIECE)
        starts = [start for start in range(first, end) if word[start:end] in pieces]
        logs = [totals[start] + alpha * pieces[word[start:end]][1] for start in starts]
        most = max(logs)
        sums = [*accumulate(math.exp(log - most) for log in logs)]
        totals.append(most + math.log(sums[-1]))
        lattice[end] = sums, starts
    drawn: list[int] = []
    end = len(word)
    while end:
        sums, starts = lattice[end]
        start = starts[bisect.bisect_left(sums, next(chances) * sums[-1])]
        drawn.append(pieces[word[start:end]][0])
        end = start
    return tuple(reversed(drawn))


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
        pieces = tokenizer.scored_pieces
        self._texts = {number: piece for piece, (number, _) in pieces.items()}
        self._draw = (
            partial(drop_merges, pieces=pieces, dropout=config.dropout)
            if config.kind == "bpe_dropout"
            else partial(draw_segmentation, pieces=pieces, alpha=config.alpha)
        )

    def sample(self, numbers: Sequence[int], draw: np.random.Generator) -> list[int]:
        """Return other pieces of the line that some pieces make, all by their numbers.

        Bytes, and the unknown token, stay as they are: no piece covers what they stand for.
        """
        parts = [*self._parts(numbers)]
        characters = sum(len(part) for part in parts if isinstance(part, str))
        chances = iter((1 - draw.random(characters)).tolist())
        return [
            *chain.from_iterable(
                self._draw(part, chances) if isinstance(part, str) else (part,) for part in parts
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
