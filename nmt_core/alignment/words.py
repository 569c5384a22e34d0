"""A line as the pieces that are aligned, each of one word of the line.

Words are what spaces part, as in every program that reads or writes links. A piece is a word
without the signs around it, in lower case, or one such sign.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

ENDING = re.compile(r"(?<=\w)['’]\w{1,2}$")
"""Endings that are written with a word but translated by themselves, as in ``the Commission's``."""

CUT_ELISION = re.compile(r"['’]\w{1,2}")
"""The same where it was cut off before."""

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
    middle = [piece for piece in (inner[:edge], inner[edge:]) if piece]
    return (*word[:begin], *middle, *word[end:])


def cut_line(line: str, letters: int | None = None) -> Pieces:
    """Return the pieces of a line, of each the first letters; None takes all."""
    matches = [
        (piece.casefold()[:letters], number)
        for number, word in enumerate(line.split())
        for piece in cut_word(word)
    ]
    return Pieces([spelt for spelt, _ in matches], [number for _, number in matches])
