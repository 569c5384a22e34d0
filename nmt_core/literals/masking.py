"""Symbols for literals and back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import regex

from nmt_core.base.symbols import ALL_SYMBOLS, SYMBOLS
from nmt_core.literals.kind import Literal

_FINAL = regex.compile(r"[.!?…]*$")
_ANY = f"[{''.join(ALL_SYMBOLS)}]"
_SYMBOL = regex.compile(_ANY)
_TIGHT = regex.compile(rf"(?<={_ANY})(?=[\p{{L}}\p{{Nd}}]|{_ANY})|(?<=[\p{{L}}\p{{Nd}}])(?={_ANY})")
_GLUED = regex.compile(rf"(?<={_ANY})[.,:/]\p{{Nd}}+")
"""Digits that a model adds to a symbol, as if it stood for a part of a number."""
_JOINED = regex.compile(rf"(?<={_ANY})[.,:/\-](?={_ANY})")
_PAIR = regex.compile(rf"(?=({_ANY})([:/\-–])({_ANY}))")
"""Numbers that are joined in the source, such as those of a range, and stay so."""
_ROW = regex.compile(rf"(?<={_ANY}) (?={_ANY})")
"""Between symbols side by side; numbers with a space between them would be read as one."""


class Masked(NamedTuple):
    """A line with symbols in the place of literals."""

    line: str
    literals: Mapping[str, Literal]
    """The literal that each symbol stands for."""
    has_capital: bool = False
    """Whether the line began with a capital letter."""


def mask(line: str, literals: Sequence[Literal]) -> Masked:
    """Return a line with a symbol of its own for each literal, as far as symbols reach.

    Args:
        line: a line.
        literals: some of its literals, from left to right.
    """
    symbols = {name: iter(those) for name, those in SYMBOLS.items()}
    chosen = {
        symbol: literal
        for literal in literals
        if (symbol := next(symbols[literal.kind.symbol_class], None))
    }
    replaced = replace_literals(line, ((literal, symbol) for symbol, literal in chosen.items()))
    return Masked(replaced, chosen, line[:1].isupper())


def replace_literals(line: str, texts: Iterable[tuple[Literal, str]]) -> str:
    """Return a line with other texts in the place of literals, which do not overlap."""
    parts, end = [], 0
    for literal, text in sorted(texts, key=lambda pair: pair[0].start):
        parts += [line[end : literal.start], text]
        end = literal.end
    return "".join([*parts, line[end:]])


def repair(translation: str, masked: Masked) -> str:
    """Return a translation with the symbols of its source once each.

    Of one that stands there several times the first is kept, without digits that hang on it; one
    that is missing is put behind an equal share of the words, which is about where it belongs. Two
    that the source joins are joined where they stand side by side.
    """
    met: set[str] = set()

    def keep(match: regex.Match[str]) -> str:
        kept = match[0] in masked.literals and match[0] not in met
        met.add(match[0])
        return match[0] if kept else ""

    text = _JOINED.sub(" ", _GLUED.sub("", _SYMBOL.sub(keep, translation)))
    text = " ".join(_TIGHT.sub(" ", text).split())
    for symbol in masked.literals:
        if symbol not in met:
            before, after = (len(part.split()) for part in masked.line.split(symbol))
            text = insert_word(text, before / max(1, before + after), symbol)
    text = _ROW.sub(", ", text)
    for first, sign, second in _PAIR.findall(masked.line):
        for row in (f"{first}, {second}", f"{second}, {first}"):
            text = text.replace(row, f"{first}{sign}{second}")
    return text


def insert_word(line: str, share: float, word: str) -> str:
    """Return a line with a word behind a share of its words, before the marks at its end."""
    final = _FINAL.search(line)
    start = final.start() if final else len(line)
    words = line[:start].split(" ")
    at = round(share * len(words))
    return " ".join([*words[:at], word, *words[at:]]).strip() + line[start:]


def restore(
    translation: str, masked: Masked, languages: tuple[str, str], *, in_capitals: bool = False
) -> str:
    """Return a translation with literals in the place of symbols, in the target's form.

    A symbol that the source does not have is left out. A term that begins the translation of a line
    that begins with a capital begins with one, too.

    Args:
        translation: what a model wrote.
        masked: its source.
        languages: codes of both languages.
        in_capitals: write the terms of a glossary in capitals.
    """

    def write(match: regex.Match[str]) -> str:
        literal = masked.literals.get(match[0])
        if literal is None:
            return ""
        text = literal.kind.write(literal.text, *languages)
        if literal.kind.is_masked_first:
            return text
        if in_capitals:
            return text.upper()
        begins = not match.start() and masked.has_capital
        return text[0].upper() + text[1:] if begins else text

    return _SYMBOL.sub(write, translation)
