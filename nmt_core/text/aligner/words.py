"""A line as the pieces that are aligned, each of one word of the line.

Words are separated by spaces, as in every program that reads or writes links. A piece is the
beginning of a word without the signs around it, in lower case, the end of a long word, or one such
sign. The end of a compound is its head, which often has a translation of its own.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from nmt_core.text.aligner.settings import AlignerConfig
from nmt_core.text.alignment import UNSPACED

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
