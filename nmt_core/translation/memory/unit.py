"""Units of a translation memory, whose they are, and what is found of them."""

from typing import NamedTuple

from nmt_core.base.languages import Languages

THRESHOLD = 0.75
"""Similarity from which a unit is offered."""


class MemoryScope(NamedTuple):
    """Whose units are meant."""

    languages: Languages
    project: str = ""
    """A name; empty for no project."""
    key: str = ""
    """The beginning of the digest of a user's API key; empty for units of everybody."""


class MemoryUnit(NamedTuple):
    """A pair to remember."""

    source: str
    target: str
    origin: str = ""
    """Id of the correction that it comes from, if it does."""


class MemoryMatch(NamedTuple):
    """A remembered pair that is like a text, or is its translation."""

    source: str
    target: str
    score: float
    """Similarity of its source and the text, from 0 to 1."""
    approved: bool
