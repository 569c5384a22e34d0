"""Split lines into the pieces that are aligned, and the settings of aligners.

Words are separated by spaces, as in every program that reads or writes links. A piece is the
case-folded stem of a word, the end of a long word, or a single sign before or after a word. The end
of a compound is its head, which often has its own translation.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.text.words import ENDING, UNSPACED


class AlignerConfig(Config):
    """Settings of an aligner."""

    max_words: int = Field(100, ge=1, le=1000)
    """Maximum number of pieces on a side; longer pairs are not used for training."""
    stem_length: int = Field(6, ge=1, le=100)
    """Length of a stem in characters; words with the same stem count as one word."""
    tail_length: int = Field(5, ge=0, le=100)
    """Length of the last piece of a long word in characters; 0 adds no such piece."""
    model_1_iterations: int = Field(4, ge=1, le=100)
    """Iterations of IBM model 1 with a diagonal prior, before the HMM."""
    hmm_iterations: int = Field(2, ge=0, le=100)
    """Iterations of the HMM with independent directions."""
    agreement_iterations: int = Field(3, ge=0, le=100)
    """Iterations of the HMM with agreement of both directions (Liang et al. 2006)."""
    pseudo_count: float = Field(0.01, ge=0.005, le=10)
    """Pseudo-count of every word pair, the parameter of the Dirichlet prior."""
    likeness_count: float = Field(1.0, ge=0, le=1000)
    """Additional pseudo-count of pairs of equal words."""
    null_probability: float = Field(0.1, gt=0, lt=1)
    """Probability that a word has no link."""
    diagonal: float = Field(4.0, ge=0, le=100)
    """Strength of model 1's preference for equal relative positions (Dyer et al. 2013)."""
    jump_width: int = Field(8, ge=1, le=100)
    """Longest jump with its own weight in the HMM, in words."""
    threshold: float = Field(0.3, gt=0, lt=1)
    """Minimum geometric mean of both directions' probabilities of a link."""


class ShortlistConfig(Config):
    """Size of a shortlist, and the amount of text to learn it from."""

    translations: int = Field(20, ge=1, le=1000)
    """Number of target tokens for each source token, by most links."""
    frequent: int = Field(50, ge=1, le=10_000)
    """Most frequent target tokens, which are allowed for any source."""
    pairs: int = Field(200_000, ge=1, le=10_000_000)
    """Training pairs to learn from."""
    min_tokens: int = Field(5000, ge=1, le=1_000_000)
    """Minimum number of target tokens in the vocabulary; with 2,000, a shortlist is slower."""


CUT_ELISION = re.compile(r"['’]\w{1,2}")
"""An ending that is already split from its word."""

_UNSPACED = re.compile(f"[{UNSPACED}]|[^{UNSPACED}]+")
"""A character of a script without spaces, or a run of other characters."""

MIN_LONG_WORD = 9
"""Minimum length of a word whose end is a separate piece, in characters."""

CACHED_WORDS = 2**16
"""Number of words whose pieces are cached."""


class Pieces(NamedTuple):
    """The pieces of a line, which are aligned."""

    texts: list[str]
    """Each piece, case-folded."""
    words: list[int]
    """Index of the word of each piece, from 0."""


def is_sign(character: str) -> bool:
    """Return whether a character is punctuation or a symbol."""
    return unicodedata.category(character)[0] in "PS"


def find_core(word: str) -> tuple[int, int]:
    """Return the start and end of a word without the signs around it."""
    begin, end = 0, len(word)
    while begin < end and is_sign(word[begin]):
        begin += 1
    while end > begin and is_sign(word[end - 1]):
        end -= 1
    return begin, end


def cut_word(word: str) -> tuple[str, ...]:
    """Return the pieces of a word before stemming; joined, they are the word."""
    if (word.isascii() and word.isalpha()) or CUT_ELISION.fullmatch(word):
        return (word,)
    begin, end = find_core(word)
    inner = word[begin:end]
    ending = ENDING.search(inner)
    edge = ending.start() if ending else len(inner)
    return (*word[:begin], *_UNSPACED.findall(inner[:edge]), *inner[edge:].split(), *word[end:])


def cut_line(line: str, config: AlignerConfig) -> Pieces:
    """Return the pieces of a line."""
    texts = [_stem(word, config.stem_length, config.tail_length) for word in line.split()]
    numbers = [number for number, word in enumerate(texts) for _ in word]
    return Pieces([*chain.from_iterable(texts)], numbers)


@lru_cache(CACHED_WORDS)
def _stem(word: str, stem_length: int, tail_length: int) -> tuple[str, ...]:
    """Return the stems of the pieces of a word; after that of a long piece, its end."""
    texts: list[str] = []
    for piece in map(str.casefold, cut_word(word)):
        texts.append(piece[:stem_length])
        if tail_length and len(piece) >= MIN_LONG_WORD:
            texts.append(f"-{piece[-tail_length:]}")
    return (*texts,)
