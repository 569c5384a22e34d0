"""Lines that go in circles: the same words again and again."""

import re
from collections.abc import Sequence

LOOP_WORDS = 4
"""Longest run of words whose immediate repetition counts as going in circles."""

LOOP_TIMES = 3
"""Repetitions in a row that count."""

LOOP_LETTERS = 8
"""Letters that repetitions within a word have at least, more than "nenene" of German
"Sonnenenergie"."""

_REPEATED = re.compile(r"([^\W\d_]{1,8}?)\1{2,}")
"""Letters that stand three times in a row."""


def find_letter_loop(text: str) -> str:
    """Return the first repetition of letters within a word, as in "Nineineine"; "" if none is."""
    found = (match[0] for match in _REPEATED.finditer(text.casefold()))
    return next((letters for letters in found if len(letters) >= LOOP_LETTERS), "")


def find_loop(words: Sequence[str]) -> Sequence[str]:
    """Return the first run of words that stands three times in a row; none if there is none."""
    if len(words) - len({*words}) < LOOP_TIMES - 1:
        return ()
    for size in range(1, LOOP_WORDS + 1):
        equal = 0  # words in a row that are those so many places later
        for place in range(len(words) - size):
            equal = equal + 1 if words[place] == words[place + size] else 0
            if equal == (LOOP_TIMES - 1) * size:
                first = place + 1 - equal
                return words[first : first + size]
    return ()
