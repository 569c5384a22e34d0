"""Messages of programs as GNU gettext keeps them, .po: a translation stands beside each message.

The file is edited in its own text, so that comments, order, wrapping and line ends stay as they
are. https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html
"""

import gettext
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.messages import read_message
from nmt_core.documents.placeholders import BRACES
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation, check_language
from nmt_core.text.language_codes import LanguageCodes

CHARSET = re.compile(
    rb'^(?:msgstr\s*)?"(?:[^"\n]*\\n)?Content-Type:[^"\n]*?charset=([\w.:-]+)',
    re.MULTILINE | re.IGNORECASE,
)
PLURALS = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;]+)")
LANGUAGE = re.compile(r'^("Language:[ \t]*)([^"\\]*)', re.MULTILINE)
"""Fields of the header."""

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
STRING = r'"(?P<string>(?:[^"\\\r\n]|\\.)*)"\s*$'
KEYWORD = re.compile(rf"\s*(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d\d?\])?)\s*{STRING}")
MORE = re.compile(rf"\s*{STRING}")
FLAGS = re.compile(r"#,(?P<flags>.*)")
ESCAPED = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
TO_ESCAPE = re.compile(r'[\x00-\x1f"\\]')
SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
CODES = {sign: f"\\{code}" for code, sign in SIGNS.items()}

FUZZY = "fuzzy"
MOST_FORMS = 10
"""Plural forms of a language; six is the most that one has."""


class _Lines(NamedTuple):
    """The lines of a keyword with its strings."""

    first: int
    last: int
    """The first line after it."""
    text: str


@dataclass
class _Entry:
    """A message."""

    fields: dict[str, _Lines] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    flag_line: int | None = None
    """The number of the line of its flags."""

    @property
    def first(self) -> int:
        """The number of its first line: that of its flags, or of a keyword."""
        if self.flag_line is not None:
            return self.flag_line
        return min(lines.first for lines in self.fields.values())

    @property
    def last(self) -> int:
        """The number of the first line after it."""
        return max(lines.last for lines in self.fields.values())

    @property
    def forms(self) -> list[str]:
        """The names of its translations."""
        return [name for name in self.fields if name.startswith("msgstr")]


@dataclass(frozen=True)
class _Plurals:
    """The plural forms of the language to translate into."""

    count: int = 0
    """How many; 0 if the file does not say it."""
    singular: int = 0
    """The number of the form for one thing; -1 if there is none."""


