"""Data augmentation: modifiers that make training pairs look like text that people type.

A modifier changes the source line. It changes the target line only if the change affects both, such
as a missing full stop.
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

MISTYPED_SHARE = 1 / 8
"""Share of words that ``make_typing_errors`` changes."""
SPACING_SHARE, EXTRA_SPACE_SHARE = 0.5, 0.5
"""Share of lines with wrong spaces at punctuation, and of these with an additional space."""
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
    """Remove the full stop at the end of both lines, if both have one."""
    if all(line.endswith(".") and not line.endswith("..") for line in lines):
        return Lines(*(line[:-1].rstrip() for line in lines))
    return lines


def change_punctuation(lines: Lines, draw: Generator) -> Lines:
    """Replace quotation marks and dashes, and add or remove spaces at punctuation."""
    quote = QUOTES[int(draw.integers(len(QUOTES)))]
    source = _QUOTE.sub(quote, lines.source)
    source = source.replace(" – ", DASHES[int(draw.integers(len(DASHES)))])
    if draw.random() < SPACING_SHARE:
        space = r" \1" if draw.random() < EXTRA_SPACE_SHARE else r"\1"
        source = _MARK.sub(space, source)
    return Lines(source, lines.target)


def make_typing_errors(lines: Lines, draw: Generator, language: str) -> Lines:
    """Mistype, swap, omit or double a letter in one word of eight, on the language's keyboard."""
    neighbours = KEYBOARDS.get(language.partition("-")[0], KEYBOARDS["en"])
    words = [*_WORD.finditer(lines.source)]
    chosen = draw.random(len(words)) < MISTYPED_SHARE
    source = lines.source
    for match in [word for word, is_chosen in zip(words, chosen, strict=True) if is_chosen][::-1]:
        mistyped = mistype(match[0], draw, neighbours)
        source = source[: match.start()] + mistyped + source[match.end() :]
    return Lines(source, lines.target)


def mistype(word: str, draw: Generator, neighbours: Mapping[str, str]) -> str:
    """Return a word of at least two letters with a random typing error."""
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
    """Return the neighbours of each letter on a keyboard with these rows."""
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
"""Neighbours of each letter on the keyboard, by language."""

MASKED_SHARE = 0.8
"""Share of common literals and names that are replaced by symbols."""
INSERTION_SHARE, MAX_INSERTIONS = 0.6, 2
"""Share of pairs that get extra symbols, and the maximum number of extra symbols per pair."""
END_SHARE = 0.2
"""Share of extra symbols at the beginning or end of the lines, not at a random position."""

_NAME = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}\-])\p{Lu}[\p{L}\p{M}]{2,}(?![\p{L}\p{M}\p{Nd}\-])")

MaskableSpan = tuple[int, int, SymbolClass]
"""Start and end (characters) and class of a span that may also occur in the other line."""


def put_symbols(lines: Lines, draw: Generator, languages: tuple[str, str]) -> Lines:
    """Put the same symbols into both lines, so that a model learns to copy symbols."""
    symbols = {
        name: iter([class_symbols[number] for number in draw.permutation(len(class_symbols))])
        for name, class_symbols in SYMBOLS.items()
    }
    source, target = (
        index_unique_values(find_maskable_spans(line, language))
        for line, language in zip(lines, languages, strict=True)
    )
    chosen: dict[Hashable, str] = {}
    for value, (_, _, symbol_class) in source.items():
        if value in target and draw.random() < MASKED_SHARE:
            chosen[value] = next(symbols[symbol_class], "")
    masked = Lines(
        replace_spans(lines.source, source, chosen), replace_spans(lines.target, target, chosen)
    )
    if draw.random() < INSERTION_SHARE:
        for symbol in islice(symbols["name"], 1 + int(draw.integers(MAX_INSERTIONS))):
            masked = insert_symbol(masked, symbol, draw)
    return masked


def find_maskable_spans(line: str, language: str) -> Iterator[tuple[Hashable, MaskableSpan]]:
    """Yield the value and span of each literal, and of each other capitalized word."""
    literals = find_literals(line, language)
    for literal in literals:
        value = read_literal_value(literal, language)
        yield value, (literal.start, literal.end, literal.kind.symbol_class)
    for match in _NAME.finditer(line):
        if not any(n.start < match.end() and match.start() < n.end for n in literals):
            yield match[0], (match.start(), match.end(), "name")


def index_unique_values(
    spans: Iterable[tuple[Hashable, MaskableSpan]],
) -> dict[Hashable, MaskableSpan]:
    """Return the span of each value that occurs exactly once."""
    all_spans = [*spans]
    counts = Counter(value for value, _ in all_spans)
    return {value: span for value, span in all_spans if counts[value] == 1}


def replace_spans(
    line: str, spans: Mapping[Hashable, MaskableSpan], symbols: Mapping[Hashable, str]
) -> str:
    """Return the line with the span of each value replaced by the value's symbol, if it has one."""
    for value, (start, end, _) in sorted(spans.items(), key=lambda item: -item[1][0]):
        if symbol := symbols.get(value):
            line = line[:start] + symbol + line[end:]
    return line


def insert_symbol(lines: Lines, symbol: str, draw: Generator) -> Lines:
    """Return the pair with a symbol inserted at about the same relative position of both lines."""
    position = float(draw.integers(2)) if draw.random() < END_SHARE else float(draw.random())
    return Lines(*(insert_word(line, position, symbol) for line in lines))
