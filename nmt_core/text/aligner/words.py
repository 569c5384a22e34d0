"""A line as the pieces that are aligned, each of one word of the line, and settings of aligners.

Words are separated by spaces, as in every program that reads or writes links. A piece is the
beginning of a word without the signs around it, in lower case, the end of a long word, or one such
sign. The end of a compound is its head, which often has a translation of its own.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.text.words import UNSPACED


class AlignerConfig(Config):
    """Settings of an aligner."""

    max_words: int = Field(100, ge=1, le=1000)
    """Pieces of a sentence; pairs with more on either side are not learnt from."""
    stem_length: int = Field(6, ge=1, le=100)
    """First letters of a word that it is known by; what is alike in them counts as one word."""
    tail_length: int = Field(5, ge=0, le=100)
    """Last letters of a long word that are known by themselves, too; 0 for none."""
    model_1_iterations: int = Field(4, ge=1, le=100)
    """Iterations of IBM model 1, which prefers the diagonal and starts the HMM."""
    hmm_iterations: int = Field(2, ge=0, le=100)
    """Iterations of the HMM with independent directions."""
    agreement_iterations: int = Field(3, ge=0, le=100)
    """Iterations of the HMM with agreement of both directions (Liang et al. 2006)."""
    pseudo_count: float = Field(0.01, ge=0.005, le=10)
    """Prior count of every pair of words: the parameter of the Dirichlet distribution."""
    likeness_count: float = Field(1.0, ge=0, le=1000)
    """More of it for pairs of equal words."""
    null_probability: float = Field(0.1, gt=0, lt=1)
    """Probability that a word translates no other."""
    diagonal: float = Field(4.0, ge=0, le=100)
    """How much model 1 prefers words at the same relative place (Dyer et al. 2013)."""
    jump_width: int = Field(8, ge=1, le=100)
    """Longest jump that the HMM distinguishes, in words."""
    threshold: float = Field(0.3, gt=0, lt=1)
    """From which geometric mean of both directions' probabilities two words are linked."""


class ShortlistConfig(Config):
    """Size of a shortlist, and the amount of text to learn it from."""

    translations: int = Field(20, ge=1, le=1000)
    """Target tokens for each token of the source: those that it is linked with most often."""
    frequent: int = Field(50, ge=1, le=10_000)
    """Target tokens for any source: those that are most frequent."""
    pairs: int = Field(200_000, ge=1, le=10_000_000)
    """Training pairs to learn from."""


ENDING = re.compile(r"(?<=\w)['’]\w{1,2}$")
"""Endings that are written with a word but translated by themselves, as in ``the Commission's``."""

CUT_ELISION = re.compile(r"['’]\w{1,2}")
"""The same where it was cut off before."""

_UNSPACED = re.compile(f"[{UNSPACED}]|[^{UNSPACED}]+")
"""A character of a script without spaces, or a run of others."""

LONG_WORD = 9
"""Letters from which the end of a word is a piece of its own."""

REMEMBERED = 2**16
"""Words that stay cut, since most of a text is the same few."""


class Pieces(NamedTuple):
    """The pieces of a line, which are aligned."""

    spelt: list[str]
    """Each piece, case folded."""
    words: list[int]
    """The word that each piece is of, from 0."""


def is_sign(character: str) -> bool:
    """Tell whether a character is punctuation or a symbol."""
    return unicodedata.category(character)[0] in "PS"


def find_core(word: str) -> tuple[int, int]:
    """Return where a word begins and ends without the signs around it."""
    begin, end = 0, len(word)
    while begin < end and is_sign(word[begin]):
        begin += 1
    while end > begin and is_sign(word[end - 1]):
        end -= 1
    return begin, end


@lru_cache(REMEMBERED)
def cut_word(word: str) -> tuple[str, ...]:
    """Return the pieces of a word; put together, they spell it."""
    if CUT_ELISION.fullmatch(word):
        return (word,)
    begin, end = find_core(word)
    inner = word[begin:end]
    ending = ENDING.search(inner)
    edge = ending.start() if ending else len(inner)
    return (*word[:begin], *_UNSPACED.findall(inner[:edge]), *inner[edge:].split(), *word[end:])


def cut_line(line: str, config: AlignerConfig) -> Pieces:
    """Return the pieces of a line."""
    matches = [
        (spelt, number)
        for number, word in enumerate(line.split())
        for piece in cut_word(word)
        for spelt in _cut_piece(piece.casefold(), config)
    ]
    return Pieces([spelt for spelt, _ in matches], [number for _, number in matches])


def _cut_piece(piece: str, config: AlignerConfig) -> tuple[str, ...]:
    """Return the beginning of a piece, and a hyphen and the end of a long one."""
    beginning = piece[: config.stem_length]
    if config.tail_length and len(piece) >= LONG_WORD:
        return beginning, f"-{piece[-config.tail_length :]}"
    return (beginning,)
