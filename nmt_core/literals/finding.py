"""Parts of a line that its translation must keep, found by one rule.

A literal is a maximal run without spaces that has a character other than letters and the marks of
sentences. Marks at its ends belong to the sentence. Groups of digits with single spaces between
them are one run; braces, tags, and code in backquotes are one each, with their spaces.
"""

import html
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

import regex

from nmt_core.base.symbols import SymbolClass
from nmt_core.literals.number import (
    SPACES,
    is_time,
    list_joined,
    read_beside,
    read_date,
    read_number,
)


class LiteralKind(StrEnum):
    """The kinds of literals."""

    VERBATIM = "verbatim"
    """Stays as it is: URLs, e-mail addresses, paths, placeholders, codes, emoji, signs."""
    NUMBER = "number"
    """Numbers, ranges and ratios: in the form of either language, or in words."""
    DATE = "date"
    """Dates and times of day in digits."""
    TERM = "term"
    """Glossary terms with their translations."""

    @property
    def symbol_class(self) -> SymbolClass:
        """The symbols that replace it while a model translates."""
        return "number" if self in {LiteralKind.NUMBER, LiteralKind.DATE} else "name"


class Literal(NamedTuple):
    """A literal in a line."""

    kind: LiteralKind
    start: int
    end: int
    text: str
    unit: str = ""
    """The unit or currency beside a number, in signs or a word, such as ``%``, ``€`` or ``km``."""
    scale: int = 0
    """The power of ten of the word behind a number, 6 of *5 million*."""
    forms: tuple[str, ...] = ()
    """The translations of a term; the first is the one to write."""
    extent: tuple[int, int] | None = None
    """The span of a number with the sign of its unit; None without a sign."""


LiteralFinder = Callable[[str, str], Iterator[Literal]]
"""Finds what a user names, such as glossary terms: takes a line and its language, and yields what
is found from left to right, without overlaps."""

REFERENCE = regex.compile(r"&(?:[a-zA-Z]\w*|#\d+|#[xX][0-9a-fA-F]+);")

NAMES = frozenset({"apos", "quot"})
"""Names of characters that are words only in a text that is written so."""

_MACHINE_SIGNS = r"#%&*@\\_§¶†‡‰‱′″{}"
_MARK = rf"(?![{_MACHINE_SIGNS}])\p{{P}}"
"""The marks of sentences: quotation marks, brackets, dashes and all that ends a clause."""
_ORDINARY = regex.compile(
    rf"(?:[\p{{L}}\p{{M}}\p{{Cf}}\p{{Cc}}\s,;!?]++|(?![.:/\-]){_MARK}|[.:/](?![\w/.:])|\.\.+|-(?!-\w))*+"
)
"""Lines of letters and the marks of sentences, as most are: they hold no literal."""

