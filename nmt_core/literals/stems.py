"""Words of a line by their stems, so that inflected forms of a word are alike (Snowball)."""

import threading
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import regex
from babel import Locale, UnknownLocaleError

_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"
)
"""A word, a mark, or a character of a script without spaces."""

LONGEST_WORD = 200
"""Characters of a word with a stem, as many as a term may have: what is kept is bounded."""

_stemmers = threading.local()
"""The stemmers of a thread, by language: one serves no two threads at once."""


class Word(NamedTuple):
    """A word of a line."""

    text: str
    stem: str
    start: int
    end: int


def split_words(line: str) -> list[str]:
    """Return the words and marks of a line."""
    return _WORD.findall(line)


def stem_words(line: str, language: str) -> list[Word]:
    """Return the words and marks of a line; of an unknown language, each is its own stem."""
    return [
        Word(match[0], find_stem(match[0], language), *match.span())
        for match in _WORD.finditer(line)
    ]


def find_stem(word: str, language: str) -> str:
    """Return the stem of a word, in lower case, composed (NFC); one too long is its own."""
    word = unicodedata.normalize("NFC", word)
    return _find_stem(word, language) if len(word) <= LONGEST_WORD else word.casefold()


@lru_cache(maxsize=100_000)
def _find_stem(word: str, language: str) -> str:
    folded = word.casefold()
    name = find_stemmer(language) if word[0].isalpha() else None
    if name is None:
        return folded
    if not hasattr(_stemmers, name):
        import snowballstemmer  # optional

        setattr(_stemmers, name, snowballstemmer.stemmer(name))
    stem: str = getattr(_stemmers, name).stemWord(folded)
    return stem


@lru_cache
def find_stemmer(language: str) -> str | None:
    """Return the name of the stemmer of a language, as English calls it; None if there is none."""
    import snowballstemmer  # optional

    try:
        english = Locale.parse(language.partition("-")[0]).english_name or ""
    except (UnknownLocaleError, ValueError):
        return None
    name = english.casefold().partition(" ")[0]
    return name if name in snowballstemmer.algorithms() else None
