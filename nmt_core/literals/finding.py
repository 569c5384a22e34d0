"""Find literals: the parts of a line that its translation must preserve.

A literal is a maximal run without spaces that has a character other than letters and sentence
punctuation. Punctuation at its ends belongs to the sentence. Groups of digits separated by single
spaces are one run. So are braces, tags, and code in backquotes, including their spaces.
"""

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple

import regex

from nmt_core.base.symbols import SymbolClass
from nmt_core.literals.number import SPACES, is_time, list_joined, read_date, read_number, read_unit


class LiteralKind(StrEnum):
    """The kinds of literals."""

    VERBATIM = "verbatim"
    """Must not change: URLs, e-mail addresses, paths, placeholders, codes, emoji, signs."""
    NUMBER = "number"
    """Numbers, ranges and ratios: in the format of either language, or in words."""
    DATE = "date"
    """Dates and times of day in digits."""
    TERM = "term"
    """Glossary terms with their translations."""

    @property
    def symbol_class(self) -> SymbolClass:
        """The class of symbols that replace the literal in the input of a model."""
        return "number" if self in {LiteralKind.NUMBER, LiteralKind.DATE} else "name"


class Literal(NamedTuple):
    """A literal in a line."""

    kind: LiteralKind
    start: int
    end: int
    text: str
    unit: str = ""
    """The unit or currency of a number, as a sign or a word, such as ``%``, ``€`` or ``km``."""
    scale: int = 0
    """The power of ten of the scale word after a number, 6 for *5 million*."""
    forms: tuple[str, ...] = ()
    """The accepted translations of a term; the first is preferred."""
    extent: tuple[int, int] | None = None
    """The span of a number with the sign of its unit; None without a sign."""


LiteralFinder = Callable[[str, str], Iterable[Literal]]
"""Finds literals of a user, such as glossary terms: takes a line and its language, and yields
literals from left to right, without overlaps."""

CHARACTER_REFERENCE = regex.compile(r"&(?:[a-zA-Z]\w*|#\d+|#[xX][0-9a-fA-F]+);")

ENTITY_NAMES = frozenset({"apos", "quot"})
"""Entity names that also occur as tokens in tokenized text."""

_MACHINE_SIGNS = r"#%&*@\\_§¶†‡‰‱′″{}"
_MARK = rf"(?![{_MACHINE_SIGNS}])\p{{P}}"
"""Sentence punctuation: quotation marks, brackets, dashes and marks at the end of clauses."""
_ORDINARY = regex.compile(
    rf"(?:[\p{{L}}\p{{M}}\p{{Cf}}\p{{Cc}}\s,;!?]++|(?![.:/\-]){_MARK}|[.:/](?![\w/.:])|\.\.+|-(?!-\w))*+"
)
"""A line of letters and sentence punctuation, which has no literal; most lines are like this."""

_INNER = r"\p{Cc}\p{Zl}\p{Zp}"
_DELIMITED = (
    rf"[$#%@]?\{{{{1,3}}[^{{}}{_INNER}]{{0,100}}\}}{{1,3}}|\$\w+\([^(){_INNER}]{{0,100}}\)|<(?:[/!]?[\p{{L}}\p{{Nd}}]|%)[^<>{_INNER}]{{0,200}}>"
    rf"|`[^`{_INNER}]{{1,100}}`|\[\[[^\[\]{_INNER}]{{1,100}}\]\]"
    r"|(?<![\p{Nd}%])%(?:\(\w+\)|<\w+>|\[\d+\]|\d+\$)?[\-+#0'I,]*(?:\*|\d+)?(?:\.(?:\*|\d+))?"
    r"(?:[hlLqjzt]{0,2}[a-zA-Z@](?![\p{L}\p{Nd}])|(?<=>))"
)
"""Text for programs: braces, tags, code, links and ``printf`` directives."""
_PICTURE = (
    r"\p{RI}{2}|[0-9#*]\uFE0F?\u20E3|\p{Co}"
    r"|(?!°)(?:\p{So}|(?![\p{L}\p{P}\p{Nd}])\p{Extended_Pictographic})[\p{So}\p{Sk}\p{Mn}\p{Cf}]*"
)
"""Emoji and other pictographs with their modifiers, and private-use characters."""
_LONE = r"(?!\*\.)[*|<>×÷]+"
"""Signs that are separate literals between words, as in *a*b*."""
_UNSPACED = r"\p{Han}\p{Hira}\p{Kana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Letters of scripts without spaces between words and numbers."""
_THOUSANDS = (
    rf"(?<![\p{{L}}\p{{Nd}}.,])[+\-−]?\p{{Nd}}{{1,3}}(?:[{SPACES}]\p{{Nd}}{{3}})+(?!\p{{Nd}})"
    r"(?:[.,]\p{Nd}+)?(?![.,:]?\p{Nd})"
)
_SPACED_TIME = r"(?<![\p{L}\p{Nd}.,])\p{Nd}{1,2} h \p{Nd}{2}(?!\p{Nd})"
"""A time of day in the French format, such as *14 h 20*."""
_GROUP = r"\p{Nd}[\p{Nd}/\-]*+(?![.,:]\p{Nd}|\p{L}| ?[%‰°\p{Sc}])"
_GROUPS = (
    rf"(?<![^\s(])(?:(?:\+\p{{Nd}}+ ?)?\(\+?\p{{Nd}}+\) ?{_GROUP}(?: {_GROUP})*"
    rf"|[+0]{_GROUP}(?: {_GROUP})+|{_GROUP}(?: {_GROUP}){{2,}}"
    r"|\p{Nd}{4} \p{Nd}{4}(?![\p{L}\p{Nd}]))"
)
"""Groups of digits separated by single spaces, as in telephone and account numbers."""
_BREAK = rf"{CHARACTER_REFERENCE.pattern}|{_DELIMITED}|{_PICTURE}|(?!\*\.)[*|<>×÷]|[{_UNSPACED}]"
_LETTERS = r"[A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u02af\u0400-\u0481\u048a-\u052f]++"
_RUN = (
    rf"(?:{_LETTERS}[,;.!?]?+(?!\S)\s*+)++"  # words, the most frequent runs, have no literals
    rf"|(?:{CHARACTER_REFERENCE.pattern})|(?<verbatim>{_DELIMITED}|{_PICTURE}|{_LONE})|(?<thousands>{_THOUSANDS})|(?<time>{_SPACED_TIME})|(?<groups>{_GROUPS})"
    rf"|(?<run>(?:{_LETTERS}|(?!{_BREAK}|{_THOUSANDS}|{_SPACED_TIME}|{_GROUPS})[^\s\p{{Cc}}])+)"
)
"""Compiled at its first use: that takes as long as a translation, and few lines need it."""
_compile = cache(regex.compile)

