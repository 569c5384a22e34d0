"""Terms of a glossary: those that stay as they are, and those with translations of their own."""

import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import regex
from typing_extensions import override

from nmt_core.literals.kind import LiteralKind, LiteralSpan
from nmt_core.literals.stems import Word, find_stem, split_words, stem_words


class KeptTerms(LiteralKind):
    """Terms that a person does not want translated, in whole words, in the case that is given."""

    name = "term"

    def __init__(self, terms: Iterable[str]) -> None:
        """Take terms; where two begin at the same place, the longer one counts."""
        named = {term for term in terms if term.strip()}
        named |= {unicodedata.normalize("NFD", term) for term in named}
        self._pattern = regex.compile(r"(?<!\w)\L<terms>(?!\w)", terms=named)
        self._any = bool(named)

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        del language
        for match in self._pattern.finditer(line) if self._any else ():
            yield LiteralSpan(*match.span())


class TranslatedTerms(LiteralKind):
    """Terms with their translations, in whole words, inflected or not.

    A word of a term that begins with a capital is met in capitals alone, one of which others are
    capitals as it is. The first translation is the one to write; any of them counts.

    Args:
        translations: of each term, one or more.
        languages: codes of both languages.
    """

    name = "term"
    is_masked_first = False
    may_repeat = True

    def __init__(
        self, translations: Mapping[str, Sequence[str]], languages: tuple[str, str]
    ) -> None:
        self._translations = translations
        self._values: dict[str, str] = {}
        for forms in translations.values():
            for form in forms:
                self._values.setdefault(form, self._values.get(forms[0], forms[0]))
        source, target = languages
        self._finders = {
            target: TermFinder(self._values, target),
            source: TermFinder(translations, source),
        }

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        return (LiteralSpan(one.start, one.end) for one in self._finders[language].find(line))

    @override
    def read(self, text: str, language: str) -> Hashable:
        term = self._name(text, language)
        first = self._translations.get(term, (term,))[0]
        return self.name, self._values.get(term, self._values.get(first, first))

    @override
    def write(self, text: str, source: str, target: str) -> str:
        return self._translations[self._name(text, source)][0]

    def _name(self, text: str, language: str) -> str:
        """Return the term of the glossary that a text is a form of."""
        return next(self._finders[language].find(text)).term


class FoundTerm(NamedTuple):
    """A term in a line."""

    start: int
    end: int
    term: str
    """As the glossary has it."""


class TermFinder:
    """Finds the terms of one language by the stems of their words.

    Args:
        terms: none of them empty.
        language: code of their language.
    """

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

    def find(self, line: str) -> Iterator[FoundTerm]:
        """Yield the terms of a line from left to right, of those that begin alike the longest."""
        stems = (find_stem(word, self._language) for word in split_words(line))
        if not any(stem in self._lengths for stem in stems):
            return
        words = stem_words(line, self._language)
        at = 0
        while at < len(words):
            found = self._find_at(words, at)
            if found:
                term, length = found
                yield FoundTerm(words[at].start, words[at + length - 1].end, term)
            at += found[1] if found else 1

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
