"""Words of a line by their stems, so that inflected forms of a word are alike (Snowball)."""

import threading
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import regex

_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"
)
"""A word, a mark, or a character of a script without spaces."""

_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

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
    name = _STEMMERS.get(language.partition("-")[0])
    if name is None or not word[0].isalpha():
        return folded
    if not hasattr(_stemmers, name):
        from snowballstemmer import stemmer  # optional

        setattr(_stemmers, name, stemmer(name))
    stem: str = getattr(_stemmers, name).stemWord(folded)
    return stem
