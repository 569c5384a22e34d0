"""The contract of all kinds of literals, and a literal in a line."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from typing import ClassVar, NamedTuple

from nmt_core.base.symbols import SymbolClass


class LiteralSpan(NamedTuple):
    """Where a literal stands in a line."""

    start: int
    end: int
    unit: str = ""
    """The sign of a unit or currency beside it, such as ``%`` or ``km``."""
    scale: str = ""
    """Words of scale behind it, such as ``million``."""


class LiteralKind(ABC):
    r"""A kind of literal.

    One that keeps names of channels::

        class Channel(LiteralKind):
            name = "channel"

            def find(self, line, language):
                return (LiteralSpan(*match.span()) for match in re.finditer(r"~\w+", line))
    """

    name: ClassVar[str]
    """What a person calls it."""
    symbol_class: ClassVar[SymbolClass] = "name"
    """The symbols that stand in its place."""
    is_masked_first: ClassVar[bool] = True
    """Whether a symbol stands for it from the start, and not only where it was lost."""
    may_repeat: ClassVar[bool] = False
    """Whether a translation may have it more often than its source."""

    @abstractmethod
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        """Yield the places of all literals of this kind in a line, from left to right."""

    def read(self, text: str, language: str) -> Hashable:
        """Return the value of a literal; two of equal value say the same."""
        del language
        return text

    def is_form_of(self, text: str, language: str) -> bool:
        """Tell whether a literal is written as a language writes it."""
        del text, language
        return True

    def is_said(self, text: str, translation: str) -> bool:
        """Tell whether a translation without such a literal says the same in another way."""
        del text, translation
        return False

    def write(self, text: str, source: str, target: str) -> str:
        """Return a literal of the source language in the form of the target language."""
        del source, target
        return text


class Literal(NamedTuple):
    """A literal in a line."""

    kind: LiteralKind
    start: int
    end: int
    text: str
    unit: str = ""
    """See :class:`LiteralSpan`."""
    scale: str = ""
    """See :class:`LiteralSpan`."""