_INNER = r"\p{Cc}\p{Zl}\p{Zp}"
_DELIMITED = (
    rf"[$#%@]?\{{{{1,3}}[^{{}}{_INNER}]{{0,100}}\}}{{1,3}}|\$\w+\([^(){_INNER}]{{0,100}}\)|<(?:[/!]?[\p{{L}}\p{{Nd}}]|%)[^<>{_INNER}]{{0,200}}>"
    rf"|`[^`{_INNER}]{{1,100}}`|\[\[[^\[\]{_INNER}]{{1,100}}\]\]"
    r"|(?<![\p{Nd}%])%(?:\(\w+\)|<\w+>|\[\d+\]|\d+\$)?[\-+#0'I,]*(?:\*|\d+)?(?:\.(?:\*|\d+))?"
    r"(?:[hlLqjzt]{0,2}[a-zA-Z@](?![\p{L}\p{Nd}])|(?<=>))"
)
"""Text that programs fill in or read: braces, tags, code, links and ``printf`` directives."""
_PICTURE = (
    r"\p{RI}{2}|[0-9#*]\uFE0F?\u20E3|\p{Co}"
    r"|(?!°)(?:\p{So}|(?![\p{L}\p{P}\p{Nd}])\p{Extended_Pictographic})[\p{So}\p{Sk}\p{Mn}\p{Cf}]*"
)
"""Emoji and other pictures, with what modifies them, and characters for private use."""
_LONE = r"(?!\*\.)[*|<>×÷]+"
"""Signs that join no names: *a*b* is two words with signs."""
_UNSPACED = r"\p{Han}\p{Hira}\p{Kana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Letters of scripts in which no space parts a word from a number."""
_THOUSANDS = (
    rf"(?<![\p{{L}}\p{{Nd}}.,])[+\-−]?\p{{Nd}}{{1,3}}(?:[{SPACES}]\p{{Nd}}{{3}})+(?!\p{{Nd}})"
    r"(?:[.,]\p{Nd}+)?(?![.,:]?\p{Nd})"
)
_SPACED_TIME = r"(?<![\p{L}\p{Nd}.,])\p{Nd}{1,2} h \p{Nd}{2}(?!\p{Nd})"
"""Times of day as French has them."""
_GROUP = r"\p{Nd}[\p{Nd}/\-]*+(?![.,:]\p{Nd}|\p{L}| ?[%‰°\p{Sc}])"
_GROUPS = (
    rf"(?<![^\s(])(?:(?:\+\p{{Nd}}+ ?)?\(\+?\p{{Nd}}+\) ?{_GROUP}(?: {_GROUP})*"
    rf"|[+0]{_GROUP}(?: {_GROUP})+|{_GROUP}(?: {_GROUP}){{2,}}"
    r"|\p{Nd}{4} \p{Nd}{4}(?![\p{L}\p{Nd}]))"
)
"""Groups of digits with single spaces between them, as of a telephone or an account."""
_BREAK = rf"{REFERENCE.pattern}|{_DELIMITED}|{_PICTURE}|(?!\*\.)[*|<>×÷]|[{_UNSPACED}]"
_RUN = regex.compile(
    rf"(?:{REFERENCE.pattern})|(?<verbatim>{_DELIMITED}|{_PICTURE}|{_LONE})|(?<thousands>{_THOUSANDS})|(?<time>{_SPACED_TIME})|(?<groups>{_GROUPS})"
    rf"|(?<run>(?:(?!{_BREAK}|{_THOUSANDS}|{_SPACED_TIME}|{_GROUPS})[^\s\p{{Cc}}])+)"
)

_MARKS_AT_ENDS = regex.compile(rf"(?:{_MARK}|\p{{Cf}})+")
_KEPT_END = regex.compile(r":[\w+\-]+:|(?=.*\p{L})\S*/\S*/")
"""Runs whose last mark is a part of them: names of emoji and folders."""
_OPTION = regex.compile(r"--\p{L}")
_SIGNED = regex.compile(r"[+\-−]\p{Nd}")
_MACHINE = regex.compile(
    r"(?=.*\p{L})(?:(?:--|-(?=\p{L}$)|\.{0,2}/)[\p{L}\p{Nd}][\w./:\-]*|\p{L}[\w+.\-]*:/{1,2}\S+"
    r"|(?:[\w\-]+/)*(?:[\p{L}\p{Nd}][\w\-]*\.)+[a-z]{2,}(?:[/:]\S*)?|[\w.]*\w\(\w*\)"
    r")|:[\w+\-]+:|:[a-z]\w+"
)
"""Options, paths, URLs, hosts, files, calls, and names of emoji of letters and marks alone."""
_ABBREVIATION = regex.compile(
    r"(?!www\.)(?=.*\b\p{L}\b)(?:\p{L}{1,3}\.)+\p{L}{1,2}|[\p{L}\p{M}]{3,}\(\p{L}+\)"
)
"""Such as *z.B*, *Ph.D* and *u.a*; and words with an ending in brackets."""
_BINDING = regex.compile(
    rf"(?<!\p{{Nd}})(?:%(?=\S)|\p{{Sc}}(?=\p{{L}}))"
    rf"|(?!(?:{_MARK}|[%‰°+−\p{{Sc}}]))[^\p{{L}}\p{{M}}\p{{Cf}}\p{{Nd}}]"
)
"""Signs that make a run a name, such as those of ``a_b``, ``a@b``, ``a=b`` and ``$a``."""
_DIGIT = regex.compile(r"\p{Nd}")
_UNIT_SIGN = regex.compile(r"[%‰°\p{Sc}]|^[^\p{L}]+$")
_PART = regex.compile(rf"(?:(?!{_MARK}).)+")
_NUMBER = r"[+\-−]?\p{Nd}+(?:[.,'’٫٬\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]\p{Nd}+)*"
_BEFORE, _BEHIND = r"(?:\p{Lu}{0,3}\p{Sc})?", r"(?:[%‰]|°\p{Lu}?|\p{Lu}{0,3}\p{Sc})?"
_FIGURE = regex.compile(rf"{_BEFORE}({_NUMBER}){_BEHIND}(?:\p{{L}}?[\p{{Ll}}²³]+|m[23])?")
_JOINED = regex.compile(
    rf"{_BEFORE}(\p{{Nd}}[\p{{Nd}}.,]*{_BEHIND}(?:[\-–—‐‑/:]{_BEFORE}\p{{Nd}}[\p{{Nd}}.,]*|\(\p{{Nd}}+\))){_BEHIND}"
)


