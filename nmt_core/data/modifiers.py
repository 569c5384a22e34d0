"""Modifiers: pairs of lines as people type them, for training.

Each changes the source line; the target line changes only where it must, as for a full stop.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import regex
from numpy.random import Generator

from nmt_core.base.symbols import SYMBOLS, SymbolClass
from nmt_core.literals.checking import read_literal_value
from nmt_core.literals.finding import find_literals
from nmt_core.literals.masking import insert_word

MISTYPED = 1 / 8
"""Share of words with a typing error, where there are any."""
SPACED, HALF = 0.5, 0.5
QUOTES = ('"', "'", "“", "„", "«", "''")
DASHES = (" - ", " -- ", "—", " – ")

_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}])\p{L}{2,}(?![\p{L}\p{M}\p{Nd}])")
_QUOTE = regex.compile(r'["“”„«»]')
_MARK = regex.compile(r"(?<=\p{L})([,;:!?]) ")


class Lines(NamedTuple):
    """A source line and its translation."""

    source: str
    target: str


def drop_final_stop(lines: Lines, _draw: Generator) -> Lines:
    """Remove the full stop at the end, in the translation as in the source."""
    if all(line.endswith(".") and not line.endswith("..") for line in lines):
        return Lines(*(line[:-1].rstrip() for line in lines))
    return lines


def change_punctuation(lines: Lines, draw: Generator) -> Lines:
    """Write other quotation marks and dashes, spaces where none belong, and none where one does."""
    quote = QUOTES[int(draw.integers(len(QUOTES)))]
    source = _QUOTE.sub(quote, lines.source)
    source = source.replace(" – ", DASHES[int(draw.integers(len(DASHES)))])
    if draw.random() < SPACED:
        space = r" \1" if draw.random() < HALF else r"\1"
        source = _MARK.sub(space, source)
    return Lines(source, lines.target)


def make_typing_errors(lines: Lines, draw: Generator, language: str) -> Lines:
    """Mistype, swap, leave out or double a letter, in one word of eight.

    The keyboard is that of the source language.
    """
    neighbours = KEYBOARDS.get(language.partition("-")[0], KEYBOARDS["en"])
    words = [*_WORD.finditer(lines.source)]
    chosen = draw.random(len(words)) < MISTYPED
    source = lines.source
    for match in [word for word, wrong in zip(words, chosen, strict=True) if wrong][::-1]:
        mistyped = mistype(match[0], draw, neighbours)
        source = source[: match.start()] + mistyped + source[match.end() :]
    return Lines(source, lines.target)


def mistype(word: str, draw: Generator, neighbours: Mapping[str, str]) -> str:
    """Return a word of two letters or more with an error."""
    at = int(draw.integers(len(word) - 1))
    match int(draw.integers(4)):
        case 0:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        case 1:
            return word[: at + 1] + word[at + 2 :]
        case 2:
            return word[: at + 1] + word[at:]
    near = neighbours.get(word[at].lower(), word[at])
    letter = near[int(draw.integers(len(near)))]
    return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]


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


MASKED = 0.8
"""Share of literals and names that are replaced by symbols."""
INSERTED, MOST_INSERTED = 0.6, 2
"""Share of the pairs that get extra symbols, and the maximum number of these."""
AT_ENDS = 0.2
"""Share of extra symbols at the beginning or end; others follow an equal share of both lines."""

_NAME = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}\-])\p{Lu}[\p{L}\p{M}]{2,}(?![\p{L}\p{M}\p{Nd}\-])")


CommonPart = tuple[int, int, SymbolClass]
"""Begin, end and class of a part of a line that may stand in the other line, too."""


def put_symbols(lines: Lines, draw: Generator, languages: tuple[str, str]) -> Lines:
    """Put symbols into a pair, the same on both sides, so that a model learns to copy them."""
    symbols = {
        name: iter([those[number] for number in draw.permutation(len(those))])
        for name, those in SYMBOLS.items()
    }
    source, target = (
        index_once(list_parts(line, language))
        for line, language in zip(lines, languages, strict=True)
    )
    chosen: dict[Hashable, str] = {}
    for value, (_, _, symbol_class) in source.items():
        if value in target and draw.random() < MASKED:
            chosen[value] = next(symbols[symbol_class], "")
    masked = Lines(
        replace_parts(lines.source, source, chosen), replace_parts(lines.target, target, chosen)
    )
    if draw.random() < INSERTED:
        for symbol in islice(symbols["name"], 1 + int(draw.integers(MOST_INSERTED))):
            masked = insert(masked, symbol, draw)
    return masked


def list_parts(line: str, language: str) -> Iterator[tuple[Hashable, CommonPart]]:
    """Yield the value and place of each literal and name: words with a capital, no literals."""
    literals = find_literals(line, language)
    for literal in literals:
        value = read_literal_value(literal, language)
        yield value, (literal.start, literal.end, literal.kind.symbol_class)
    for match in _NAME.finditer(line):
        if not any(n.start < match.end() and match.start() < n.end for n in literals):
            yield match[0], (match.start(), match.end(), "name")


def index_once(parts: Iterable[tuple[Hashable, CommonPart]]) -> dict[Hashable, CommonPart]:
    """Return the parts whose values occur once, by their values."""
    listed = [*parts]
    counts = Counter(value for value, _ in listed)
    return {value: part for value, part in listed if counts[value] == 1}


def replace_parts(
    line: str, parts: Mapping[Hashable, CommonPart], symbols: Mapping[Hashable, str]
) -> str:
    """Return a line with the symbols of some values in the place of their parts."""
    for value, (start, end, _) in sorted(parts.items(), key=lambda item: -item[1][0]):
        if symbol := symbols.get(value):
            line = line[:start] + symbol + line[end:]
    return line


def insert(lines: Lines, symbol: str, draw: Generator) -> Lines:
    """Return a pair with a symbol at about the same place of both lines, as a word of its own."""
    share = float(draw.integers(2)) if draw.random() < AT_ENDS else float(draw.random())
    return Lines(*(insert_word(line, share, symbol) for line in lines))
