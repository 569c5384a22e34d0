"""The same in both languages, and short ways to list words."""

from typing import NamedTuple


class Wording(NamedTuple):
    """Words in both languages, inflected and in order."""

    german: str
    english: str


def listed(text: str) -> tuple[str, ...]:
    """Split a list of words."""
    return tuple(text.split())


def paired(text: str) -> tuple[Wording, ...]:
    """Split a list of pairs such as ``Mai/May``, where ``_`` is a space."""
    pairs = (pair.replace("_", " ").split("/") for pair in text.split())
    return tuple(Wording(german, english) for german, english in pairs)
