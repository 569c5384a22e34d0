"""Protection of literals: prepare lines for a model, and write and check its translations.

Placeholders, URLs and other literals that a model cannot translate are replaced by symbols from the
start. Numbers and glossary terms are replaced only if the first translation loses them.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import regex

from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.literals.checking import Breach, check_literals, find_letter_loop, find_loop
from nmt_core.literals.finding import (
    ENTITY_NAMES,
    Literal,
    LiteralKind,
    find_extent,
    find_literals,
    resolve_references,
)
from nmt_core.literals.glossary import Glossary
from nmt_core.literals.masking import (
    QUOTATION_MARK,
    MaskedLine,
    insert_missing,
    list_known_marks,
    mask,
    replace_quotes,
    restore,
    unquote,
    write_literals,
)
from nmt_core.search.settings import SearchConfig
from nmt_core.text.normalize import PLAIN_LINE, PLAIN_WORD, normalize
from nmt_core.text.restoration import OddCase, Restored, Restorer, capitalize, find_odd_case
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.translation import Translation
from nmt_core.text.words import ENDING, UNALIGNED, Span, find_words, list_words

if TYPE_CHECKING:
    from nmt_core.text.aligner.aligner import Aligner

MIN_COPIED_WORDS = 6
"""Minimum lower-case words of a translation that counts as copied if it equals its source."""

MAX_NAMED_LETTERS = 24
"""Maximum letters of a repetition in a breach."""

FLAW = "sentence"
"""The kind of a breach that concerns the whole translation."""

_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}_]*|[^\s\p{L}\p{M}\p{N}\p{P}\p{S}]"
)
"""Words and symbols of literals, without marks such as the dots of an ellipsis."""


def find_flaws(
    source: str, translation: str, *, tokens: int, limit: int, literals: Sequence[str] = ()
) -> Iterator[Breach]:
    """Yield the flaws of a translation as a whole.

    Args:
        source: the source line.
        translation: its translation.
        tokens: number of tokens of the translation, EOS included.
        limit: length limit of the search, in tokens.
        literals: parts of the source that are not words.
    """
    line, written = source, translation
    for literal in literals:
        line, written = line.replace(literal, " "), written.replace(literal, " ")
    is_empty = any(map(str.isalpha, line)) and not any(map(str.isalpha, written))
    if is_empty or (source.strip() and not translation.strip()):
        yield Breach(FLAW, "", "", "empty")
        return
    words = _WORD.findall(translation)
    repeated = filter(None, map(find_letter_loop, translation.split()))
    if (loop := find_loop(words)) and not find_loop(_WORD.findall(source)):
        yield Breach(FLAW, " ".join(loop), "", "looping")
    elif (letters := next(repeated, "")) and not any(map(find_letter_loop, source.split())):
        yield Breach(FLAW, letters[:MAX_NAMED_LETTERS], "", "looping")
    if tokens >= limit:
        yield Breach(FLAW, "", "", "too long")
    if translation == source and sum(map(str.islower, words)) >= MIN_COPIED_WORDS:
        yield Breach(FLAW, "", "", "copied")


def is_flaw(breach: Breach) -> bool:
    """Return whether a breach is a flaw of the whole translation."""
    return breach.kind == FLAW


def replace_terms(line: str, translation: str, terms: Sequence[Literal], aligner: "Aligner") -> str:
    """Return the translation with each term's form in place of the words aligned to the term.

    A term is skipped if no word is aligned to it, or other words are between the aligned words.
    """
    [links] = aligner.trace([(list_words(line), list_words(translation))])
    words, target_words = find_words(line), find_words(translation)
    replaced: list[tuple[Span, str]] = []
    for term in terms:
        own = {n for n, word in enumerate(words) if word.start < term.end and term.start < word.end}
        linked = [number for number, link in enumerate(links) if link in own]
        if linked and {*links[linked[0] : linked[-1] + 1]} <= own | {UNALIGNED}:
            form, first = term.forms[0], linked[0]
            before = translation[slice(*target_words[first - 1])] if first else ""
            first -= before.casefold() == form.split()[0].casefold()  # the form has the article
            span = Span(target_words[first].start, target_words[linked[-1]].end)
            replaced.append((span, form))
    for span, form in sorted(replaced, reverse=True):
        old = translation[span.start : span.end]
        ending = ENDING.search(old)
        new = match_case(form, old, begins=not span.start) + (ending[0] if ending else "")
        translation = translation[: span.start] + new + translation[span.end :]
    return translation


def match_case(form: str, replaced: str, *, begins: bool) -> str:
    """Return a form in the letter case of the word that it replaces."""
    if len(replaced) > 1 and replaced.isupper():
        return form.upper()
    return capitalize(form) if begins and replaced[0].isupper() else form


class ProtectedLine(NamedTuple):
    """A line as a model reads it, and the data to write its translation."""

    line: str
    """The line with character references resolved."""
    literals: Sequence[Literal]
    """Literals that the translation must keep."""
    text: Tokenized
    """The line with symbols, in normal letter case."""
    masked: MaskedLine
    odd_case: OddCase | None
    """The letter case of the line if it is unusual and the model restores case."""
    restored: Restored
    """The line with symbols, in normal letter case and with accents."""
    is_escaped: bool
    """Whether the line had character references, as in HTML."""
    is_unquoted: bool
    """Whether quotation marks around the whole line were removed."""


class Protector:
    """Prepares lines for a model, and writes and checks its translations.

    Args:
        source: the side of the lines.
        target: the side of their translations.
        languages: codes of both.
        restorer: restores ordinary case and accents.
        search: bounds the length of a translation.
        load_aligner: loads what finds the words of a translation that terms replace.
        glossaries: terms, which go before other literals.
    """

    def __init__(
        self,
        source: Side,
        target: Side,
        languages: tuple[str, str],
        restorer: Restorer | None,
        search: SearchConfig,
        load_aligner: "Callable[[], Aligner | None]",
        glossaries: Sequence[Glossary],
    ) -> None:
        self.source, self.languages, self.search = source, languages, search
        self.restorer, self.load_aligner = restorer, load_aligner
        self.terms = [find for glossary in glossaries for find in glossary.finders]
        known = (side.vocabulary.tokens for side in (source, target))
        self.has_symbols = not any({*ALL_SYMBOLS}.difference(tokens) for tokens in known)
        words = restorer.words if restorer else ()
        self._reads_references = not ENTITY_NAMES.isdisjoint(words)
        self._limit_length = cache(search.limit_length)

    @cached_property
    def _known_marks(self) -> frozenset[str]:
        return list_known_marks(self.source.vocabulary.tokens)

    def _is_plain(self, line: str) -> bool:
        """Return whether a line has only known words in ordinary case and spelling."""
        if self.terms or not PLAIN_LINE.fullmatch(line):
            return False
        if self.restorer is None:
            return True
        is_odd = self.restorer.case and find_odd_case(line)
        return not is_odd and self.restorer.keeps(PLAIN_WORD.findall(line.lower()))

    def protect(self, line: str | Tokenized, *, unquoted: bool = True) -> ProtectedLine:
        """Return a line for the first search; ``unquoted`` removes outer quotation marks."""
        written = line.line if isinstance(line, Tokenized) else line
        if self._is_plain(written):
            read, masked = self.source.tokenize(line), MaskedLine(written, {}, written[0].isupper())
            return ProtectedLine(written, [], read, masked, None, Restored(written), False, False)
        is_read = self._reads_references or "&" not in written
        text = written if is_read else resolve_references(written)
        literals = find_literals(text, self.languages[0], self.terms)
        masked = self._mask(text, literals, numbers=False)
        plain = ProtectedLine(
            text,
            literals,
            line if isinstance(line, Tokenized) else Tokenized("", [], self.source.tags),
            masked,
            find_odd_case(masked.line) if self.restorer and self.restorer.case else None,
            Restored(masked.line),
            text != written,
            unquoted and QUOTATION_MARK.search(text) is not None,
        )
        return self._read(plain, masked)

    def mask_all(self, plain: ProtectedLine, breaches: Sequence[Breach]) -> ProtectedLine:
        """Return a line for another search, with symbols also for numbers.

        Terms get symbols only if a term is lost or repeated, because a symbol may change the words
        around it.

        Args:
            plain: the line of the first search.
            breaches: the breaches of its translation.
        """
        has_lost_term = any(breach.kind == LiteralKind.TERM for breach in breaches)
        literals = [
            each for each in plain.literals if has_lost_term or each.kind is not LiteralKind.TERM
        ]
        return self._read(plain, self._mask(plain.line, literals, numbers=True))

    def write_figures(self, line: ProtectedLine) -> Translation | None:
        """Return the translation of a line without words, such as *12,50 €* in a table.

        Numbers and times get the form of the target language, if that keeps their value. Returns
        None if the line is empty or has words.
        """
        text = normalize(line.line)
        if text == line.line and not line.literals and any(map(str.isalpha, text)):
            return None
        literals = find_literals(text, self.languages[0])
        outside = [*text]
        for literal in literals:
            start, end = find_extent(literal)
            outside[start:end] = " " * (end - start)
        if not text or any(map(str.isalpha, outside)):
            return None
        written = write_literals(text, literals, self.languages, 0, len(text))
        if check_literals(text, written, self.languages, source_literals=literals):
            written = text
        written = escape(written, quote=False) if line.is_escaped else written
        return Translation(written, 0.0, (), (), (), confidence=1.0)

    def finish(self, line: ProtectedLine, translation: Translation) -> Translation:
        """Return a translation with symbols replaced by literals, and with its breaches."""
        _, restored, unknown = line.restored
        if self._is_sound(line, translation):
            if not (restored or unknown):
                return translation
            return translation._replace(restored_words=restored, unknown_words=unknown)
        in_capitals = line.odd_case == "upper"
        written = translation.text.upper() if in_capitals else translation.text
        text = restore(written, line.masked, in_capitals=in_capitals)
        check = partial(check_literals, line.line, source_literals=line.literals)
        breaches = check(text, self.languages, self.terms)
        missing = {each.text for each in breaches if each.problem == "missing"}
        terms = [term for term in line.literals if term.forms and term.text in missing]
        if terms and (aligner := self.load_aligner()):
            text = replace_terms(line.line, text, terms, aligner)
            breaches = check(text, self.languages, self.terms)
        tokens, source_tokens = translation.tokens, translation.source_tokens
        if masked := line.masked.texts:
            tokens = tuple(masked[t].target if t in masked else t for t in tokens)
            source_tokens = tuple(masked[t].source if t in masked else t for t in source_tokens)
        read = len(line.text.tokens) + len(line.text.tags) + 1
        flaws = find_flaws(
            line.line,
            written,
            tokens=len(translation.ids) + 1,
            limit=self._limit_length(read),
            literals=[literal.text for literal in line.literals],
        )
        return translation._replace(
            text=text,
            tokens=tokens,
            source_tokens=source_tokens,
            breaches=(*breaches, *flaws),
            restored_words=restored,
            unknown_words=unknown,
        )

    def _is_sound(self, line: ProtectedLine, translation: Translation) -> bool:
        """Return whether plain words translate a line without literals, and have no flaw."""
        text = translation.text
        if line.literals or line.odd_case or self.terms or not PLAIN_LINE.fullmatch(text):
            return False
        words = PLAIN_WORD.findall(text)
        tokens = len(line.text.tokens) + len(line.text.tags) + 1
        return (
            text != line.line
            and len(translation.ids) + 1 < self._limit_length(tokens)
            and not find_loop(words)
            and not any(map(find_letter_loop, words))
        )

    def insert_lost_literals(self, line: ProtectedLine, translation: Translation) -> Translation:
        """Return a translation with lost literals inserted at a likely position and reported.

        Args:
            line: the source line.
            translation: the model's translation, with symbols.
        """
        whole = insert_missing(translation.text, line.masked)
        finished = self.finish(line, translation._replace(text=whole))
        placed = [
            Breach(LiteralKind.VERBATIM, text.source, text.target, "placed")
            for symbol, text in line.masked.texts.items()
            if text.is_verbatim and symbol not in translation.text
        ]
        return finished._replace(breaches=(*finished.breaches, *placed))

    def _mask(self, text: str, literals: Sequence[Literal], *, numbers: bool) -> MaskedLine:
        if not literals or not self.has_symbols:
            return MaskedLine(text, {}, text[:1].isupper())
        return mask(text, literals, self.languages, numbers=numbers)

    def _read(self, plain: ProtectedLine, masked: MaskedLine) -> ProtectedLine:
        """Return a line with these symbols for a search."""
        read = unquote(masked.line) if plain.is_unquoted else masked.line
        if QUOTATION_MARK.search(read):
            read = replace_quotes(read, self._known_marks)
        restored = Restored(read)
        if self.restorer:
            keep = [literal.text for literal in plain.literals]
            is_odd = plain.odd_case is not None
            restored = self.restorer.restore(read, keep, case=is_odd)
        text = plain.text
        if restored.line != text.line:
            text = self.source.tokenize(restored.line)._replace(tags=text.tags)
        return plain._replace(text=text, masked=masked, restored=restored)
