"""A piece of a text."""

from typing import NamedTuple


class Span(NamedTuple):
    """The characters of a text from ``start`` up to ``end``."""

    start: int
    end: int
