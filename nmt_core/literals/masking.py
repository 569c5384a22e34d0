"""What a model reads in place of literals and quotation marks, and what stands there again.

Symbols stand for literals while a model translates. Quotation marks are read as ones that it knows.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import regex

from nmt_core.base.symbols import ALL_SYMBOLS, SYMBOLS
from nmt_core.literals.finding import Literal, LiteralKind, find_extent, join_adjacent
from nmt_core.literals.number import is_time, write_amount, write_number

_FINAL = regex.compile(r"[.!?…]*$")
_SYMBOL = regex.compile(f"[{''.join(ALL_SYMBOLS)}]")


class MaskedText(NamedTuple):
    """Adjacent literals that one symbol replaces."""

    source: str
    """As the source has them."""
    target: str
    """As the translation should have them."""
    is_verbatim: bool
    """True if one of the literals must not change."""
    is_term: bool


class Masked(NamedTuple):
    """A line with symbols in the place of literals."""

    line: str
    texts: Mapping[str, MaskedText]
    """The text that each symbol replaces."""
    has_capital: bool = False
    """Whether the line began with a capital letter."""


def mask(
    line: str, literals: Sequence[Literal], languages: tuple[str, str], *, numbers: bool
) -> Masked:
    """Return a line with a symbol for each group of adjacent literals, as far as symbols suffice.

    ``numbers`` masks numbers, dates and terms, too.
    """
    symbols = {name: iter(those) for name, those in SYMBOLS.items()}
    parts, end, texts = [], 0, {}
    for group in join_adjacent(literals, line):
        is_verbatim = any(one.kind is LiteralKind.VERBATIM for one in group)
        if not (is_verbatim or numbers):
            continue
        is_name = any(one.kind.symbol_class == "name" for one in group)
        symbol = next(symbols["name" if is_name else "number"], None)
        if symbol is None:
            continue
        start, group_end = find_extent(group[0])[0], find_extent(group[-1])[1]
        text = line[start:group_end]
        target = write_literals(line, group, languages, start, group_end)
        texts[symbol] = MaskedText(text, target, is_verbatim, group[0].kind is LiteralKind.TERM)
        parts += [line[end:start], symbol]
        end = group_end
    return Masked("".join([*parts, line[end:]]), texts, line[:1].isupper())


def write_literal(literal: Literal, line: str, languages: tuple[str, str]) -> str:
    """Return a literal of a line as its translation should have it, with the sign of its unit."""
    match literal.kind:
        case LiteralKind.TERM:
            return literal.forms[0]
        case LiteralKind.DATE if is_time(literal.text):
            return ":".join(regex.findall(r"\p{Nd}+", literal.text))  # as every language reads it
        case LiteralKind.NUMBER:
            number = write_number(literal.text, *languages)
            if not literal.extent or literal.scale:
                return number
            start, end = literal.extent
            whole = line[start : literal.start] + number + line[literal.end : end]
            return write_amount(literal.text, literal.unit, *languages) or whole
        case _:
            return literal.text


def write_literals(
    line: str, literals: Sequence[Literal], languages: tuple[str, str], start: int, end: int
) -> str:
    """Return a part of a line with its literals in the form of the target language."""
    parts = []
    for literal in literals:
        first, last = find_extent(literal)
        parts += [line[start:first], write_literal(literal, line, languages)]
        start = last
    return "".join([*parts, line[start:end]])


def insert_lost(translation: str, masked: Masked) -> str:
    """Return a translation with each symbol of its source for what stays as it is once.

    One that is missing is put behind an equal share of the words, which is about where it belongs.
    """
    for symbol, text in masked.texts.items():
        first, mark, rest = translation.partition(symbol)
        translation = first + mark + rest.replace(symbol, "")
        if text.is_verbatim and not mark:
            before, after = (len(part.split()) for part in masked.line.split(symbol))
            translation = insert_word(translation, before / max(1, before + after), symbol)
    return translation


def insert_word(line: str, share: float, word: str) -> str:
    """Return a line with a word behind a share of its words, before the marks at its end."""
    final = _FINAL.search(line)
    start = final.start() if final else len(line)
    words = line[:start].split(" ")
    at = round(share * len(words))
    return " ".join([*words[:at], word, *words[at:]]).strip() + line[start:]


def restore(translation: str, masked: Masked, *, in_capitals: bool = False) -> str:
    """Return a translation with literals in the place of symbols, in the target's form.

    A symbol that the source does not have is left out. A term that begins the translation of a line
    with an initial capital gets one, too; ``in_capitals`` writes terms in capitals.
    """
    parts, end = [], 0
    for match in _SYMBOL.finditer(translation):
        parts.append(translation[end : match.start()])
        end = match.end()
        if text := masked.texts.get(match[0]):
            begins = text.is_term and not match.start() and masked.has_capital
            upper = text.target.upper() if text.is_term and in_capitals else text.target
            parts.append(upper[0].upper() + upper[1:] if begins else upper)
    return "".join([*parts, translation[end:]])


STRAIGHT = '"'
PAIRS = ("„“", STRAIGHT * 2, "“”", "«»")
"""Marks that open and close, as which others are read: the first that are known; last come those
that many a text has only now and then."""
_MARKS = '"„“”«»'
_MARK = re.compile(f"[{_MARKS}]")
_READ = re.compile(rf"[{_MARKS}‟‹›‚]|(?<=\w)‘(?!\w)")
"""Those that are read, among them what closes ``‚`` and is an apostrophe elsewhere."""
_MAY_BE_READ = re.compile(f"[{_MARKS}‟‹›‚‘]")
_ENCLOSED = re.compile(rf"\s*[{_MARKS}][^{_MARKS}\w]*\w[^{_MARKS}]*[{_MARKS}]\s*")


def list_known_marks(tokens: Iterable[str]) -> frozenset[str]:
    """Return the characters of a vocabulary that are quotation marks."""
    return frozenset(mark for token in tokens for mark in _READ.findall(token))


def read_quotes(line: str, known: AbstractSet[str]) -> str:
    """Return a line with unknown quotation marks replaced by known ones."""
    marks = [*_READ.finditer(line)] if _MAY_BE_READ.search(line) else []
    if known >= {match[0] for match in marks}:
        return line
    pair = next((pair for pair in PAIRS if known >= {*pair}), "")
    if not pair:
        return line
    parts, end, is_open = [], 0, False
    for match in marks:
        before = line[end : match.start()]
        if not is_open and before[-1:].isalnum():  # such as that of inches
            continue
        parts += [before.rstrip(), pair[1]] if is_open else [before, pair[0]]
        end = match.end()
        is_open = not is_open
        if is_open:
            end += len(line[end:]) - len(line[end:].lstrip())
    return line if is_open else "".join([*parts, line[end:]])


def unquote(line: str) -> str:
    """Return a line without quotation marks around all of it, see ``enclose``."""
    return line.strip()[1:-1].strip() if _ENCLOSED.fullmatch(line) else line


def enclose(translation: str, source: str) -> str:
    """Return a translation in straight quotation marks if its source stands in any and it has none.

    Straight ones are right in every language.
    """
    if not _ENCLOSED.fullmatch(source) or not translation or _MARK.search(translation):
        return translation
    return f"{STRAIGHT}{translation}{STRAIGHT}"
