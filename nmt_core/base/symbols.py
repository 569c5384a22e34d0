"""Symbols that replace literals in the input of a model; every vocabulary has them.

A symbol is a private-use character (Unicode, chapter 23.5), so normalisation does not change it and
no tokenizer splits it. One class replaces values, the other names.
"""

from collections.abc import Mapping
from typing import Literal

SymbolClass = Literal["number", "name"]

SYMBOLS_PER_CLASS = 10
"""Maximum number of symbols of a class in a line; further literals are not replaced."""

SYMBOLS: Mapping[SymbolClass, tuple[str, ...]] = {
    "number": tuple(map(chr, range(0xE000, 0xE000 + SYMBOLS_PER_CLASS))),
    "name": tuple(map(chr, range(0xE010, 0xE010 + SYMBOLS_PER_CLASS))),
}

ALL_SYMBOLS = (*SYMBOLS["number"], *SYMBOLS["name"])