_MARKS_AT_ENDS = regex.compile(rf"(?:{_MARK}|\p{{Cf}})+")
_KEPT_END = regex.compile(r":[\w+\-]+:|(?=.*\p{L})\S*/\S*/")
"""Runs whose last punctuation mark is part of them: names of emoji and folders."""
_OPTION = regex.compile(r"--\p{L}")
_SIGNED = regex.compile(r"[+\-−]\p{Nd}")
_MACHINE = regex.compile(
    r"(?=.*\p{L})(?:(?:--|-(?=\p{L}$)|\.{0,2}/)[\p{L}\p{Nd}][\w./:\-]*|\p{L}[\w+.\-]*:/{1,2}\S+"
    r"|(?:[\w\-]+/)*(?:[\p{L}\p{Nd}][\w\-]*\.)+[a-z]{2,}(?:[/:]\S*)?|[\w.]*\w\(\w*\)"
    r")|:[\w+\-]+:|:[a-z]\w+"
)
"""Options, paths, URLs, hosts, files, calls and names of emoji, even without digits or signs."""
_ABBREVIATION = regex.compile(
    r"(?!www\.)(?=.*\b\p{L}\b)(?:\p{L}{1,3}\.)+\p{L}{1,2}|[\p{L}\p{M}]{3,}\(\p{L}+\)"
)
"""Abbreviations such as *z.B*, *Ph.D* and *u.a*, and words with an ending in brackets."""
_BINDING = regex.compile(
    rf"(?<!\p{{Nd}})(?:%(?=\S)|\p{{Sc}}(?=\p{{L}}))"
    rf"|(?!(?:{_MARK}|[%‰°+−\p{{Sc}}]))[^\p{{L}}\p{{M}}\p{{Cf}}\p{{Nd}}]"
)
"""Signs that make a run a name, as in ``a_b``, ``a@b``, ``a=b`` and ``$a``."""
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
    """Return the literals of a line from left to right; those of ``terms`` win over others."""
    literals: list[Literal] = []
    finders: list[LiteralFinder] = [*terms] if _ORDINARY.fullmatch(line) else [*terms, _find_all]
    for finder in finders:
        literals += [
            literal
            for literal in finder(line, language)
            if not any(each.start < literal.end and literal.start < each.end for each in literals)
        ]
    return sorted(literals, key=lambda literal: literal.start)


@lru_cache(maxsize=1000)  # a line is compared with its hypotheses and its reference
def _find_all(line: str, language: str) -> tuple[Literal, ...]:
    """Return the literals of a line; the sign of a unit is not a separate literal."""
    literals = [*_list_all(line, language)]
    end = 0
    for at, literal in enumerate(literals):
        following = literals[at + 1] if at + 1 < len(literals) else literal
        is_sign_taken = literal.extent and following.start < literal.extent[1] < following.end
        if literal.extent and (literal.extent[0] < end or is_sign_taken):  # another literal has it
            literals[at] = literal._replace(unit="", extent=None)
        elif literal.extent:
            end = literal.extent[1]
    covered = [literal.extent for literal in literals if literal.extent]
    return tuple(
        literal
        for literal in literals
        if literal.kind is LiteralKind.NUMBER
        or not any(start <= literal.start and literal.end <= end for start, end in covered)
    )