def find_literals(line: str, language: str, terms: Sequence[LiteralFinder] = ()) -> list[Literal]:
    """Return the literals of a line from left to right, without overlaps; ``terms`` go first."""
    literals: list[Literal] = []
    finders = [*terms] if _ORDINARY.fullmatch(line) else [*terms, _find_all]
    for finder in finders:
        literals += [
            literal
            for literal in finder(line, language)
            if not any(o.start < literal.end and literal.start < o.end for o in literals)
        ]
    return sorted(literals, key=lambda literal: literal.start)


def _find_all(line: str, language: str) -> Iterator[Literal]:
    """Yield the literals of a line that the rule finds, without the signs of units of numbers."""
    literals = [*_list_all(line, language)]
    end = 0
    for at, literal in enumerate(literals):
        following = literals[at + 1] if at + 1 < len(literals) else literal
        is_sign_taken = literal.extent and following.start < literal.extent[1] < following.end
        if literal.extent and (literal.extent[0] < end or is_sign_taken):  # by another literal
            literals[at] = literal._replace(unit="", extent=None)
        elif literal.extent:
            end = literal.extent[1]
    covered = [literal.extent for literal in literals if literal.extent]
    for literal in literals:
        if literal.kind is LiteralKind.NUMBER or not any(
            start <= literal.start and literal.end <= end for start, end in covered
        ):
            yield literal


def _list_all(line: str, language: str) -> Iterator[Literal]:
    for match in _RUN.finditer(line):
        start, end = match.span()
        if match["run"]:
            yield from _read_run(line, start, end, language)
        elif match["thousands"]:
            yield _make_number(line, start, end, language)
        elif match.lastgroup:  # and not a character by its name
            kind = LiteralKind.DATE if match["time"] else LiteralKind.VERBATIM
            yield Literal(kind, start, end, match[0])


def _make_number(line: str, start: int, end: int, language: str) -> Literal:
    unit, scale, extent = read_beside(line, start, end, language)
    return Literal(LiteralKind.NUMBER, start, end, line[start:end], unit, scale, extent=extent)


def _read_run(line: str, start: int, end: int, language: str) -> Iterator[Literal]:
    """Yield the literal that a run without spaces holds, if it holds one."""
    start, end = _leave_marks(line, start, end)
    text = line[start:end]
    if not _DIGIT.search(text):
        is_name = _MACHINE.fullmatch(text) and not _ABBREVIATION.fullmatch(text)
        if text and (is_name or _BINDING.search(text) or _UNIT_SIGN.search(text)):
            yield Literal(LiteralKind.VERBATIM, start, end, text)
        return
    if _BINDING.search(text) or (_MACHINE.fullmatch(text) and not _find_figure(text, language)):
        yield Literal(LiteralKind.VERBATIM, start, end, text)
        return
    start, end = _leave_words(line, start, end)
    yield _classify(line, start, end, language)


