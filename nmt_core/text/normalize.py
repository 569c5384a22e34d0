"""Normalise lines before a model reads them; references are scored without normalisation."""

import re
import unicodedata

WORD_BOUNDARY = "\N{LOWER ONE EIGHTH BLOCK}"
"""SentencePiece writes a space as this character, so text must not contain it."""

INVISIBLE = (
    r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    r"\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
)
"""Character class of control characters, soft hyphens, direction marks and zero-width characters.
U+200C and U+200D are not included: Persian, Hindi and emoji need them."""

_SPACES = re.compile(r"\s+")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")

_STYLED = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a][\uff01-\uff5e]*|[\uff66-\uffdc\U0001d400-\U0001d7ff]+"
)
"""Full-width letters and digits with the signs after them, half-width East Asian letters, and
mathematical letters."""

_ORDINARY = "!-~\xa1-\xac\xae-\u02ff\u0400-\u0482\u2010-\u2027"
_NORMALIZED = re.compile(f"[{_ORDINARY}]++(?: [{_ORDINARY}]++)*+")
"""A normalised line of Latin or Cyrillic script; most lines are like this."""

_LETTERS = "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u012f\u0131-\u017f\u0400-\u0481\u048a-\u052f"
PLAIN_WORD = re.compile(f"[{_LETTERS}]+")
_PLAIN_TOKEN = f"[{_LETTERS}]++(?:['’-][{_LETTERS}]++)*+[,;:.!?]?+"
PLAIN_LINE = re.compile(f"{_PLAIN_TOKEN}(?: (?:{_PLAIN_TOKEN}|[;:?!–—-]))*+")
"""A normalised line of Latin or Cyrillic words, without literals, quotation marks and symbols."""


def normalize(line: str) -> str:
    """Return ``line`` in NFC, with single spaces and without invisible characters.

    Full-width, half-width and mathematical letters become ordinary letters (NFKC).

    Separators of lines and fields (U+0009 to U+000D, U+001C to U+001F, U+0085, U+2028, U+2029)
    become spaces. Case, digits and punctuation do not change. The function is idempotent.
    """
    if _NORMALIZED.fullmatch(line):
        return line
    line = _INVISIBLE.sub("", line).replace(WORD_BOUNDARY, "_")
    line = _STYLED.sub(lambda styled: unicodedata.normalize("NFKC", styled[0]), line)
    return _SPACES.sub(" ", unicodedata.normalize("NFC", line)).strip()
