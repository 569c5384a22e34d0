"""Protection of literals: symbols in their place while a model translates, and a check after it.

Names and signs that no model has learnt, such as placeholders and addresses, are symbols from the
start; numbers and the terms of a glossary are only where they did not come through by themselves.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from html import escape
from itertools import chain
from typing import NamedTuple

from nmt_core.alignment.aligner import Aligner
from nmt_core.base.languages import Languages
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.decoding.settings import SearchConfig
from nmt_core.literals.added_numbers import find_added_numbers
from nmt_core.literals.amount import list_with_amounts
from nmt_core.literals.checking import Breach, check_found
from nmt_core.literals.finding import KINDS, find_literals
from nmt_core.literals.glossary import Glossary
from nmt_core.literals.kind import Literal, LiteralKind
from nmt_core.literals.lost_numbers import SPELLED, find_lost_numbers, write_in_digits
from nmt_core.literals.masking import Masked, mask, repair, restore
from nmt_core.literals.number import Number
from nmt_core.literals.ordinals import correct_ordinals
from nmt_core.literals.quotes import (
    QUOTATION,
    enclose,
    find_odd_quote,
    list_known_marks,
    read_quotes,
    unquote,
)
from nmt_core.literals.references import NAMES, resolve_references
from nmt_core.text.restoration import Restored, Restorer, find_odd_case
from nmt_core.text.side import Side, Tokenized
from nmt_core.translation.figures import translate_figures
from nmt_core.translation.flaws import find_flaws, is_flaw
from nmt_core.translation.term_replacement import (
    Term,
    choose_terms,
    find_repeated_terms,
    may_replace,
    replace_terms,
)
from nmt_core.translation.translation import Translation

_log = logging.getLogger(__name__)

SearchTexts = Callable[[Sequence[str | Tokenized], Mapping[str, int]], list[list[Translation]]]
"""Returns the best translations of texts, by a search with some settings changed."""

NO_LITERALS = {SPELLED, QUOTATION}
"""Kinds of what is wrong with something else, for which no symbol can stand."""

WITHOUT_LOOPS = tuple({"no_repeat_ngram_size": size} for size in (3, 2))
"""Settings of searches for what loops otherwise; the last lets no word stand three times in a row,
which costs others, too."""


class ProtectedLine(NamedTuple):
    """A line as a model reads it, and what is needed to write its translation."""

    line: str
    """The line as it was given, but with characters in the place of their names and numbers."""
    literals: Sequence[Literal]
    """What has to come through."""
    text: Tokenized
    """The line with symbols, in the ordinary case."""
    masked: Masked
    in_capitals: bool
    restored: Restored
    """The line with symbols in its ordinary case and with its accents."""
    is_escaped: bool = False
    """Whether the line was given with characters by their names or numbers, as in HTML."""


@dataclass(frozen=True)
class Protector:
    """Makes lines ready for a model, and text of what it makes of them.

    Attributes:
        source: the source side.
        languages: of both sides.
        symbols: whether both vocabularies have symbols.
        restorer: brings odd case and missing accents to what was learnt.
        search: bounds the length of a translation.
        aligner: finds the words of a translation that terms replace; None for none.
        kinds: what must come through.
    """

    source: Side
    languages: Languages
    symbols: bool
    restorer: Restorer | None
    search: SearchConfig
    aligner: Aligner | None
    kinds: Sequence[LiteralKind] = KINDS

    @classmethod
    def of(
        cls,
        source: Side,
        target: Side,
        languages: Languages,
        restorer: Restorer | None,
        search: SearchConfig,
        aligner: Aligner | None,
        glossaries: Sequence[Glossary] = (),
    ) -> "Protector":
        """Return the protector of a model."""
        kinds = (*chain.from_iterable(one.kinds for one in glossaries), *KINDS)
        sides = (source.vocabulary, target.vocabulary)
        symbols = all(symbol in side for side in sides for symbol in ALL_SYMBOLS)
        return cls(source, languages, symbols, restorer, search, aligner, kinds)

    def translate(
        self,
        lines: Sequence[str | Tokenized],
        translate: SearchTexts,
        n_best: int,
        most: int,
    ) -> list[list[Translation]]:
        """Return translations of lines, with their literals, as far as can be.

        Lines without letters are written, not searched for. Where the best one has lost some, or
        has a flaw such as a loop, the next of the ``most`` best that is sound takes its place, or
        one in which symbols stand for all, or one into which symbols were put.

        Args:
            lines: what to translate.
            translate: returns the best translations of texts, by changed settings.
            n_best: translations to return of each.
            most: translations to ask for where the best one lost some; 0 asks for no others.
        """
        written = [self._write_figures(line) if most else None for line in lines]
        others = [line for line, one in zip(lines, written, strict=True) if one is None]
        found = iter(self._search(others, translate, n_best, most) if others else ())
        return [next(found) if one is None else [one] for one in written]

    def _write_figures(self, line: str | Tokenized) -> Translation | None:
        """Return the translation of a line that no model has to read; None for others."""
        text, is_escaped = self._resolve(line)
        found = translate_figures(text, self.languages)
        if found is None or not is_escaped:
            return found
        return found._replace(text=escape(found.text, quote=False))

    def _search(
        self,
        lines: Sequence[str | Tokenized],
        translate: SearchTexts,
        n_best: int,
        most: int,
    ) -> list[list[Translation]]:
        """Return translations of lines that a model reads; see :meth:`translate`."""
        given = [self.protect(line, unquoted=most > 0) for line in lines]
        found = self._finish(given, translate([one.text for one in given], {"n_best": n_best}))
        known = [[*several] for several in found]
        best = [choose_kept(several) for several in known]
        wanting = [number for number, one in enumerate(best) if one.breaches]
        if not self.symbols and any(is_loss(breach) for one in best for breach in one.breaches):
            warn_of_loss()
        if wanting and most:
            self._try_again({n: given[n] for n in wanting}, translate, n_best, most, known)
        kept = [
            put_first(choose_kept(candidates), several)
            for candidates, several in zip(known, found, strict=True)
        ]
        return [
            [each._replace(text=self._write_around(line, each.text, most)) for each in several]
            for line, several in zip(given, kept, strict=True)
        ]

    def _write_around(self, line: ProtectedLine, text: str, most: int) -> str:
        """Return a translation in its line's quotation marks, written as the line was given.

        Where none but the best translations are asked for, these begin as somebody wants.
        """
        quoted = enclose(text, line.line, self.languages.target) if most else text
        return escape(quoted, quote=False) if line.is_escaped else quoted

    def _try_again(
        self,
        lines: Mapping[int, ProtectedLine],
        translate: SearchTexts,
        n_best: int,
        most: int,
        known: Sequence[list[Translation]],
    ) -> None:
        """Add other translations of lines to those that are known, more changed ones later.

        Where one is sound, no more are looked for, nor by searches without loops where the best has
        no flaw as a whole. Symbols are put into none whose literals came through.

        Args:
            lines: what to translate again, by number, as it was read at first.
            translate: see :meth:`translate`.
            n_best: translations of each that were looked at.
            most: see :meth:`translate`.
            known: translations of all lines.
        """
        mended: list[tuple[int, Translation]] = []
        masked = {
            number: self._mask_all(line, choose_kept(known[number]).breaches)
            for number, line in lines.items()
        }
        changed = {n: way for n, way in masked.items() if way.text.line != lines[n].text.line}
        plain = {n: line for n, line in lines.items() if most > n_best or n not in changed}
        rounds: list[tuple[Mapping[str, int], Mapping[int, ProtectedLine]]] = [
            ({}, plain),
            ({}, changed),
            *((changes, ways) for changes in WITHOUT_LOOPS for ways in (lines, changed)),
        ]
        for changes, ways in rounds:
            chosen = {
                number: way
                for number, way in ways.items()
                if any(is_flaw(one) or not changes for one in choose_kept(known[number]).breaches)
            }
            texts = [way.text for way in chosen.values()]
            made = translate(texts, {"n_best": most, **changes}) if chosen else []
            for (number, way), several in zip(chosen.items(), made, strict=True):
                for each in several:
                    known[number].append(self.finish(way, each))
                    if not known[number][-1].breaches:  # none that comes later is preferred
                        break
                else:
                    repaired = several[0]._replace(text=repair(several[0].text, way.masked))
                    mended.append((number, self.finish(way, repaired)))
        for number, translation in mended:
            if any(one.kind not in NO_LITERALS for one in choose_kept(known[number]).breaches):
                known[number].append(translation)

    def _replace_terms(self, given: ProtectedLine, text: str, terms: Sequence[Term]) -> str:
        """Return a translation with the terms that it lacks, if it is sure where they belong."""
        missing = {one.text for one in self._check(given, text) if one.problem == "missing"}
        terms = [term for term in terms if term[0].text in missing]
        return (
            replace_terms(given.line, text, terms, self.aligner) if terms and self.aligner else text
        )

    def _check(self, given: ProtectedLine, text: str) -> list[Breach]:
        """Return what is wrong with the literals of a translation."""
        codes, kinds = self.languages.codes, self.kinds
        lost = check_found(given.literals, text, codes, kinds)
        others = [*find_lost_numbers(given.line, text, codes), *find_odd_quote(given.line, text)]
        return [*lost, *others, *find_added_numbers(given.line, text, codes, kinds)]

    def _mask_all(self, plain: ProtectedLine, breaches: Sequence[Breach]) -> ProtectedLine:
        """Return a line with symbols for its literals, lost numbers with their units.

        Numbers in words that were lost are in digits first. Terms have symbols only if one is lost
        or repeated, for a symbol may change the words around it.
        """
        lost = {breach.text for breach in breaches if breach.kind == Number.name}
        spelled = {breach.text for breach in breaches if breach.kind == SPELLED}
        line, source = plain.line, self.languages.source
        text = write_in_digits(line, spelled, source) if spelled else line
        literals = find_literals(text, source, list_with_amounts(self.kinds, lost))
        names = {breach.kind for breach in breaches}
        masked = [one for one in literals if one.kind.name in names or not may_replace(one)]
        found = self._protect(text, text, masked, symbols_for_all=True)
        tokenized = replace(found.text, tag=plain.text.tag)
        return found._replace(line=line, literals=plain.literals, text=tokenized)

    def _finish(
        self, given: Sequence[ProtectedLine], found: Sequence[Sequence[Translation]]
    ) -> list[list[Translation]]:
        return [
            [self.finish(line, each) for each in several]
            for line, several in zip(given, found, strict=True)
        ]

    def protect(self, line: str | Tokenized, *, unquoted: bool = True) -> ProtectedLine:
        """Return a line as the model should read it, without quotation marks around all of it."""
        text, is_escaped = self._resolve(line)
        literals = find_literals(text, self.languages.source, self.kinds)
        protected = self._protect(line, text, literals, unquoted=unquoted)
        return protected._replace(is_escaped=is_escaped)

    def _resolve(self, line: str | Tokenized) -> tuple[str, bool]:
        """Return a line with characters in the place of their names, and whether it had some."""
        written = line.line if isinstance(line, Tokenized) else line
        text = written if self._has_read_references else resolve_references(written)
        return text, text != written

    @cached_property
    def _has_read_references(self) -> bool:
        """Tell whether the training text had names in the place of characters."""
        return self.restorer is not None and not NAMES.isdisjoint(self.restorer.words)

    @cached_property
    def _known_marks(self) -> frozenset[str]:
        """The quotation marks that the model has learnt to read."""
        return list_known_marks(self.source.vocabulary.tokens)

    def _protect(
        self,
        line: str | Tokenized,
        text: str,
        literals: Sequence[Literal],
        *,
        symbols_for_all: bool = False,
        unquoted: bool = True,
    ) -> ProtectedLine:
        """Return a line as the model should read it.

        Args:
            line: the line.
            text: the line, with characters in the place of their names and numbers.
            literals: all that are found in it.
            symbols_for_all: put symbols in the place of numbers and translated terms, too.
            unquoted: leave out quotation marks around all of it.
        """
        replaced = literals if self.symbols else []
        plain = mask(text, [one for one in replaced if one.kind.is_masked_first])
        masked = mask(text, replaced) if symbols_for_all else plain
        restorer = self.restorer
        odd = find_odd_case(plain.line) if restorer and restorer.case else None
        read = unquote(masked.line) if unquoted else masked.line
        read = read_quotes(read, self._known_marks)
        restored = Restored(read)
        if restorer:
            keep = [one.text for one in literals]
            restored = restorer.restore(read, keep, case=odd is not None)
        if not isinstance(line, Tokenized):
            tokenized = self.source.tokenize(restored.line)
        elif restored.line == line.line:
            tokenized = line
        else:
            tokenized = replace(self.source.tokenize(restored.line), tag=line.tag)
        return ProtectedLine(text, literals, tokenized, masked, odd == "upper", restored)

    def finish(self, given: ProtectedLine, translation: Translation) -> Translation:
        """Return a translation with literals in the place of symbols, and what is wrong with it."""
        written = translation.text.upper() if given.in_capitals else translation.text
        codes, capitals = self.languages.codes, given.in_capitals
        restored = restore(written, given.masked, codes, in_capitals=capitals)
        text = correct_ordinals(restored, codes[1])
        literals = given.masked.literals
        tokens, source_tokens = translation.tokens, translation.source_tokens
        if literals:
            tokens = tuple(self._write(token, literals) for token in tokens)
            source_tokens = tuple(
                literals[token].text if token in literals else token for token in source_tokens
            )
        read = len(self.source.find_tag(given.text)) + len(given.text.tokens) + 1
        limit = self.search.limit_length(read)
        flaws = find_flaws(given.line, written, tokens=len(translation.ids) + 1, limit=limit)
        terms = choose_terms(given.literals, codes)
        text = self._replace_terms(given, text, terms)
        repeated = find_repeated_terms(terms, written, given.masked, text)
        breaches = [*self._check(given, text), *repeated, *flaws]
        return translation._replace(
            text=text,
            tokens=tokens,
            source_tokens=source_tokens,
            breaches=tuple(breaches),
            restored_words=given.restored.restored_words,
            unknown_words=given.restored.unknown_words,
        )

    def _write(self, token: str, literals: Mapping[str, Literal]) -> str:
        literal = literals.get(token)
        return literal.kind.write(literal.text, *self.languages.codes) if literal else token


def put_first(best: Translation, several: Sequence[Translation]) -> list[Translation]:
    """Return as many translations with the best one first, in its own place no more."""
    return [best, *(each for each in several if each is not best)][: len(several)]


def is_loss(breach: Breach) -> bool:
    """Tell whether a literal of the source is wrong, and none that the translation adds."""
    return not is_flaw(breach) and breach.problem != "added" and breach.kind not in NO_LITERALS


@cache
def warn_of_loss() -> None:
    """Say once that a model has no symbols."""
    _log.warning(
        "this model was trained without symbols for numbers, placeholders and addresses, some of "
        "which it loses; train it again to keep them"
    )


def choose_kept(candidates: Sequence[Translation]) -> Translation:
    """Return the first with the fewest breaches, of literals first, and then of lost ones."""

    def count_breaches(one: Translation) -> tuple[int, int, int]:
        literals = [breach for breach in one.breaches if not is_flaw(breach)]
        return len(one.breaches), len(literals), sum(map(is_loss, literals))

    return min(candidates, key=count_breaches)
