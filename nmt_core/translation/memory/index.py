"""Find sentences that are alike among very many: by rare words, then by their similarity.

A text is indexed by its words and, where it is short, by pairs of words that stand side by side;
scripts without spaces by pairs of characters. Two texts that are alike share most of them, the rare
ones among them, and are about as long as each other.
"""

import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise

import regex

WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+|\p{Alphabetic}+|\p{N}+"
)
SPACELESS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")

SHORT_WORDS = 12
"""A text of up to so many words is indexed by pairs of words, too."""

HALF = 1 << 31
"""Makes a hash of 32 bits one that SQLite keeps in four bytes; few of a million terms share one."""


def join_spaces(text: str) -> str:
    """Return a text as a memory compares it: composed (NFC), its white space single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def list_terms(text: str) -> list[int]:
    """Return hashes of what a text is found by, each once, the longest first, which are rare."""
    words: list[str] = []
    for word in WORD.findall(text.casefold()):
        words += _cut(word) if SPACELESS.match(word) else [word]
    if not words:
        words = [text]  # signs alone
    terms: Iterable[str] = words
    if len(words) <= SHORT_WORDS:
        around = ["", *words, ""]
        terms = [*words, *map(" ".join, pairwise(around))]
    return [*dict.fromkeys(map(_hash, sorted(terms, key=len, reverse=True)))]


def bound_lengths(length: int, threshold: float) -> tuple[int, int]:
    """Return the least and greatest length of what may be as similar as a threshold says.

    The similarity is 1 less the edits (characters put in, left out or exchanged) as a share of the
    longer text.
    """
    return int(length * threshold), int(length / threshold) + 1


def _cut(run: str) -> Iterator[str]:
    return (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def _hash(term: str) -> int:
    return zlib.crc32(term.encode()) - HALF
