"""Fonts for text that matplotlib's own lacks, such as Japanese: those that are installed."""

import logging
from collections.abc import Iterable

from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

_log = logging.getLogger(__name__)

SHOWN = 5
"""Missing characters that a warning names."""


def choose_fonts(texts: Iterable[str]) -> list[str]:
    """Return the font families that together have the most characters, matplotlib's own first.

    Characters of no installed font are drawn as boxes, with a warning.
    """
    default = FontProperties().get_name()
    missing = {ord(character) for text in texts for character in text} - _characters(default)
    names = sorted(fontManager.get_font_names()) if missing else []
    characters = {name: missing & _characters(name) for name in names if not _is_last_resort(name)}
    chosen = [default]
    while missing & set().union(*characters.values()):
        best = max(characters, key=lambda name: len(missing & characters[name]))
        chosen.append(best)
        missing -= characters[best]
    if missing:
        _log.warning(
            "no installed font has %d characters of the attention pictures (%s), which show boxes "
            "in their place; install one that has them, such as Noto Sans CJK for Japanese",
            len(missing),
            "".join(map(chr, sorted(missing)[:SHOWN])),
        )
    return chosen


def _characters(family: str) -> set[int]:
    """Return the code points of a family, in the face that matplotlib would take."""
    return {*get_font(findfont(FontProperties(family=family))).get_charmap()}


def _is_last_resort(family: str) -> bool:
    """Tell whether a font draws a box for every character, as one of matplotlib does."""
    return "lastresort" in family.replace(" ", "").lower()
