"""Terms of a glossary, found in any inflected form by the stems of their words (Snowball)."""

import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex
from babel import Locale, UnknownLocaleError

from nmt_core.literals.finding import Literal, LiteralKind

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


class KeptTerms:
    """Terms that stay as they are, in whole words and in their case; longer ones first."""

    def __init__(self, terms: Iterable[str]) -> None:
        named = {term for term in terms if term.strip()}
        named |= {unicodedata.normalize("NFD", term) for term in named}
        self._pattern = regex.compile(r"(?<!\w)\L<terms>(?!\w)", ignore_unused=True, terms=[*named])

    def find(self, line: str, language: str) -> Iterator[Literal]:
        """Yield the terms of a line."""
        del language
        for match in self._pattern.finditer(line):
            if match.end() > match.start():
                yield Literal(LiteralKind.VERBATIM, *match.span(), match[0])


class TranslatedTerms:
    """Terms with their translations, in whole words, inflected or not.

    A word with an initial capital matches words with one; a word with inner capitals matches itself
    or all capitals. The first translation is the one to write; any of them counts.
    """

    def __init__(
        self, translations: Mapping[str, Sequence[str]], languages: tuple[str, str]
    ) -> None:
        self._forms = {term: (*forms,) for term, forms in translations.items()}
        self._terms: dict[str, list[str]] = defaultdict(list)
        for term, forms in translations.items():
            for form in forms:
                self._terms[form].append(term)
        self._source, target = languages
        self._finders = {target: TermFinder(self._terms, target)}
        self._finders[self._source] = TermFinder(translations, self._source)

    def find(self, line: str, language: str) -> Iterator[Literal]:
        """Yield the terms of a line of the source, or their translations in one of the target."""
        for start, end, term in self._finders[language].find(line):
            forms = self._forms[term] if language == self._source else (term,)
            yield Literal(LiteralKind.TERM, start, end, line[start:end], forms=forms)


class TermFinder:
    """Finds the terms of one language, none of them empty, by the stems of their words."""

    def __init__(self, terms: Iterable[str], language: str) -> None:
        self._language = language
        self._terms: dict[tuple[str, ...], list[tuple[list[str], str]]] = defaultdict(list)
        for term in terms:
            words = stem_words(term, language)
            self._terms[tuple(word.stem for word in words)].append(([w.text for w in words], term))
        lengths = defaultdict(set)
        for stems in self._terms:
            lengths[stems[0]].add(len(stems))
        self._lengths = {first: sorted(those, reverse=True) for first, those in lengths.items()}

    def find(self, line: str) -> Iterator[tuple[int, int, str]]:
        """Yield where terms are in a line, and how the glossary has them, from left to right.

        Of terms that begin alike, the longest is taken.
        """
        stems = (find_stem(word, self._language) for word in split_words(line))
        if not any(stem in self._lengths for stem in stems):
            return
        words = stem_words(line, self._language)
        at = 0
        while at < len(words):
            match = self._find_at(words, at)
            if match:
                term, length = match
                yield words[at].start, words[at + length - 1].end, term
            at += match[1] if match else 1

    def _find_at(self, words: Sequence[Word], at: int) -> tuple[str, int] | None:
        """Return the longest term that begins at a word, and the number of its words."""
        for length in self._lengths.get(words[at].stem, ()):
            there = words[at : at + length]
            for wanted, term in self._terms.get(tuple(word.stem for word in there), ()):
                if all(has_fitting_case(w.text, own) for w, own in zip(there, wanted, strict=True)):
                    return term, len(wanted)
        return None


def has_fitting_case(word: str, wanted: str) -> bool:
    """Tell whether a word is written as that of a term may be."""
    word = unicodedata.normalize("NFC", word)
    if wanted[1:] != wanted[1:].lower():
        return word in {wanted, wanted.upper()}
    return wanted[0] == wanted[0].lower() or word[0] == word[0].upper()
