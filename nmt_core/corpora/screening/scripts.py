"""The writing of a line: which script each of its letters belongs to."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from nmt_core.corpora.screening.flat_text import Array, read_code_points

USUAL_SHARE = 0.02
"""From this share of a side's letters on, a script is one that the side is written in."""


@lru_cache(maxsize=70_000)
def name_script(code: int) -> str:
    """Return the script of a letter, the first word of its name; empty if it is no letter.

    Full-width and other forms of a letter are named after what they are.
    """
    character = chr(code)
    if not character.isalpha():
        return ""
    name = unicodedata.name(unicodedata.normalize("NFKC", character)[0], "")
    return name.partition(" ")[0].partition("-")[0]


def find_usual_scripts(lines: Sequence[str]) -> list[str]:
    """Return the scripts that lines are written in, without those of a few foreign words."""
    codes, counts = np.unique(read_code_points(lines).values, return_counts=True)
    shares: dict[str, int] = {}
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        if script := name_script(code):
            shares[script] = shares.get(script, 0) + count
    least = USUAL_SHARE * sum(shares.values())
    return sorted(script for script, count in shares.items() if count >= least)


def measure_foreign_letters(lines: Sequence[str], usual: Sequence[str]) -> Array:
    """Return the share of each line's letters that are of no usual script; 0 without letters."""
    text = read_code_points(lines)
    codes, places = np.unique(text.values, return_inverse=True)
    names = [name_script(code) for code in codes.tolist()]
    letters = np.array([bool(name) for name in names], np.bool_)[places]
    foreign = np.array([bool(name) and name not in usual for name in names], np.bool_)[places]
    return text.add_up(foreign) / np.maximum(text.add_up(letters), 1)
