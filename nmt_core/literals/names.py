"""Literals that stay as they are: addresses, placeholders, codes, emoji, patterns of a user's."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import regex
from typing_extensions import override

from nmt_core.base.symbols import PRIVATE_USE
from nmt_core.literals.kind import LiteralKind, LiteralSpan
from nmt_core.literals.number import DIGIT
from nmt_core.literals.units import LONE_SIGN, names_sign, normalize_unit

_NOT_ASCII = regex.compile(r"[^\x00-\x7f]")


class Pattern(LiteralKind):
    """What a regular expression finds, which is never empty."""

    name = "pattern"
    pattern: ClassVar[regex.Pattern[str]]
    guard: ClassVar[regex.Pattern[str]]
    """A quick pattern; lines in which it finds nothing are not searched."""

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        del language
        for match in self.pattern.finditer(line) if self.guard.search(line) else ():
            yield LiteralSpan(*match.span())


class WebAddress(Pattern):
    """Addresses of the web; a full stop or bracket after one is the sentence's."""

    name = "address"
    guard = regex.compile(r"\w\.\w|:")
    pattern = regex.compile(
        r"(?<![\p{L}\p{Nd}@._\-])(?:(?:https?|ftp|ssh|s3|gs|file)://|mailto:|www\.(?=\w))"
        r"[^\s\p{Cc}<>\"'«»„“”{}|\\^`]*[^\s\p{Cc}<>\"'«»„“”{}|\\^`.,;:!?)\]…]"
        r"|(?<![\p{L}\p{Nd}@._/\-])(?:[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?\.)+"
        r"(?:com|org|net|edu|gov|info|io|eu|de|fr|uk|es|it|nl|pl|int)(?![\p{L}\p{Nd}\-])"
        r"(?:/[^\s\p{Cc}<>\"'«»„“”{}|\\^`]*[^\s\p{Cc}<>\"'«»„“”{}|\\^`.,;:!?)\]…])?"
    )


class Email(Pattern):
    """Addresses of mail."""

    name = "email"
    guard = regex.compile("@")
    pattern = regex.compile(
        r"(?<![\w.+%\-])[\w.+%\-]+@[\p{L}\p{Nd}](?:[\w\-]*\w)?(?:\.\w(?:[\w\-]*\w)?)+"
    )


class Placeholder(Pattern):
    """Fields of a program, tags, names of emoji, and code in backquotes.

    They are such as ``{x}``, ``{{x}}``, ``%s``, ``%1$s``, ``${x}``, ``<0>`` and ``:smile:``.
    """

    name = "placeholder"
    guard = regex.compile(r"[{%<$\[#`:]")
    pattern = regex.compile(
        r"(?<![`\p{L}])`[^`\s](?:[^`\p{Cc}\p{Zl}\p{Zp}]{0,98}[^`\s])?`(?![`\p{L}])"
        r"|(?<![\w:]):[a-z][a-z0-9_+\-]*:(?![\w:])"
        r"|\{\{[^{}\p{Cc}\p{Zl}\p{Zp}]{0,100}\}\}"
        r"|[$#]?\{[^{}\p{Cc}\p{Zl}\p{Zp}]{0,100}\}"
        r"|%\{\w{1,50}\}"
        r"|%\([\w.]{1,50}\)[+\-#0]*\d*(?:\.\d+)?[a-zA-Z]"
        r"|(?<![\p{Nd}%])%(?:\d+\$)?[+\-#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[sdifgGeExXucpoq@](?![\p{L}\p{Nd}])"
        r"|</?(?:\d+|[a-zA-Z][\w:.\-]*)(?:\p{Zs}[^<>\p{Cc}\p{Zl}\p{Zp}]{0,200})?/?>"
        r"|\$[A-Z_][A-Z0-9_]+\b|\[\[[^\[\]\p{Cc}\p{Zl}\p{Zp}]{1,100}\]\]|(?<!#)#{2,6}\w{1,60}#{2,6}"
    )


class Path(Pattern):
    r"""Files and folders: ``report.docx``, ``/usr/bin/env``, ``C:\Users\me``."""

    name = "path"
    guard = regex.compile(r"[/\\.]\w")
    pattern = regex.compile(
        r"(?<![\p{L}\p{Nd}\\])[A-Za-z]:\\(?:[\w.\-]+\\)*[\w\-]+(?:\.\w+)*\\?"
        r"|(?<![\w:/.\\])~?(?:/[\w\-]+(?:\.[\w\-]+)*){2,}/?"
        r"|(?<![\w./\\\-])(?:[\w.\-]+/)*[\w\-]+(?:\.[\w\-]+)*\.(?:docx?|xlsx?|pptx?|pdf|odt|txt|csv|json|xml|ya?ml|html?"
        r"|js|py|java|cpp|exe|zip|tar|gz|png|jpe?g|gif|svg|mp[34]|md|log|ini|cfg|sql|sh|bat)(?![\w/])"
    )


class Handle(Pattern):
    """Names of users and topics: ``@name``, ``#topic``."""

    name = "handle"
    guard = regex.compile(r"[@#]\w")
    pattern = regex.compile(r"(?<![\w@#&/.])[@#](?=\w*\p{L})\w+")


