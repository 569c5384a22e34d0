"""Glossaries: terms of a user and their translations.

A line of a glossary has a term, its translation, and further accepted forms, separated by tabs or
`` = ``. A term without a translation must not change; if it has several words, a tab follows it.
Terms are found in any inflected form, by the stems of their words (Snowball).
"""

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import regex
from babel import Locale, UnknownLocaleError

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.files import (
    BYTE_ORDER_MARK,
    decode_utf8,
    explain_unreadable_file,
    require_regular_file,
)
from nmt_core.base.languages import Languages
from nmt_core.literals.finding import Literal, LiteralFinder, LiteralKind, find_literals

MAX_TERM_CHARACTERS = 200
"""Maximum length of a term, and of a word that is stemmed, to bound memory."""

SEPARATOR = re.compile(r"\t|[^\S\t]=[^\S\t]")
"""Separator of a term and its translations; ``C=3`` is a term."""

MAX_ENTRIES = 200_000
"""Maximum number of entries of a glossary."""


@dataclass(frozen=True)
class Glossary:
    """Terms of one pair of languages."""

    translations: dict[str, tuple[str, ...]]
    """The translations of each term; empty if the term must not change."""
    languages: tuple[str, str]
    """Codes of the source and the target."""

    @classmethod
    def load(cls, path: Path | str, languages: Languages | tuple[str, str]) -> "Glossary":
        """Read a glossary from a UTF-8 file; see ``parse``.

        Raises:
            ConfigError: if the file cannot be read, or a line is invalid; the message names it.
        """
        path = Path(path)
        codes = languages.codes if isinstance(languages, Languages) else languages
        try:
            text = decode_utf8(require_regular_file(path).read_bytes(), path)
        except (CorpusError, OSError) as error:
            reason = explain_unreadable_file(path, error) if isinstance(error, OSError) else error
            raise ConfigError(f"the glossary cannot be read: {reason}") from None
        lines = text.removeprefix(BYTE_ORDER_MARK).splitlines()
        return cls.parse(lines, codes, name=str(path))

    @classmethod
    def parse(
        cls, lines: Iterable[str], languages: tuple[str, str], *, name: str = "the glossary"
    ) -> "Glossary":
        """Parse lines with one term each; empty lines and comments after ``# `` are skipped.

        Messages contain ``name``.

        Raises:
            ConfigError: if a line is invalid; the message names it.
        """
        translations: dict[str, tuple[str, ...]] = {}
        numbers: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("# "):
                continue
            place = f"{name}, line {number}"
            cells = SEPARATOR.split(line)
            if len(cells) == 1 < len(line.split()):
                raise ConfigError(
                    f"{place}: {line.strip()[:60]!r} has no translation; separate term and "
                    f"translation by a tab or ' = ', or end the line with a tab to keep the text"
                )
            term, *forms = (unicodedata.normalize("NFC", cell.strip()) for cell in cells)
            while forms and not forms[-1]:
                forms.pop()
            check_entry(term, forms, languages[0], place=place)
            if translations.setdefault(term, tuple(forms)) != tuple(forms):
                raise ConfigError(
                    f"{place}: {term!r} has another translation in line {numbers[term]}; remove "
                    f"one of the lines, or write both translations in one line"
                )
            numbers.setdefault(term, number)
            if len(translations) > MAX_ENTRIES:
                raise ConfigError(f"{place}: a glossary must have at most {MAX_ENTRIES:,} terms")
        return cls(translations, languages)

    def save(self, path: Path) -> None:
        """Write a file that ``load`` reads."""
        lines = ("\t".join([term, *(forms or [""])]) for term, forms in self.translations.items())
        files.write_text(path, "".join(f"{line}\n" for line in lines))

    @property
    def finders(self) -> Sequence[LiteralFinder]:
        """Finders of its terms in lines of both languages: of terms that must not change first."""
        return self._find_kept, self._find_translated

    def _find_kept(self, line: str, _language: str) -> Iterator[Literal]:
        """Yield terms that must not change, as whole words in the same case; longer ones win."""
        for match in self._kept.finditer(line):
            if match[0]:
                yield Literal(LiteralKind.VERBATIM, *match.span(), match[0])

    def _find_translated(self, line: str, language: str) -> Iterator[Literal]:
        """Yield the terms of a source line, or the translations of terms in a target line.

        Terms are whole words in any inflected form. A term with an initial capital matches only
        words with one; a term with inner capitals matches only itself or all capitals.
        """
        for start, end, term in self._finders[language].find(line):
            forms = self.translations[term] if language == self.languages[0] else (term,)
            yield Literal(LiteralKind.TERM, start, end, line[start:end], forms=forms)

    @cached_property
    def _kept(self) -> regex.Pattern[str]:
        terms = [term for term, forms in self.translations.items() if not forms]
        terms += [unicodedata.normalize("NFD", term) for term in terms]
        return regex.compile(r"(?<!\w)\L<terms>(?!\w)", ignore_unused=True, terms=terms)

    @cached_property
    def _finders(self) -> dict[str, "TermFinder"]:
        source, target = self.languages
        forms = dict.fromkeys(form for forms in self.translations.values() for form in forms)
        terms = [term for term, translations in self.translations.items() if translations]
        return {target: TermFinder(forms, target), source: TermFinder(terms, source)}


