"""Parts of a line that its translation must keep: numbers, dates, names, signs and terms."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple, Protocol

from nmt_core.base.symbols import SymbolClass


class LiteralKind(StrEnum):
    """The kinds of literals."""

    VERBATIM = "verbatim"
    """Stays as it is: URLs, e-mail addresses, paths, placeholders, codes, emoji, signs."""
    NUMBER = "number"
    """Numbers, ranges and ratios: in the form of either language, or in words."""
    DATE = "date"
    """Dates and times of day in digits."""
    TERM = "term"
    """Terms of a glossary that have a translation of their own."""

    @property
    def symbol_class(self) -> SymbolClass:
        """The symbols that stand in its place while a model translates."""
        return "number" if self in {LiteralKind.NUMBER, LiteralKind.DATE} else "name"

    @property
    def is_masked_first(self) -> bool:
        """True if a symbol replaces it in the first search, and not only after a loss."""
        return self is LiteralKind.VERBATIM


class Literal(NamedTuple):
    """A literal in a line."""

    kind: LiteralKind
    start: int
    end: int
    text: str
    unit: str = ""
    """The unit or currency beside a number, in signs or a word, such as ``%``, ``€`` or ``km``."""
    scale: int = 0
    """The power of ten of the word behind a number, 6 of *5 million*."""
    forms: tuple[str, ...] = ()
    """The translations of a term; the first is the one to write."""
    extent: tuple[int, int] | None = None
    """The span of a number with the sign of its unit; None without a sign."""

    def overlaps(self, other: "Literal") -> bool:
        """Tell whether two literals of one line share a character."""
        return self.start < other.end and other.start < self.end


class LiteralFinder(Protocol):
    """Finds what a person wants to come through, such as the terms of a glossary."""

    def find(self, line: str, language: str) -> Iterator[Literal]:
        """Yield what is found in a line of a language, from left to right, without overlaps."""
