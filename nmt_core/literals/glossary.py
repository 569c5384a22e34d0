"""Glossaries: terms of a person's own, and how they are to be translated.

A line of a glossary is a term, its translation, and further forms that count as well, with tabs or
`` = `` between them. A term alone stays as it is, one of several words if a tab follows. Terms are
found in any inflected form, by the stems of their words (Snowball).
"""

import logging
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
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    BYTE_ORDER_MARK,
    decode_utf8,
    explain_damage,
    require_regular_file,
)
from nmt_core.literals.finding import Literal, LiteralFinder, LiteralKind, find_literals

LONGEST_TERM = 200
"""Characters of a term, and of a word that has a stem: what is kept is bounded."""

SEPARATOR = re.compile(r"\t|[^\S\t]=[^\S\t]")
"""Between a term and its translations; ``C=3`` is a term."""

OWN_PATTERN = re.compile("/.+/")
"""A regular expression in the glossary of an earlier export."""

MOST_ENTRIES = 200_000
"""Entries of a glossary."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Glossary:
    """Terms of one pair of languages."""

    translations: dict[str, tuple[str, ...]]
    """The translations of each term; none where it stays as it is."""
    languages: tuple[str, str]
    """Codes of the source and the target."""

    @classmethod
    def load(
        cls, path: Path | str, languages: Languages | tuple[str, str], *, sealed: bool = False
    ) -> "Glossary":
        """Read a glossary from a file in UTF-8; see ``parse``.

        Raises:
            ConfigError: if it cannot be read, or a line of it is wrong, naming the line.
        """
        path = Path(path)
        codes = languages.codes if isinstance(languages, Languages) else languages
        try:
            with explain_damage(path):
                text = decode_utf8(require_regular_file(path).read_bytes(), path)
        except CorpusError as error:
            raise ConfigError(f"the glossary cannot be read: {error}") from None
        lines = text.removeprefix(BYTE_ORDER_MARK).splitlines()
        return cls.parse(lines, codes, name=str(path), sealed=sealed)

    @classmethod
    def parse(
        cls,
        lines: Iterable[str],
        languages: tuple[str, str],
        *,
        name: str = "the glossary",
        sealed: bool = False,
    ) -> "Glossary":
        """Read lines of a term each; empty ones and those after ``#`` and a space say nothing.

        If ``sealed``, as in earlier exports, several words need no tab, and regular expressions are
        left out. Messages name the glossary.

        Raises:
            ConfigError: if one is wrong, naming it.
        """
        translations: dict[str, tuple[str, ...]] = {}
        numbers: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("# "):
                continue
            place = f"{name}, line {number}"
            if sealed and OWN_PATTERN.fullmatch(line.strip()):
                _log.warning(
                    "%s is left out: a glossary has no regular expressions any more", place
                )
                continue
            cells = SEPARATOR.split(line)
            if len(cells) == 1 < len(line.split()) and not sealed:
                raise ConfigError(
                    f"{place}: {line.strip()[:60]!r} has no translation; separate it from the term "
                    f"by a tab or ' = ', or end the line with a tab if all of it stays as it is"
                )
            term, *forms = (unicodedata.normalize("NFC", cell.strip()) for cell in cells)
            while forms and not forms[-1]:
                forms.pop()
            check_entry(term, forms, languages[0], place=place)
            if translations.setdefault(term, tuple(forms)) != tuple(forms):
                raise ConfigError(
                    f"{place}: {term!r} stands in line {numbers[term]} with another translation; "
                    f"leave one of them out, or give both in one line as forms of it"
                )
            numbers.setdefault(term, number)
            if len(translations) > MOST_ENTRIES:
                raise ConfigError(f"{place}: a glossary has at most {MOST_ENTRIES:,} terms")
        return cls(translations, languages)

    def save(self, path: Path) -> None:
        """Write the glossary as ``load`` reads it."""
        lines = ("\t".join([term, *(forms or [""])]) for term, forms in self.translations.items())
        files.write_text(path, "".join(f"{line}\n" for line in lines))

    @property
    def finders(self) -> Sequence[LiteralFinder]:
        """Find its terms in lines of both languages: those that stay first."""
        return self._find_kept, self._find_translated

    def _find_kept(self, line: str, _language: str) -> Iterator[Literal]:
        """Yield terms that stay as they are: whole words in their case, longer ones first."""
        for match in self._kept.finditer(line):
            if match[0]:
                yield Literal(LiteralKind.VERBATIM, *match.span(), match[0])

    def _find_translated(self, line: str, language: str) -> Iterator[Literal]:
        """Yield terms of a line of the source, or their translations in one of the target.

        They are whole words, inflected or not. A word with an initial capital matches words with
        one; a word with inner capitals matches itself or all capitals. The first translation is the
        one to write; any of them counts.
        """
        for start, end, term in self._finders[language].find(line):
            forms = self.translations[term] if language == self.languages[0] else (term,)
            yield Literal(LiteralKind.TERM, start, end, line[start:end], forms=forms)

    @cached_property
    def _kept(self) -> regex.Pattern[str]:
        kept = [term for term, forms in self.translations.items() if not forms]
        kept += [unicodedata.normalize("NFD", term) for term in kept]
        return regex.compile(r"(?<!\w)\L<terms>(?!\w)", ignore_unused=True, terms=kept)

    @cached_property
    def _finders(self) -> dict[str, "TermFinder"]:
        source, target = self.languages
        forms = dict.fromkeys(form for forms in self.translations.values() for form in forms)
        terms = [term for term, own in self.translations.items() if own]
        return {target: TermFinder(forms, target), source: TermFinder(terms, source)}


def join_glossaries(glossaries: Sequence[Glossary]) -> Glossary:
    """Return glossaries of one pair as one; of equal terms, those of the first count."""
    translations = {
        term: forms for one in reversed(glossaries) for term, forms in one.translations.items()
    }
    return Glossary(translations, glossaries[0].languages)


def check_entry(term: str, forms: Sequence[str], language: str, *, place: str) -> None:
    """Raise a ConfigError if an entry of a glossary says nothing, or cannot be read."""
    for cell in (term, *forms):
        if not cell:
            raise ConfigError(f"{place}: a term or a translation is empty; write both, or the term")
        if len(cell) > LONGEST_TERM:
            raise ConfigError(
                f"{place}: {cell[:40]!r}... has {len(cell):,} characters; {LONGEST_TERM} may be"
            )
        if any(unicodedata.category(sign) in {"Cc", "Co", "Cs"} for sign in cell):
            raise ConfigError(f"{place}: {cell!r} has a control character; take it out")
    literals = find_literals(term, language)
    if not forms and [literal.text for literal in literals] == [term]:
        raise ConfigError(f"{place}: {term!r} stays as it is without a glossary; leave it out")


_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"
)
"""A word, a mark, or a character of a script without spaces."""

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
    return _find_stem(word, language) if len(word) <= LONGEST_TERM else word.casefold()


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
            term, length = self._find_at(words, at)
            if term:
                yield words[at].start, words[at + length - 1].end, term
            at += length

    def _find_at(self, words: Sequence[Word], at: int) -> tuple[str, int]:
        """Return the longest term that begins at a word, if any, and the number of its words."""
        for length in self._lengths.get(words[at].stem, ()):
            there = words[at : at + length]
            for wanted, term in self._terms.get(tuple(word.stem for word in there), ()):
                if all(has_fitting_case(w.text, own) for w, own in zip(there, wanted, strict=True)):
                    return term, len(there)  # shorter than length at the end
        return "", 1


def has_fitting_case(word: str, wanted: str) -> bool:
    """Tell whether a word is written as that of a term may be."""
    word = unicodedata.normalize("NFC", word)
    if wanted[1:] != wanted[1:].lower():
        return word in {wanted, wanted.upper()}
    return wanted[0] == wanted[0].lower() or word[0] == word[0].upper()
