"""Modifiers: pairs of lines as people type them, for training and for test sets.

Each changes a source line as carelessness does; only what must follow in the translation, such as a
full stop that is not there, changes in the target line, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import regex
from numpy.random import Generator
from typing_extensions import override

from nmt_core.text.restoration import remove_accents


class Lines(NamedTuple):
    """A source line and its translation."""

    source: str
    target: str


class Modifier(ABC):
    """A way in which text differs from edited text.

    One that forgets commas::

        class NoCommas(Modifier):
            name = "no_commas"

            def modify(self, lines, draw):
                return Lines(lines.source.replace(",", ""), lines.target)
    """

    name: ClassVar[str]
    """The name of its share in the settings."""

    @abstractmethod
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        """Return a pair of normalised lines as modified, by what is drawn."""


class Lower(Modifier):
    """No capitals."""

    name = "lower"

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        return Lines(lines.source.lower(), lines.target)


class Title(Modifier):
    """A capital at the beginning of every word."""

    name = "title"

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        return Lines(_FIRST.sub(lambda match: match[0].upper(), lines.source), lines.target)


class Capitals(Modifier):
    """Capitals alone, in the translation as in the source."""

    name = "capitals"

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        return Lines(lines.source.upper(), lines.target.upper())


class NoFinalStop(Modifier):
    """No full stop at the end, in the translation as in the source."""

    name = "no_final_stop"

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        if all(line.endswith(".") and not line.endswith("..") for line in lines):
            return Lines(*(line[:-1].rstrip() for line in lines))
        return lines


class NoAccents(Modifier):
    """Letters without accents, umlauts and the like."""

    name = "no_accents"

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        return Lines(remove_accents(lines.source), lines.target)


class Punctuation(Modifier):
    """Other quotation marks and dashes, spaces where none belong, and none where one does."""

    name = "punctuation"

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        quote = QUOTES[int(draw.integers(len(QUOTES)))]
        source = _QUOTE.sub(quote, lines.source)
        source = source.replace(" – ", DASHES[int(draw.integers(len(DASHES)))])
        if draw.random() < SPACED:
            space = r" \1" if draw.random() < HALF else r"\1"
            source = _MARK.sub(space, source)
        return Lines(source, lines.target)


class TypingErrors(Modifier):
    """A letter mistyped, swapped, left out or typed twice, in one word of eight.

    Args:
        language: code of the source language, whose keyboard has neighbours.
    """

    name = "typing_errors"

    def __init__(self, language: str) -> None:
        self._neighbours = KEYBOARDS.get(language.partition("-")[0], KEYBOARDS["en"])

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        words = [*_WORD.finditer(lines.source)]
        chosen = draw.random(len(words)) < MISTYPED
        source = lines.source
        for match in [word for word, wrong in zip(words, chosen, strict=True) if wrong][::-1]:
            source = source[: match.start()] + self.mistype(match[0], draw) + source[match.end() :]
        return Lines(source, lines.target)

    def mistype(self, word: str, draw: Generator) -> str:
        """Return a word of two letters or more with an error."""
        at = int(draw.integers(len(word) - 1))
        kind = int(draw.integers(4))
        if kind == 0:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        if kind == 1:
            return word[: at + 1] + word[at + 2 :]
        if kind == 2:  # noqa: PLR2004 - one of the four
            return word[: at + 1] + word[at:]
        near = self._neighbours.get(word[at].lower(), word[at])
        letter = near[int(draw.integers(len(near)))]
        return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]


MISTYPED = 1 / 8
"""Share of words with a typing error, where there are any."""
SPACED, HALF = 0.5, 0.5
QUOTES = ('"', "'", "“", "„", "«", "''")
DASHES = (" - ", " -- ", "—", " – ")

_FIRST = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}'’])\p{Ll}")
_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}])\p{L}{2,}(?![\p{L}\p{M}\p{Nd}])")
_QUOTE = regex.compile(r'["“”„«»]')
_MARK = regex.compile(r"(?<=\p{L})([,;:!?]) ")


def find_near_keys(*rows: str) -> dict[str, str]:
    """Return the letters beside each letter of a keyboard, given row by row."""
    neighbours: dict[str, str] = {}
    for above, row, below in zip(("", *rows), rows, (*rows[1:], ""), strict=False):
        for at, letter in enumerate(row):
            near = row[max(0, at - 1) : at] + row[at + 1 : at + 2]
            neighbours[letter] = near + above[at : at + 2] + below[max(0, at - 1) : at + 1]
    return neighbours


KEYBOARDS: Mapping[str, Mapping[str, str]] = {
    "en": find_near_keys("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "de": find_near_keys("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "fr": find_near_keys("azertyuiop", "qsdfghjklm", "wxcvbn"),
    "es": find_near_keys("qwertyuiop", "asdfghjklñ", "zxcvbnm"),
    "ru": find_near_keys("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
}
"""Letters beside each letter, by language."""


def list_modifiers(language: str) -> list[Modifier]:
    """Return all modifiers, of a source language, in the order in which they are applied."""
    return [
        NoFinalStop(),
        Punctuation(),
        TypingErrors(language),
        NoAccents(),
        Lower(),
        Title(),
        Capitals(),
    ]
