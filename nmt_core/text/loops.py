"""Lines that go in circles: the same words again and again."""

from collections.abc import Sequence

LOOP_WORDS = 4
"""Longest run of words whose immediate repetition counts as going in circles."""

LOOP_TIMES = 3
"""Repetitions in a row that count."""


def find_loop(words: Sequence[str]) -> Sequence[str]:
    """Return the first run of words that stands three times in a row; none if there is none."""
    if len(words) - len({*words}) < LOOP_TIMES - 1:
        return ()
    for size in range(1, LOOP_WORDS + 1):
        for first in range(len(words) - LOOP_TIMES * size + 1):
            run = words[first : first + size]
            if all(
                words[first + time * size : first + (time + 1) * size] == run
                for time in range(1, LOOP_TIMES)
            ):
                return run
    return ()