def _find_figure(text: str, language: str) -> regex.Match[str] | None:
    """Return the match of a number with its signs, if it is one in some format."""
    match = _FIGURE.fullmatch(text)
    return match if match and read_number(match[1], language) is not None else None


def _classify(line: str, start: int, end: int, language: str) -> Literal:
    """Return the literal of a run that begins and ends with what is not a word."""
    text = line[start:end]
    if read_date(text) or is_time(text):
        return Literal(LiteralKind.DATE, start, end, text)
    joined = _JOINED.fullmatch(text)
    if joined and any(read_number(run, language) is None for run in list_joined(text)):
        joined = None
    if match := _find_figure(text, language) or joined:
        return _make_number(line, start + match.start(1), start + match.end(1), language)
    return Literal(LiteralKind.VERBATIM, start, end, text)


def _leave_marks(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a run without the marks of the sentence at its ends.

    Brackets with their counterparts in the run stay, unless they are around all of it; so do a sign
    before a digit, and marks that begin a path, an option or the name of an emoji.
    """
    while start < end:
        text = line[start:end]
        opened, closed = (sum(map(text.count, signs)) for signs in ("([", ")]"))
        if text[-1] in ")]" and opened >= closed:
            if not (text[0] in "([" and is_around(text)):
                break
            start, end = start + 1, end - 1
        elif _MARKS_AT_ENDS.match(text[-1]) and not _KEPT_END.fullmatch(text):
            end -= 1
        else:
            break
    while start < end and _MARKS_AT_ENDS.match(line[start]):
        signed = _SIGNED.match(line, start, end) and not line[max(0, start - 1) : start].isalnum()
        if signed or _MACHINE.fullmatch(line, start, end) or _OPTION.match(line, start, end):
            break
        start += 1
    return start, end


def is_around(text: str) -> bool:
    """Tell whether the bracket that begins a text is closed by its last character alone."""
    return all(accumulate((sign in "([") - (sign in ")]") for sign in text[:-1]))


def _leave_words(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a run without words joined to its ends, as in *G20-Gipfel*."""
    parts = [match.span() for match in _PART.finditer(line, start, end)]
    while parts and _is_word(line[slice(*parts[0])]) and line[parts[0][1]] != ":":
        parts = parts[1:]
    while parts and _is_word(line[slice(*parts[-1])]):
        parts = parts[:-1]
    texts = [line[slice(*part)] for part in parts]
    if len(parts) > 1 and texts[-1].isalpha() and all(map(str.isdecimal, texts[:-1])):
        parts = parts[:-1]  # as of 96/35/EC, which is 96/35/EG in German
    if not parts:
        return start, end
    first = start if parts[0][0] - start <= 1 else parts[0][0]
    last = parts[-1][1]
    is_open = line.count("(", first, last) > line.count(")", first, last)
    return first, end if end - last <= 1 else last + is_open


def _is_word(part: str) -> bool:
    return part.isalpha() and not (part.isupper() and part.isascii())


def join_adjacent(literals: Sequence[Literal], line: str) -> Iterator[tuple[Literal, ...]]:
    """Yield literals in groups that stand side by side, with at most a space between them.

    Terms stand alone.
    """
    group: list[Literal] = []
    for literal in literals:
        between = line[find_extent(group[-1])[1] : find_extent(literal)[0]] if group else ""
        is_term = group and LiteralKind.TERM in {literal.kind, group[-1].kind}
        if group and (is_term or between not in {"", " "}):
            yield tuple(group)
            group = []
        group.append(literal)
    if group:
        yield tuple(group)


def resolve_references(text: str) -> str:
    """Return a text with characters in the place of their names and numbers, once.

    What names no character stays.
    """
    return REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)


def find_extent(literal: Literal) -> tuple[int, int]:
    """Return the place of a literal with the sign of its unit."""
    return literal.extent or (literal.start, literal.end)
