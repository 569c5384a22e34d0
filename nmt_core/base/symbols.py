"""Symbols that stand in the place of literals: characters of their own, in every vocabulary.

A symbol is a character for private use (Unicode, chapter 23.5), so normalisation leaves it alone
and no tokenizer cuts it. Symbols of one class stand for values, those of the other for names.
"""

from collections.abc import Mapping
from typing import Literal

SymbolClass = Literal["number", "name"]

SYMBOLS_PER_CLASS = 10
"""A line has so many symbols of a class; its other literals stay as they are."""

SYMBOLS: Mapping[SymbolClass, tuple[str, ...]] = {
    "number": tuple(map(chr, range(0xE000, 0xE000 + SYMBOLS_PER_CLASS))),
    "name": tuple(map(chr, range(0xE010, 0xE010 + SYMBOLS_PER_CLASS))),
}

ALL_SYMBOLS = (*SYMBOLS["number"], *SYMBOLS["name"])
