"""Strings of the embedded Reber grammar (Hochreiter and Schmidhuber 1997), and others.

A string of the Reber grammar stands between two equal letters, T or P, so who reads it must
remember the first of these until the end. States and letters are those of Géron, chapter 16.
"""

import hashlib
import itertools

from nmt_core.random import make_generator

LETTERS = "BEPSTVX"

END = None
REBER = (
    {"B": 1},
    {"T": 2, "P": 3},
    {"S": 2, "X": 4},
    {"T": 3, "V": 5},
    {"X": 3, "S": 6},
    {"P": 4, "V": 6},
    {"E": END},
)
"""Of each state, the letters that may follow and the states that they lead to."""


def draw_reber(draw):
    """Return a string of the Reber grammar, each letter that may follow as likely as the other."""
    written, state = "", 0
    while state is not END:
        letter = sorted(REBER[state])[draw.integers(len(REBER[state]))]
        written, state = written + letter, REBER[state][letter]
    return written


def draw_grammatical(draw):
    """Return a string of the embedded grammar."""
    around = "TP"[draw.integers(2)]
    return f"B{around}{draw_reber(draw)}{around}E"


def corrupt(string, draw):
    """Return a string in which another letter stands for one; it is not of the grammar then."""
    place = draw.integers(len(string))
    others = LETTERS.replace(string[place], "")
    return string[:place] + others[draw.integers(len(others))] + string[place + 1 :]


def is_held_out(string):
    """Return whether nobody may learn from a string: a third of all is for tests."""
    return hashlib.blake2b(string.encode()).digest()[0] % 3 == 0


def draw_strings(seed, purpose, *, held_out):
    """Yield strings, every second one corrupted, with whether they are grammatical.

    All are held out, or none is. Short ones come again, as often in either half.
    """
    draw = make_generator(seed, "reber", purpose)
    for grammatical in itertools.cycle((True, False)):
        string = None
        while string is None or is_held_out(string) != held_out:
            string = draw_grammatical(draw)
            string = string if grammatical else corrupt(string, draw)
        yield string, grammatical