def join_glossaries(glossaries: Sequence[Glossary]) -> Glossary:
    """Return glossaries of one language pair as one; earlier glossaries win for equal terms."""
    translations = {
        term: forms for each in reversed(glossaries) for term, forms in each.translations.items()
    }
    return Glossary(translations, glossaries[0].languages)


def check_entry(term: str, forms: Sequence[str], language: str, *, place: str) -> None:
    """Raise a ConfigError if an entry of a glossary is invalid or has no effect."""
    for cell in (term, *forms):
        if not cell:
            raise ConfigError(f"{place}: a term or a translation is empty; write both, or the term")
        if len(cell) > MAX_TERM_CHARACTERS:
            raise ConfigError(
                f"{place}: {cell[:40]!r}... has {len(cell):,} characters; use at most "
                f"{MAX_TERM_CHARACTERS}"
            )
        if any(unicodedata.category(sign) in {"Cc", "Co", "Cs"} for sign in cell):
            raise ConfigError(f"{place}: {cell!r} has a control character; remove it")
    literals = find_literals(term, language)
    if not forms and [literal.text for literal in literals] == [term]:
        raise ConfigError(f"{place}: {term!r} is kept even without a glossary; remove the line")


_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"
)
"""A word, a punctuation mark, or a character of a script without spaces."""

_stemmers = threading.local()
"""The stemmers of each thread, by name, because stemmers are not thread-safe."""


class Word(NamedTuple):
    """A word of a line."""

    text: str
    stem: str
    start: int
    end: int


def split_words(line: str) -> list[str]:
    """Return the words and punctuation marks of a line."""
    return _WORD.findall(line)


def stem_words(line: str, language: str) -> list[Word]:
    """Return the words and punctuation marks of a line with their stems."""
    return [
        Word(match[0], find_stem(match[0], language), *match.span())
        for match in _WORD.finditer(line)
    ]


def find_stem(word: str, language: str) -> str:
    """Return the stem of a word, case-folded, in NFC; the word itself if it cannot be stemmed."""
    word = unicodedata.normalize("NFC", word)
    return _find_stem(word, language) if len(word) <= MAX_TERM_CHARACTERS else word.casefold()


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
    """Return the name of a language's Snowball stemmer, such as ``german``; None without one."""
    import snowballstemmer  # optional

    try:
        english = Locale.parse(language.partition("-")[0]).english_name or ""
    except (UnknownLocaleError, ValueError):
        return None
    name = english.casefold().partition(" ")[0]
    return name if name in snowballstemmer.algorithms() else None


class TermFinder:
    """Finds non-empty terms of one language by the stems of their words."""

    def __init__(self, terms: Iterable[str], language: str) -> None:
        self._language = language
        self._terms: dict[tuple[str, ...], list[tuple[list[str], str]]] = defaultdict(list)
        for term in terms:
            words = stem_words(term, language)
            self._terms[tuple(word.stem for word in words)].append(([w.text for w in words], term))
        lengths = defaultdict(set)
        for stems in self._terms:
            lengths[stems[0]].add(len(stems))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}

    def find(self, line: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start, the end and the term of each match, from left to right.

        The longest term wins.
        """
        stems = (find_stem(word, self._language) for word in split_words(line))
        if not any(stem in self._lengths for stem in stems):
            return
        words = stem_words(line, self._language)
        at = 0
        while at < len(words):
            term, length = self._find_at(words, at)
            if term:
                yield words[at].start, words[at + length - 1].end, term
            at += length

    def _find_at(self, words: Sequence[Word], at: int) -> tuple[str, int]:
        """Return the longest term that begins at a word, and its number of words; or "" and 1."""
        for length in self._lengths.get(words[at].stem, ()):
            run = words[at : at + length]
            for texts, term in self._terms.get(tuple(word.stem for word in run), ()):
                if all(matches_case(word.text, own) for word, own in zip(run, texts, strict=True)):
                    return term, len(run)  # shorter than ``length`` at the end of a line
        return "", 1


def matches_case(word: str, term_word: str) -> bool:
    """Return whether the case of a word is compatible with that of a term's word."""
    word = unicodedata.normalize("NFC", word)
    if term_word[1:] != term_word[1:].lower():
        return word in {term_word, term_word.upper()}
    return term_word[0] == term_word[0].lower() or word[0] == word[0].upper()
