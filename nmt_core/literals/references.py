"""Characters that are written by their name or number, as in HTML: ``&quot;``, ``&#39;``."""

import html
import re

REFERENCE = re.compile(r"&(?:[a-zA-Z]\w*|#\d+|#[xX][0-9a-fA-F]+);")

NAMES = frozenset({"apos", "quot"})
"""Names of characters that are words only in a text that is written so."""


def resolve_references(text: str) -> str:
    """Return a text with characters in the place of their names and numbers, once.

    What names no character stays.
    """
    return REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)