class Telephone(Pattern):
    """Telephone numbers, which begin with ``+``, 0 or a bracket."""

    name = "telephone number"
    guard = regex.compile(r"[+(0]\p{Nd}")
    pattern = regex.compile(
        r"(?<![\p{L}\p{Nd}.,/:\-+])(?:"
        r"(?!\+\p{Nd}{1,3}(?:[ .]\p{Nd}{3}){1,2}(?![ .]?\p{Nd}))"  # a number in threes
        r"\+(?=(?:[ .\-/()]*\p{Nd}){8,15}(?![ .\-/()]*\p{Nd}))"
        r"\p{Nd}{1,3}(?:[ .\-/]?(?:\(\p{Nd}{1,5}\)|\p{Nd}{1,12})){1,7}"
        r"|(?<!\p{Nd} )(?=(?:[ .\-/]?\p{Nd}){8,13}(?![ .\-/]?\p{Nd}))"
        r"0\p{Nd}{1,5}(?:/\p{Nd}{5,9}|(?:[ .\-]\p{Nd}{2,9}){1,5})"
        r"|\(\p{Nd}{2,5}\) ?\p{Nd}{2,4}[ \-]\p{Nd}{3,4}"
        r")(?![\p{L}\p{Nd}]|[ .,/:\-]\p{Nd})"
    )


class JoinedNumbers(Pattern):
    """Numbers that are one name or ratio: ``2013/14``, ``3:1``, ``978-3-16-148410-0``."""

    name = "joined numbers"
    symbol_class = "number"
    is_masked_first = False
    guard = regex.compile(r"\p{Nd}[/:\-]\p{Nd}")
    pattern = regex.compile(
        r"(?<![\p{L}\p{Nd}.,/:\-–+])"
        r"(?:\p{Nd}+(?:-\p{Nd}+){2,}|\p{Nd}+(?:/\p{Nd}+)+|\p{Nd}{1,3}:\p{Nd}{1,3})"
        r"(?![\p{L}\p{Nd}]|[.,/:\-–]\p{Nd})"
    )


class Emoji(Pattern):
    """Emoji, flags and keycaps, with their modifiers."""

    name = "emoji"
    guard = _NOT_ASCII
    pattern = regex.compile(
        r"\p{RI}\p{RI}|[0-9#*]\uFE0F?\u20E3"
        r"|\p{Extended_Pictographic}[\uFE0F\p{EMod}]*(?:\u200D\p{Extended_Pictographic}[\uFE0F\p{EMod}]*)*"
    )


class LoneSign(Pattern):
    """Signs of currencies and per cent beside no number, which a translation may put beside one."""

    name = "sign"
    may_repeat = True
    guard = regex.compile(r"[%‰\p{Sc}]")
    pattern = LONE_SIGN

    @override
    def is_said(self, text: str, translation: str) -> bool:
        sign = normalize_unit(text)
        return sign in translation or names_sign(translation, sign)


class PrivateUse(Pattern):
    """Characters for private use: of a font of icons, say, and those that symbols are made of."""

    name = "private use"
    guard = _NOT_ASCII
    pattern = PRIVATE_USE


_RUN = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}_])[\p{L}\p{Nd}_]+(?:[\-/.:()]+[\p{L}\p{Nd}_]+)*\)?")
_PART = regex.compile(r"[\p{L}\p{Nd}_]+")
_UNIT = regex.compile(r"[µnmckd]?m[23]")


class Code(LiteralKind):
    """Names made of capitals and digits, such as A4-0317/98, COM(2004)0123, CO2 or x86_64."""

    name = "code"

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        del language
        runs = _RUN.finditer(line) if DIGIT.search(line) else ()
        for run in (run for run in runs if DIGIT.search(line, *run.span())):
            parts = [(match.span(), match[0]) for match in _PART.finditer(line, *run.span())]
            parts = [*_trim(parts)]
            texts = [text for _, text in parts]
            if any(map(_is_code, texts)) or _is_joined(texts):
                start, end = parts[0][0][0], parts[-1][0][1]
                inner = line[start:end]
                end += line[end : end + 1] == ")" and inner.count("(") > inner.count(")")
                yield LiteralSpan(start, end)


def _trim(parts: list[tuple[tuple[int, int], str]]) -> list[tuple[tuple[int, int], str]]:
    """Leave out words at both ends, as in G20-Gipfel."""
    while parts and _is_word(parts[0][1]):
        parts = parts[1:]
    while parts and _is_word(parts[-1][1]):
        parts = parts[:-1]
    return parts


def _is_word(part: str) -> bool:
    return part.isalpha() and not (part.isupper() and part.isascii())


def _is_code(part: str) -> bool:
    """Tell whether a part is a code by itself: letters before digits, or capitals after them."""
    if not part.isascii() or not any(map(str.isdigit, part)) or part.isdecimal():
        return False
    letters = part.lstrip("0123456789")
    if len(letters) == len(part):
        return _UNIT.fullmatch(part) is None
    return letters.isupper() or any(map(str.isdigit, letters))


def _is_joined(parts: Sequence[str]) -> bool:
    """Tell whether parts are capitals and digits, one after the other, as in AK-47."""
    return (
        len(parts) > 1
        and any(map(str.isdigit, parts))
        and any(part.isupper() for part in parts)
        and all(part.isdecimal() or part.isupper() for part in parts)
    )


class OwnPattern(LiteralKind):
    """A pattern of the user's own.

    Raises:
        ValueError: if it is no regular expression.
    """

    name = "own"

    def __init__(self, pattern: str) -> None:
        """Take a regular expression of the regex package."""
        try:
            self._pattern = regex.compile(pattern)
        except regex.error as error:
            raise ValueError(f"{pattern!r} is no regular expression ({error})") from None

    @override
    def find(self, line: str, language: str) -> Iterator[LiteralSpan]:
        del language
        return (LiteralSpan(*m.span()) for m in self._pattern.finditer(line) if m.end() > m.start())
