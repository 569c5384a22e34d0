"""Parse .po files of GNU gettext: messages of a program with their translations.

Format: https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nmt_core.base.errors import NmtError
from nmt_core.base.files import BYTE_ORDER_MARK, decode_utf8

CHARSET = re.compile(
    rb'^(?:msgstr\s*)?"(?:[^"\n]*\\n)?Content-Type:[^"\n]*?charset=([\w.:-]+)',
    re.MULTILINE | re.IGNORECASE,
)
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
STRING = r'"(?P<string>(?:[^"\\\r\n]|\\.)*)"\s*$'
KEYWORD = re.compile(rf"\s*(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d\d?\])?)\s*{STRING}")
CONTINUATION = re.compile(rf"\s*{STRING}")
FLAGS = re.compile(r"#,(?P<flags>.*)")
ESCAPED = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
TO_ESCAPE = re.compile(r'[\x00-\x1f"\\]')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
ESCAPE_SEQUENCES = {sign: f"\\{code}" for code, sign in ESCAPES.items()}

FUZZY = "fuzzy"
"""Flag of a translation that a person must check."""


class KeywordLines(NamedTuple):
    """The lines of a keyword with its strings."""

    start: int
    end: int
    """Index of the first line after it."""
    text: str
    """Its strings, unescaped and joined."""


@dataclass
class Message:
    """A message with its translations."""

    fields: dict[str, KeywordLines] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    flag_line: int | None = None
    """Index of the line of its flags."""

    @property
    def start(self) -> int:
        """Index of its first line: that of its flags, or of a keyword."""
        if self.flag_line is not None:
            return self.flag_line
        return min(lines.start for lines in self.fields.values())

    @property
    def end(self) -> int:
        """Index of the first line after it."""
        return max(lines.end for lines in self.fields.values())

    @property
    def forms(self) -> list[str]:
        """The keywords of its translations, such as ``msgstr[0]``."""
        return [name for name in self.fields if name.startswith("msgstr")]

    @property
    def is_header(self) -> bool:
        """Whether the message is the header of the file."""
        return not self.fields["msgid"].text and "msgctxt" not in self.fields


@dataclass
class PoFile:
    """The lines and messages of a file; obsolete messages are comments."""

    charset: str
    lines: list[str]
    messages: list[Message]


def parse_po(data: bytes, name: object, error: type[NmtError]) -> PoFile:
    """Return the lines and messages of a file; errors contain its name.

    Raises:
        NmtError: of the class ``error``, if its charset or a line is not valid.
    """
    match = CHARSET.search(data)
    charset = match[1].decode() if match else "utf-8"
    text = _decode(data, charset, name, error)
    lines = [match[0] for match in LINE.finditer(text) if match[0]]
    try:
        return PoFile(charset, lines, [*_read_messages(lines)])
    except _LineError as problem:
        raise error(
            f"line {problem.number + 1} of {name} is invalid in a .po file; check it: msgfmt -c"
        ) from None


def escape(text: str) -> str:
    """Return text escaped for use between quotes."""
    return TO_ESCAPE.sub(
        lambda match: (
            ESCAPE_SEQUENCES.get(match[0])
            or (f"\\{match[0]}" if match[0] in '"\\' else f"\\{ord(match[0]):03o}")
        ),
        text,
    )


class _LineError(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _decode(data: bytes, charset: str, name: object, error: type[NmtError]) -> str:
    if charset.lower() in {"utf-8", "utf8", "charset"}:
        return decode_utf8(data, name, error=error)
    try:
        return data.decode(charset)
    except (UnicodeError, LookupError):
        raise error(
            f"{name} is not in {charset[:20]}, as its header says; convert it: msgconv -t UTF-8"
        ) from None


def _read_messages(lines: Sequence[str]) -> Iterator[Message]:
    message = Message()
    for name, keyword_lines in _join_strings(lines):
        if message.forms and not name.startswith("msgstr"):
            yield message
            message = Message()
        if name:
            begins = name in {"msgctxt", "msgid"}
            if name in message.fields or not (begins or "msgid" in message.fields):
                raise _LineError(keyword_lines.start)
            message.fields[name] = keyword_lines
        elif flags := FLAGS.match(keyword_lines.text):
            message.flag_line = keyword_lines.start
            message.flags = [flag for each in flags["flags"].split(",") if (flag := each.strip())]
    if message.forms:
        yield message
    elif message.fields:
        raise _LineError(len(lines) - 1)


def _join_strings(lines: Sequence[str]) -> Iterator[tuple[str, KeywordLines]]:
    """Yield keywords with all their strings, and other lines with an empty keyword."""
    number = 0
    while number < len(lines):
        first, line = number, lines[number].removeprefix(BYTE_ORDER_MARK)
        number += 1
        if keyword := KEYWORD.match(line):
            strings = [keyword["string"]]
            while number < len(lines) and (more := CONTINUATION.match(lines[number])):
                strings.append(more["string"])
                number += 1
            yield keyword["name"], KeywordLines(first, number, _unescape("".join(strings)))
        elif line.strip() and not line.lstrip().startswith("#"):
            raise _LineError(first)
        else:
            yield "", KeywordLines(first, number, line)


def _unescape(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        octal, hexadecimal, sign = match.groups()
        if sign is not None:
            return ESCAPES.get(sign, sign)
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))

    return ESCAPED.sub(read, text)
