"""Replace literals by symbols and unknown quotation marks by known ones, and restore them.

The model translates the symbols; afterwards, the literals replace them again.
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
    """Their text in the source."""
    target: str
    """Their text for the translation."""
    is_verbatim: bool
    """Whether one of the literals must not change."""
    is_term: bool


class MaskedLine(NamedTuple):
    """A line with symbols instead of literals."""

    line: str
    texts: Mapping[str, MaskedText]
    """The literals that each symbol replaces."""
    has_capital: bool = False
    """Whether the original line begins with a capital letter."""


def mask(
    line: str, literals: Sequence[Literal], languages: tuple[str, str], *, numbers: bool
) -> MaskedLine:
    """Return a line with a symbol for each group of adjacent literals, until symbols run out.

    ``numbers`` also masks numbers, dates and terms.
    """
    symbols = {name: iter(characters) for name, characters in SYMBOLS.items()}
    parts, end, texts = [], 0, {}
    for group in join_adjacent(literals, line):
        is_verbatim = any(literal.kind is LiteralKind.VERBATIM for literal in group)
        if not (is_verbatim or numbers):
            continue
        is_name = any(literal.kind.symbol_class == "name" for literal in group)
        symbol = next(symbols["name" if is_name else "number"], None)
        if symbol is None:
            continue
        start, group_end = find_extent(group[0])[0], find_extent(group[-1])[1]
        text = line[start:group_end]
        target = write_literals(line, group, languages, start, group_end)
        texts[symbol] = MaskedText(text, target, is_verbatim, group[0].kind is LiteralKind.TERM)
        parts += [line[end:start], symbol]
        end = group_end
    return MaskedLine("".join([*parts, line[end:]]), texts, line[:1].isupper())


def write_literal(literal: Literal, line: str, languages: tuple[str, str]) -> str:
    """Return a literal of a line in the format of the target language, with its unit."""
    match literal.kind:
        case LiteralKind.TERM:
            return literal.forms[0]
        case LiteralKind.DATE if is_time(literal.text):
            return ":".join(regex.findall(r"\p{Nd}+", literal.text))  # valid in every language
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
    """Return the text from start to end with its literals in the format of the target language."""
    parts = []
    for literal in literals:
        first, last = find_extent(literal)
        parts += [line[start:first], write_literal(literal, line, languages)]
        start = last
    return "".join([*parts, line[start:end]])


def insert_missing(translation: str, masked: MaskedLine) -> str:
    """Return a translation with repeated symbols removed and missing verbatim ones inserted.

    A missing symbol is inserted at the same relative position as in the source.
    """
    for symbol, text in masked.texts.items():
        head, mark, tail = translation.partition(symbol)
        translation = head + mark + tail.replace(symbol, "")
        if text.is_verbatim and not mark:
            before, after = (len(part.split()) for part in masked.line.split(symbol))
            translation = insert_word(translation, before / max(1, before + after), symbol)
    return translation


def insert_word(line: str, share: float, word: str) -> str:
    """Return a line with a word inserted after a share of its words, before final punctuation."""
    final = _FINAL.search(line)
    start = final.start() if final else len(line)
    words = line[:start].split(" ")
    at = round(share * len(words))
    return " ".join([*words[:at], word, *words[at:]]).strip() + line[start:]


def restore(translation: str, masked: MaskedLine, *, in_capitals: bool = False) -> str:
    """Return a translation with literals of the target language instead of symbols.

    Symbols without a counterpart in the source are removed. A term at the beginning gets an initial
    capital if the source line has one; ``in_capitals`` writes terms in capitals.
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
QUOTE_PAIRS = ("„“", STRAIGHT * 2, "“”", "«»")
"""Opening and closing marks that may replace unknown ones: the first known pair is used. Pairs that
are rare in many texts are last."""
_MARKS = '"„“”«»'
_MARK = re.compile(f"[{_MARKS}]")
_REPLACEABLE = re.compile(rf"[{_MARKS}‟‹›‚]|(?<=\w)‘(?!\w)")
"""Marks that are replaced, including the one that closes ``‚`` but is an apostrophe in words."""
QUOTATION_MARK = re.compile(f"[{_MARKS}‟‹›‚‘]")
"""Any mark that may be replaced; most lines have none."""
_ENCLOSED = re.compile(rf"\s*[{_MARKS}][^{_MARKS}\w]*\w[^{_MARKS}]*[{_MARKS}]\s*")


def list_known_marks(tokens: Iterable[str]) -> frozenset[str]:
    """Return the quotation marks in the tokens of a vocabulary."""
    return frozenset(mark for token in tokens for mark in _REPLACEABLE.findall(token))


def replace_quotes(line: str, known: AbstractSet[str]) -> str:
    """Return a line with unknown quotation marks replaced by known ones."""
    marks = [*_REPLACEABLE.finditer(line)]
    if known >= {match[0] for match in marks}:
        return line
    pair = next((pair for pair in QUOTE_PAIRS if known >= {*pair}), "")
    if not pair:
        return line
    parts, end, is_open = [], 0, False
    for match in marks:
        before = line[end : match.start()]
        if not is_open and before[-1:].isalnum():  # such as a sign for inches
            continue
        parts += [before.rstrip(), pair[1]] if is_open else [before, pair[0]]
        end = match.end()
        is_open = not is_open
        if is_open:
            end += len(line[end:]) - len(line[end:].lstrip())
    return line if is_open else "".join([*parts, line[end:]])


def unquote(line: str) -> str:
    """Return a line without quotation marks that enclose all of it; see ``requote``."""
    return line.strip()[1:-1].strip() if _ENCLOSED.fullmatch(line) else line


def requote(translation: str, source: str) -> str:
    """Return a translation in straight quotation marks if only its source is enclosed in any.

    Straight marks are valid in every language.
    """
    if not _ENCLOSED.fullmatch(source) or not translation or _MARK.search(translation):
        return translation
    return f"{STRAIGHT}{translation}{STRAIGHT}"
