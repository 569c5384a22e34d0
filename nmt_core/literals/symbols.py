"""Symbols that stand in the place of literals: characters of their own, in every vocabulary.

A symbol is a character for private use (Unicode, chapter 23.5), so normalisation leaves it alone
and no tokenizer cuts it. Symbols of one class stand for values, those of the other for names; two
more mark a term that is already translated.
"""

from collections.abc import Mapping
from typing import Literal

import regex

SymbolClass = Literal["number", "name"]

SYMBOLS_PER_CLASS = 10
"""A line has so many symbols of a class; its other literals stay as they are."""

SYMBOLS: Mapping[SymbolClass, tuple[str, ...]] = {
    "number": tuple(map(chr, range(0xE000, 0xE000 + SYMBOLS_PER_CLASS))),
    "name": tuple(map(chr, range(0xE010, 0xE010 + SYMBOLS_PER_CLASS))),
}

TERM_MARKS = (chr(0xE020), chr(0xE021))
"""Around the translation of a term that stands in a source line in the place of the term."""

ALL_SYMBOLS = (*(symbol for symbols in SYMBOLS.values() for symbol in symbols), *TERM_MARKS)

PRIVATE_USE = regex.compile(r"\p{Co}")
"""Characters that might be taken for symbols: those of a text are literals themselves."""