def read_po_file(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file of messages.

    Those that are translated and not fuzzy, and obsolete ones, stay as they are.

    Args:
        data: the file.
        codes: of the languages of messages and translations, if they are known.

    Raises:
        DocumentError: if it is no such file, translates into another language, or has too long a
            message.
    """
    found = CHARSET.search(data)
    charset = found[1].decode() if found else "utf-8"
    lines = [match[0] for match in LINE.finditer(_decode(data, charset)) if match[0]]
    entries = [*_read_entries(lines)]
    plurals = _Plurals()
    for entry in entries:
        if not entry.fields["msgid"].text and "msgctxt" not in entry.fields:
            plurals = _read_header(entry, lines, codes)
    parts: list[str | Unit] = []
    at = 0
    for entry in entries:
        if _wants_translation(entry):
            unit = _make_unit(entry, lines, plurals)
            parts += ["".join(lines[at : entry.first]), unit]
            at = entry.last
    return UnitFile([*parts, "".join(lines[at:])], partial(_encode, charset=charset))


def _decode(data: bytes, charset: str) -> str:
    if charset.lower() in {"utf-8", "utf8", "charset"}:
        return decode_utf8(data, "this document", error=DocumentError)
    try:
        return data.decode(charset)
    except (UnicodeError, LookupError):
        raise DocumentError(
            f"this document is not in {charset[:20]}, as it says; convert it by msgconv -t UTF-8"
        ) from None


def _encode(text: str, charset: str) -> bytes:
    try:
        return text.encode("utf-8" if charset.upper() == "CHARSET" else charset)
    except UnicodeError:
        raise DocumentError(
            f"this document is in {charset[:20]}, which lacks characters of the translation; "
            f"convert it by msgconv -t UTF-8"
        ) from None


def _read_entries(lines: Sequence[str]) -> Iterator[_Entry]:
    """Yield the messages.

    Raises:
        DocumentError: naming the line that is none of such a file.
    """
    entry = _Entry()
    for name, found in _join_strings(lines):
        if entry.forms and not name.startswith("msgstr"):
            yield entry
            entry = _Entry()
        if name:
            begins = name in {"msgctxt", "msgid"}
            if name in entry.fields or not (begins or "msgid" in entry.fields):
                raise _refuse(found.first)
            entry.fields[name] = found
        elif flags := FLAGS.match(found.text):
            entry.flag_line = found.first
            entry.flags = [flag for each in flags["flags"].split(",") if (flag := each.strip())]
    if entry.forms:
        yield entry
    elif entry.fields:
        raise _refuse(len(lines) - 1)


def _join_strings(lines: Sequence[str]) -> Iterator[tuple[str, _Lines]]:
    """Yield each keyword with all its strings, and other lines, whose keyword is empty.

    Raises:
        DocumentError: naming the line that is none of such a file.
    """
    number = 0
    while number < len(lines):
        first, line = number, lines[number].removeprefix(BYTE_ORDER_MARK)
        number += 1
        if keyword := KEYWORD.match(line):
            strings = [keyword["string"]]
            while number < len(lines) and (more := MORE.match(lines[number])):
                strings.append(more["string"])
                number += 1
            yield keyword["name"], _Lines(first, number, _unescape("".join(strings)))
        elif line.strip() and not line.lstrip().startswith("#"):
            raise _refuse(first)
        else:
            yield "", _Lines(first, number, line)


def _refuse(number: int) -> DocumentError:
    return DocumentError(
        f"line {number + 1} of this document is not as in a .po file; check it by msgfmt -c"
    )


def _unescape(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        octal, hexadecimal, sign = match.groups()
        if sign is not None:
            return SIGNS.get(sign, sign)
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))

    return ESCAPED.sub(read, text)


def _escape(text: str) -> str:
    return TO_ESCAPE.sub(
        lambda match: (
            CODES.get(match[0])
            or (f"\\{match[0]}" if match[0] in '"\\' else f"\\{ord(match[0]):03o}")
        ),
        text,
    )


def _read_header(entry: _Entry, lines: list[str], codes: LanguageCodes | None) -> _Plurals:
    """Return what the header says of plurals; write the language into it if it names none.

    Raises:
        DocumentError: if it names another one.
    """
    if "msgstr" not in entry.fields:
        return _Plurals()
    first, last, text = entry.fields["msgstr"]
    for number in range(first, last):
        if codes and (language := LANGUAGE.match(lines[number])):
            check_language(language[2].strip(), codes[1], "translates into")
            if not language[2].strip():
                rest = lines[number][language.end() :]
                lines[number] = f"{language[1].rstrip()} {codes[1].replace('-', '_')}{rest}"
    found = PLURALS.search(text)
    if found is None or not 0 < int(found[1]) <= MOST_FORMS:
        return _Plurals()
    count = int(found[1])
    try:
        singular = gettext.c2py(found[2].strip())(1)
    except (ValueError, RecursionError, ZeroDivisionError):
        return _Plurals(count)
    return _Plurals(count, singular if count > 1 else -1)


def _wants_translation(entry: _Entry) -> bool:
    """Tell whether a message has no translation that somebody has approved."""
    if not entry.fields["msgid"].text:
        return False
    return FUZZY in entry.flags or not all(entry.fields[name].text for name in entry.forms)


def _make_unit(entry: _Entry, lines: Sequence[str], plurals: _Plurals) -> Unit:
    names = [name for name in ("msgid", "msgid_plural") if name in entry.fields]
    formats = [flag for flag in entry.flags if flag.endswith("-format")]

    def write(translation: UnitTranslation) -> str:
        return "".join(_write(entry, lines, plurals, translation))

    return Unit(
        "".join(lines[entry.first : entry.last]),
        [read_message(entry.fields[name].text) for name in names],
        write,
        is_bilingual=True,
        signs=BRACES + "%" if formats else BRACES,
    )


def _write(
    entry: _Entry,
    lines: Sequence[str],
    plurals: _Plurals,
    translation: UnitTranslation,
) -> Iterator[str]:
    """Yield a message with translations of the singular and, if there is one, of the plural."""
    translations, doubtful = translation
    line = lines[entry.fields["msgid"].first]
    end = line[len(line.rstrip("\r\n")) :]
    at = entry.first
    if doubtful or FUZZY in entry.flags:
        flags = [FUZZY] * doubtful + [flag for flag in entry.flags if flag != FUZZY]
        if doubtful and FUZZY in entry.flags:
            flags = entry.flags
        yield f"#, {', '.join(flags)}{end}" if flags else ""
        at += entry.flag_line is not None
    for number, name in enumerate(entry.forms):
        first, last, text = entry.fields[name]
        yield from lines[at:first]
        at = last
        if text and FUZZY not in entry.flags:
            yield from lines[first:last]
        else:
            before = lines[first].partition(name)[0] + name
            yield _write_string(before, _choose(translations, number, plurals), end)
    if "msgid_plural" in entry.fields:
        for number in range(len(entry.forms), plurals.count):
            yield _write_string(f"msgstr[{number}]", _choose(translations, number, plurals), end)


def _choose(translations: Sequence[str], number: int, plurals: _Plurals) -> str:
    """Return the translation for a plural form: that of the singular or of the plural."""
    return translations[0] if number == plurals.singular else translations[-1]


def _write_string(before: str, text: str, end: str) -> str:
    """Return a keyword with a text; one with several lines has each on a line of its own."""
    written = [f'"{_escape(line)}"{end}' for line in text.splitlines(keepends=True)] or [f'""{end}']
    if len(written) > 1:
        written.insert(0, f'""{end}')
    return f"{before} {''.join(written)}"