def _list_all(line: str, language: str) -> Iterator[Literal]:
    for match in _compile(_RUN).finditer(line):
        start, end = match.span()
        if match["run"]:
            yield from _read_run(line, start, end, language)
        elif match["thousands"]:
            yield _make_number(line, start, end, language)
        elif match.lastgroup:  # without a group, these are words or a character reference
            kind = LiteralKind.DATE if match["time"] else LiteralKind.VERBATIM
            yield Literal(kind, start, end, match[0])


def _make_number(line: str, start: int, end: int, language: str) -> Literal:
    unit, scale, extent = read_unit(line, start, end, language)
    return Literal(LiteralKind.NUMBER, start, end, line[start:end], unit, scale, extent=extent)


def _read_run(line: str, start: int, end: int, language: str) -> Iterator[Literal]:
    """Yield the literal in a run without spaces, if there is one."""
    start, end = _strip_punctuation(line, start, end)
    text = line[start:end]
    if not _DIGIT.search(text):
        is_name = _MACHINE.fullmatch(text) and not _ABBREVIATION.fullmatch(text)
        if text and (is_name or _BINDING.search(text) or _UNIT_SIGN.search(text)):
            yield Literal(LiteralKind.VERBATIM, start, end, text)
        return
    if _BINDING.search(text) or (_MACHINE.fullmatch(text) and not _find_figure(text, language)):
        yield Literal(LiteralKind.VERBATIM, start, end, text)
        return
    start, end = _strip_words(line, start, end)
    yield _classify(line, start, end, language)


def _find_figure(text: str, language: str) -> regex.Match[str] | None:
    """Return the match of a number with its signs; None if it is not a number in any format."""
    match = _FIGURE.fullmatch(text)
    return match if match and read_number(match[1], language) is not None else None


def _classify(line: str, start: int, end: int, language: str) -> Literal:
    """Return the literal of a run without words at its ends."""
    text = line[start:end]
    if read_date(text) or is_time(text):
        return Literal(LiteralKind.DATE, start, end, text)
    joined = _JOINED.fullmatch(text)
    if joined and any(read_number(run, language) is None for run in list_joined(text)):
        joined = None
    if match := _find_figure(text, language) or joined:
        return _make_number(line, start + match.start(1), start + match.end(1), language)
    return Literal(LiteralKind.VERBATIM, start, end, text)


def _strip_punctuation(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a run without sentence punctuation at its ends.

    Paired brackets stay, unless they enclose the whole run. A sign before a digit stays, and so do
    the first marks of a path, an option or the name of an emoji.
    """
    while start < end:
        text = line[start:end]
        opening, closing = (sum(map(text.count, signs)) for signs in ("([", ")]"))
        if text[-1] in ")]" and opening >= closing:
            if not (text[0] in "([" and is_enclosed(text)):
                break
            start, end = start + 1, end - 1
        elif _MARKS_AT_ENDS.match(text[-1]) and not _KEPT_END.fullmatch(text):
            end -= 1
        else:
            break
    while start < end and _MARKS_AT_ENDS.match(line[start]):
        has_sign = _SIGNED.match(line, start, end) and not line[max(0, start - 1) : start].isalnum()
        if has_sign or _MACHINE.fullmatch(line, start, end) or _OPTION.match(line, start, end):
            break
        start += 1
    return start, end


def is_enclosed(text: str) -> bool:
    """Return whether the last character of a text closes the bracket at its beginning."""
    return all(accumulate((sign in "([") - (sign in ")]") for sign in text[:-1]))


def _strip_words(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a run without words joined to its ends, as in *G20-Gipfel*."""
    parts = [match.span() for match in _PART.finditer(line, start, end)]
    while parts and _is_word(line[slice(*parts[0])]) and line[parts[0][1]] != ":":
        parts = parts[1:]
    while parts and _is_word(line[slice(*parts[-1])]):
        parts = parts[:-1]
    texts = [line[slice(*part)] for part in parts]
    if len(parts) > 1 and texts[-1].isalpha() and all(map(str.isdecimal, texts[:-1])):
        parts = parts[:-1]  # 96/35/EC is 96/35/EG in German
    if not parts:
        return start, end
    first = start if parts[0][0] - start <= 1 else parts[0][0]
    last = parts[-1][1]
    is_open = line.count("(", first, last) > line.count(")", first, last)
    return first, end if end - last <= 1 else last + is_open


def _is_word(part: str) -> bool:
    return part.isalpha() and not (part.isupper() and part.isascii())


def join_adjacent(literals: Sequence[Literal], line: str) -> Iterator[tuple[Literal, ...]]:
    """Yield groups of adjacent literals with at most a space between them.

    A term is always a separate group.
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
    """Return a text with character references, such as ``&amp;``, replaced once.

    Unknown references do not change.
    """
    return CHARACTER_REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)


def find_extent(literal: Literal) -> tuple[int, int]:
    """Return the span of a literal with the sign of its unit."""
    return literal.extent or (literal.start, literal.end)
