"""Symbols in training pairs: in the place of what stands on both sides, and put in by chance."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import regex
from numpy.random import Generator
from typing_extensions import override

from nmt_core.base.symbols import SYMBOLS, SymbolClass
from nmt_core.data.modifiers import Lines, Modifier
from nmt_core.literals.finding import find_literals
from nmt_core.literals.masking import insert_word
from nmt_core.literals.meaning import read_worth

MASKED = 0.8
"""Share of the literals, and of the names, that give way to symbols."""
INSERTED = 0.6
"""Share of the pairs into which symbols are put that stand for nothing."""
MOST_INSERTED = 2
"""Symbols put into a pair."""
AT_ENDS = 0.2
"""Share of them at the beginning or end; the others stand after an equal share of both lines."""

_NAME = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}\-])\p{Lu}[\p{L}\p{M}]{2,}(?![\p{L}\p{M}\p{Nd}\-])")


class CommonPart(NamedTuple):
    """A part of a line that may stand in the other line, too."""

    value: Hashable
    start: int
    end: int
    symbol_class: SymbolClass


class SymbolModifier(Modifier):
    """Symbols, the same on both sides, so that a model learns to copy them.

    Args:
        languages: codes of both languages.
    """

    name = "symbols"

    def __init__(self, languages: tuple[str, str]) -> None:
        self._languages = languages

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        symbols = {
            name: iter([those[number] for number in draw.permutation(len(those))])
            for name, those in SYMBOLS.items()
        }
        source, target = (
            index_once(list_parts(line, language))
            for line, language in zip(lines, self._languages, strict=True)
        )
        chosen: dict[Hashable, str] = {}
        for value, part in source.items():
            if value in target and draw.random() < MASKED:
                chosen[value] = next(symbols[part.symbol_class], "")
        masked = Lines(
            replace_parts(lines.source, source, chosen), replace_parts(lines.target, target, chosen)
        )
        if draw.random() < INSERTED:
            for symbol in islice(symbols["name"], 1 + int(draw.integers(MOST_INSERTED))):
                masked = insert(masked, symbol, draw)
        return masked


def list_parts(line: str, language: str) -> Iterator[CommonPart]:
    """Yield the literals and the names of a line: words with a capital that are no literals."""
    literals = find_literals(line, language)
    for one in literals:
        yield CommonPart(read_worth(one, language), one.start, one.end, one.kind.symbol_class)
    for match in _NAME.finditer(line):
        if not any(one.start < match.end() and match.start() < one.end for one in literals):
            yield CommonPart(match[0], match.start(), match.end(), "name")


def index_once(parts: Iterable[CommonPart]) -> dict[Hashable, CommonPart]:
    """Return the parts whose values occur once, by their values."""
    listed = [*parts]
    counts = Counter(part.value for part in listed)
    return {part.value: part for part in listed if counts[part.value] == 1}


def replace_parts(
    line: str, parts: Mapping[Hashable, CommonPart], symbols: Mapping[Hashable, str]
) -> str:
    """Return a line with symbols in the place of the parts of their values, where there are any."""
    for part in sorted(parts.values(), key=lambda part: -part.start):
        if symbol := symbols.get(part.value):
            line = line[: part.start] + symbol + line[part.end :]
    return line


def insert(lines: Lines, symbol: str, draw: Generator) -> Lines:
    """Return a pair with a symbol at about the same place of both lines, as a word of its own."""
    share = float(draw.integers(2)) if draw.random() < AT_ENDS else float(draw.random())
    return Lines(*(insert_word(line, share, symbol) for line in lines))
