"""The one form of a line that models see; references are scored as they are, untouched."""

import re
import unicodedata

WORD_BOUNDARY = "\N{LOWER ONE EIGHTH BLOCK}"
"""SentencePiece writes a space as this character, so text may not hold it."""

_SPACES = re.compile(r"\s+")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\ufeff]")


def normalize(line: str) -> str:
    """Return ``line`` composed (NFC), without control characters, with single spaces.

    What parts lines or fields (U+0009 to U+000D, U+001C to U+001F, U+0085, U+2028, U+2029) is a
    space. Case, digits and punctuation stay as they are. Applying it twice changes nothing more.
    """
    line = _CONTROLS.sub("", line).replace(WORD_BOUNDARY, "_")
    return _SPACES.sub(" ", unicodedata.normalize("NFC", line)).strip()
