"""Messages of programs as GNU gettext keeps them, .po: a translation stands beside each message.

The file is edited in its own text, so that comments, order, wrapping and line ends stay as they
are. https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html
"""

import gettext
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from nmt_core.base.errors import DocumentError
from nmt_core.documents.declarations import check_language
from nmt_core.documents.messages import BRACES, read_message
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.po_files import FUZZY, Message, escape, parse_po

PLURALS = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;]+)")
LANGUAGE = re.compile(r'^("Language:[ \t]*)([^"\\]*)', re.MULTILINE)
"""Fields of the header."""

MOST_FORMS = 10
"""Maximum plural forms of a language; Arabic has six."""


@dataclass(frozen=True)
class _Plurals:
    """The plural forms of the language to translate into."""

    count: int = 0
    """How many; 0 if the file does not say it."""
    singular: int = 0
    """The number of the form for one thing; -1 if there is none."""


def read_po_file(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file; messages that are translated and not fuzzy, and obsolete ones, stay.

    Raises:
        DocumentError: if it is damaged, in another language, or has too long a message.
    """
    file = parse_po(data, "this document", DocumentError)
    plurals = _Plurals()
    for message in file.messages:
        if message.is_header and "msgstr" in message.fields:
            plurals = _read_header(message, file.lines, codes)
    parts: list[str | Unit] = []
    at = 0
    for message in file.messages:
        if _needs_translation(message):
            unit = _make_unit(message, file.lines, plurals)
            parts += ["".join(file.lines[at : message.first]), unit]
            at = message.last
    return UnitFile([*parts, "".join(file.lines[at:])], partial(_encode, charset=file.charset))


def _encode(text: str, charset: str) -> bytes:
    try:
        return text.encode("utf-8" if charset.upper() == "CHARSET" else charset)
    except UnicodeError:
        raise DocumentError(
            f"this document is in {charset[:20]}, which lacks characters of the translation; "
            f"convert it by msgconv -t UTF-8"
        ) from None


def _read_header(message: Message, lines: list[str], codes: LanguageCodes | None) -> _Plurals:
    """Return what the header says of plurals; write the language into it if it names none.

    Raises:
        DocumentError: if it names another one.
    """
    first, last, text = message.fields["msgstr"]
    for number in range(first, last):
        if codes and (language := LANGUAGE.match(lines[number])):
            check_language(language[2].strip(), codes[1], "translates into")
            if not language[2].strip():
                rest = lines[number][language.end() :]
                lines[number] = f"{language[1].rstrip()} {codes[1].replace('-', '_')}{rest}"
    plurals = PLURALS.search(text)
    if plurals is None or not 0 < int(plurals[1]) <= MOST_FORMS:
        return _Plurals()
    count = int(plurals[1])
    try:
        singular = gettext.c2py(plurals[2].strip())(1)
    except (ValueError, RecursionError, ZeroDivisionError):
        return _Plurals(count)
    return _Plurals(count, singular if count > 1 else -1)


def _needs_translation(message: Message) -> bool:
    """Tell whether a message has no translation that somebody has approved."""
    if not message.fields["msgid"].text:
        return False
    return FUZZY in message.flags or not all(message.fields[name].text for name in message.forms)


def _make_unit(message: Message, lines: Sequence[str], plurals: _Plurals) -> Unit:
    names = [name for name in ("msgid", "msgid_plural") if name in message.fields]
    has_formats = any(flag.endswith("-format") for flag in message.flags)
    return Unit(
        "".join(lines[message.first : message.last]),
        [read_message(message.fields[name].text) for name in names],
        lambda translation: "".join(_write(message, lines, plurals, translation)),
        is_bilingual=True,
        signs=BRACES + "%" if has_formats else BRACES,
    )


def _write(
    message: Message, lines: Sequence[str], plurals: _Plurals, translation: UnitTranslation
) -> Iterator[str]:
    """Yield a message with translations of the singular and, if there is one, of the plural."""
    texts, is_doubtful = translation
    line = lines[message.fields["msgid"].first]
    end = line[len(line.rstrip("\r\n")) :]
    at = message.first
    is_fuzzy = FUZZY in message.flags
    if is_doubtful != is_fuzzy:
        flags = [FUZZY] * is_doubtful + [flag for flag in message.flags if flag != FUZZY]
        yield f"#, {', '.join(flags)}{end}" if flags else ""
        at += message.flag_line is not None
    for number, name in enumerate(message.forms):
        first, last, text = message.fields[name]
        yield from lines[at:first]
        at = last
        if text and not is_fuzzy:
            yield from lines[first:last]
        else:
            before = lines[first].partition(name)[0] + name
            yield _write_string(before, texts[0 if number == plurals.singular else -1], end)
    if "msgid_plural" in message.fields:
        for number in range(len(message.forms), plurals.count):
            text = texts[0 if number == plurals.singular else -1]
            yield _write_string(f"msgstr[{number}]", text, end)


def _write_string(before: str, text: str, end: str) -> str:
    """Return a keyword with a text; one with several lines has each on a line of its own."""
    written = [f'"{escape(line)}"{end}' for line in text.splitlines(keepends=True)] or [f'""{end}']
    if len(written) > 1:
        written.insert(0, f'""{end}')
    return f"{before} {''.join(written)}"
