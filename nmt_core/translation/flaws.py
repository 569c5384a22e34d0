"""Flaws of a whole translation: it loops, is empty, never ends, or is its source."""

import unicodedata
from collections.abc import Iterator, Sequence

from nmt_core.literals.checking import Breach
from nmt_core.literals.stems import split_words
from nmt_core.text.loops import find_letter_loop, find_loop

FEWEST_COPIED = 6
"""Words in lower case of a source that no translation should be equal to."""

LONGEST_NAMED = 24
"""Letters of a repetition that are named."""

FLAW = "sentence"
"""The kind of these breaches."""


def find_flaws(
    source: str, translation: str, *, tokens: int, limit: int, literals: Sequence[str] = ()
) -> Iterator[Breach]:
    """Yield what is wrong with a translation as a whole.

    Args:
        source: the line.
        translation: its translation.
        tokens: of the translation, its end included.
        limit: tokens beyond which no hypothesis was followed.
        literals: parts of the source that are not words.
    """
    is_empty = _has_words(source, literals) and not _has_words(translation, literals)
    if is_empty or (source.strip() and not translation.strip()):
        yield Breach(FLAW, "", "", "empty")
        return
    words = list_without_marks(translation)
    if (loop := find_loop(words)) and not find_loop(list_without_marks(source)):
        yield Breach(FLAW, " ".join(loop), "", "looping")
    elif (letters := find_letter_loop(translation)) and not find_letter_loop(source):
        yield Breach(FLAW, letters[:LONGEST_NAMED], "", "looping")
    if tokens >= limit:
        yield Breach(FLAW, "", "", "too long")
    if translation == source and sum(map(str.islower, words)) >= FEWEST_COPIED:
        yield Breach(FLAW, "", "", "copied")


def _has_words(text: str, literals: Sequence[str]) -> bool:
    """Tell whether letters stand in a text beside its literals."""
    for literal in literals:
        text = text.replace(literal, " ")
    return any(map(str.isalpha, text))


def is_flaw(breach: Breach) -> bool:
    """Tell whether a breach is a flaw of a whole translation."""
    return breach.kind == FLAW


def list_without_marks(line: str) -> list[str]:
    """Return the words and symbols of a line without its marks, such as the dots of an ellipsis."""
    return [word for word in split_words(line) if unicodedata.category(word[0])[0] not in "PS"]
