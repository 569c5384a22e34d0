"""The one form of a line that models see; references are scored as they are, untouched."""

import re
import unicodedata

WORD_BOUNDARY = "\N{LOWER ONE EIGHTH BLOCK}"
"""SentencePiece writes a space as this character, so text may not hold it."""

INVISIBLE = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    r"\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
)
"""Of a set in a regular expression: controls, soft hyphens, and marks of direction or of no width.
What joins or parts the letters of Persian and Hindi, and emoji, is none (U+200C, U+200D)."""

_SPACES = re.compile(r"\s+")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")


_STYLED = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a][\uff01-\uff5e]*|[\uff66-\uffdc\U0001d400-\U0001d7ff]+"
)
"""Full-width letters and digits with the signs behind them, half-width ones of East Asia, and
mathematical letters: other forms of letters that models know."""


def normalize(line: str) -> str:
    """Return ``line`` composed (NFC), without what nobody sees, with single spaces.

    Full-width, half-width and mathematical letters become ordinary ones (NFKC).

    What parts lines or fields (U+0009 to U+000D, U+001C to U+001F, U+0085, U+2028, U+2029) is a
    space. Case, digits and punctuation stay as they are. Applying it twice changes nothing more.
    """
    line = _INVISIBLE.sub("", line).replace(WORD_BOUNDARY, "_")
    line = _STYLED.sub(lambda styled: unicodedata.normalize("NFKC", styled[0]), line)
    return _SPACES.sub(" ", unicodedata.normalize("NFC", line)).strip()
