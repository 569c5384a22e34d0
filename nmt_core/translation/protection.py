"""Lines as a model reads them, and text of what it makes of them, with their literals checked.

What no model has learnt, such as placeholders and addresses, is a symbol from the start; numbers
and the terms of a glossary are symbols only where they did not come through by themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import chain
from typing import NamedTuple

from nmt_core.base.languages import Languages
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.literals.checking import Breach, check_literals
from nmt_core.literals.finding import find_literals
from nmt_core.literals.glossary import Glossary
from nmt_core.literals.literal import Literal, LiteralFinder, LiteralKind
from nmt_core.literals.masking import Masked, insert_lost, mask, restore
from nmt_core.literals.quotes import (
    enclose,
    find_odd_quote,
    list_known_marks,
    read_quotes,
    unquote,
)
from nmt_core.literals.references import NAMES, resolve_references
from nmt_core.search.settings import SearchConfig
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.restoration import Restored, Restorer, find_odd_case
from nmt_core.text.side import Side, Tokenized
from nmt_core.translation.flaws import find_flaws
from nmt_core.translation.term_replacement import replace_terms
from nmt_core.translation.translation import Translation


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
    is_unquoted: bool = False
    """True if quotation marks around the whole line were removed."""


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
        terms: find the terms of glossaries.
    """

    source: Side
    languages: Languages
    symbols: bool
    restorer: Restorer | None
    search: SearchConfig
    aligner: Aligner | None
    terms: Sequence[LiteralFinder] = ()

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
        terms = tuple(chain.from_iterable(one.finders for one in glossaries))
        sides = (source.vocabulary, target.vocabulary)
        symbols = all(symbol in side for side in sides for symbol in ALL_SYMBOLS)
        return cls(source, languages, symbols, restorer, search, aligner, terms)

    def protect(self, line: str | Tokenized, *, unquoted: bool = True) -> ProtectedLine:
        """Return a line as the model should read it at first.

        Args:
            line: the line.
            unquoted: leave out quotation marks around all of it.
        """
        text, is_escaped = self.resolve(line)
        literals = find_literals(text, self.languages.source, self.terms)
        masked = self._mask(text, literals, numbers=False)
        protected = self._read(line, text, literals, masked, masked, unquoted=unquoted)
        return protected._replace(is_escaped=is_escaped)

    def mask_all(self, plain: ProtectedLine, breaches: Sequence[Breach]) -> ProtectedLine:
        """Return a line with symbols for its numbers, too.

        Terms have symbols only if one is lost or repeated, for a symbol may change the words around
        it.

        Args:
            plain: the line as the model read it first.
            breaches: what is wrong with its translation.
        """
        has_lost_term = any(breach.kind == LiteralKind.TERM for breach in breaches)
        literals = [
            one for one in plain.literals if has_lost_term or one.kind is not LiteralKind.TERM
        ]
        first = self._mask(plain.line, plain.literals, numbers=False)
        masked = self._mask(plain.line, literals, numbers=True)
        read = self._read(
            plain.line, plain.line, plain.literals, first, masked, unquoted=plain.is_unquoted
        )
        tokenized = replace(read.text, tag=plain.text.tag)
        return read._replace(text=tokenized, is_escaped=plain.is_escaped)

    def resolve(self, line: str | Tokenized) -> tuple[str, bool]:
        """Return a line with characters in the place of their names, and whether it had some."""
        written = line.line if isinstance(line, Tokenized) else line
        text = written if self._has_read_references else resolve_references(written)
        return text, text != written

    def finish(self, given: ProtectedLine, translation: Translation) -> Translation:
        """Return a translation with literals in the place of symbols, and what is wrong with it."""
        written = translation.text.upper() if given.in_capitals else translation.text
        restored = restore(written, given.masked, in_capitals=given.in_capitals)
        text = self._replace_terms(given, restored)
        masked = given.masked.texts
        tokens, source_tokens = translation.tokens, translation.source_tokens
        if masked:
            tokens = tuple(masked[one].target if one in masked else one for one in tokens)
            source_tokens = tuple(
                masked[one].source if one in masked else one for one in source_tokens
            )
        read = len(self.source.find_tag(given.text)) + len(given.text.tokens) + 1
        limit = self.search.limit_length(read)
        flaws = find_flaws(
            given.line,
            written,
            tokens=len(translation.ids) + 1,
            limit=limit,
            literals=[literal.text for literal in given.literals],
        )
        return translation._replace(
            text=text,
            tokens=tokens,
            source_tokens=source_tokens,
            breaches=(*self._check(given, text), *flaws),
            restored_words=given.restored.restored_words,
            unknown_words=given.restored.unknown_words,
        )

    def put_in_lost(self, given: ProtectedLine, translation: Translation) -> Translation:
        """Return a translation with lost names about where they belong, which it reports.

        Args:
            given: its source.
            translation: as the model wrote it, with symbols.
        """
        whole = insert_lost(translation.text, given.masked)
        finished = self.finish(given, translation._replace(text=whole))
        placed = [
            Breach(LiteralKind.VERBATIM, text.source, text.target, "placed")
            for symbol, text in given.masked.texts.items()
            if text.is_verbatim and symbol not in translation.text
        ]
        return finished._replace(breaches=(*finished.breaches, *placed))

    def _replace_terms(self, given: ProtectedLine, text: str) -> str:
        """Return a translation with the terms that it lacks, if links say where they belong."""
        terms = [one for one in given.literals if one.forms]
        if not terms or self.aligner is None:
            return text
        missing = {one.text for one in self._check(given, text) if one.problem == "missing"}
        terms = [term for term in terms if term.text in missing]
        return replace_terms(given.line, text, terms, self.aligner) if terms else text

    def write_around(self, line: ProtectedLine, text: str) -> str:
        """Return a translation in its line's quotation marks, written as the line was given."""
        quoted = enclose(text, line.line, self.languages.target) if line.is_unquoted else text
        return escape(quoted, quote=False) if line.is_escaped else quoted

    def _check(self, given: ProtectedLine, text: str) -> list[Breach]:
        """Return what is wrong with the literals of a translation."""
        codes = self.languages.codes
        found = check_literals(given.line, text, codes, self.terms, found=given.literals)
        return [*found, *find_odd_quote(given.line, text)]

    def _mask(self, text: str, literals: Sequence[Literal], *, numbers: bool) -> Masked:
        known = literals if self.symbols else ()
        return mask(text, known, self.languages.codes, numbers=numbers)

    def _read(
        self,
        line: str | Tokenized,
        text: str,
        literals: Sequence[Literal],
        first: Masked,
        masked: Masked,
        *,
        unquoted: bool,
    ) -> ProtectedLine:
        """Return a line as the model should read it.

        Args:
            line: the line as it was given.
            text: the line, with characters in the place of their names and numbers.
            literals: all that are found in it.
            first: the line with symbols for names alone, by whose words its case is judged.
            masked: the line with the symbols that the model reads.
            unquoted: leave out quotation marks around all of it.
        """
        restorer = self.restorer
        odd = find_odd_case(first.line) if restorer and restorer.case else None
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
        return ProtectedLine(
            text, literals, tokenized, masked, odd == "upper", restored, is_unquoted=unquoted
        )

    @cached_property
    def _has_read_references(self) -> bool:
        """Tell whether the training text had names in the place of characters."""
        return self.restorer is not None and not NAMES.isdisjoint(self.restorer.words)

    @cached_property
    def _known_marks(self) -> frozenset[str]:
        """The quotation marks that the model has learnt to read."""
        return list_known_marks(self.source.vocabulary.tokens)
