"""Ordinal numbers in digits, whose endings depend on the number."""

import regex

_ORDINAL = regex.compile(r"(?<![\p{L}\p{Nd}.,/:\-])([0-9]+)(?:st|nd|rd|th)\b")
_ENDINGS = {"1": "st", "2": "nd", "3": "rd"}
_TEENS = ("11", "12", "13")


def correct_ordinals(line: str, language: str) -> str:
    """Return a line of English with the endings of its ordinals as they should be: 3rd, not 3th.

    Lines of other languages stay as they are. A model that copies a number does not look at it.
    """
    if language.partition("-")[0] != "en":
        return line
    return _ORDINAL.sub(lambda match: match[1] + find_ending(match[1]), line)


def find_ending(number: str) -> str:
    """Return the ending of an ordinal number in digits, in English."""
    return "th" if number.endswith(_TEENS) else _ENDINGS.get(number[-1], "th")
