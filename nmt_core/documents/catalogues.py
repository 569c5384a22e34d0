"""Message catalogues: .po of GNU gettext, and JSON such as that of i18next or Flutter (.arb).

Only the translated strings of a file change, so comments, order, wrapping and newlines stay. In
JSON, all strings are translated except keys and the metadata of Flutter.
https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html
https://github.com/google/app-resource-bundle/wiki/ApplicationResourceBundleSpecification
"""

import gettext
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from nmt_core.base.errors import DocumentError
from nmt_core.base.files import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.document import Document, Untranslated
from nmt_core.documents.messages import BRACES, check_language, make_file, make_unit, read_message
from nmt_core.documents.segments import Part
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.po_files import FUZZY, Message, escape, parse_po

PLURALS = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;]+)")
LANGUAGE = re.compile(r'^("Language:[ \t]*)([^"\\]*)', re.MULTILINE)
"""Fields of the header."""

MAX_FORMS = 10
"""Maximum number of plural forms of a language; Arabic has six."""

STRING = r'"(?:[^"\\]|\\.)*+"'
TOKEN = re.compile(
    rf"(?:(?P<key>{STRING})\s*:\s*)?(?:(?P<value>{STRING})(?!\s*:)|(?P<open>[{{\[]))|(?P<close>[}}\]])|{STRING}|\"(?s:.*)"
)
"""A string or the start of an object or list, with its key; an end; the key of a number; or the
rest of the text after an unfinished string, so that no character is read twice."""

METADATA, GLOBAL_METADATA, LOCALE = "@", "@@", "@@locale"
"""Beginnings of Flutter's keys about a message and about the file; the key of its language."""

_Plurals = tuple[int, int]
"""The number of plural forms, or 0, and the index of the singular, or -1."""


def read_po_file(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Return the messages without translation and the fuzzy ones; others do not change."""
    file = parse_po(data, "this document", DocumentError)
    plurals = (0, 0)
    for message in file.messages:
        if message.is_header and "msgstr" in message.fields:
            plurals = _read_header(message, file.lines, codes)
    untranslated = Untranslated()
    parts: list[Part] = []
    at = 0
    for message in file.messages:
        if _needs_translation(message):
            unit = _make_unit(message, file.lines, plurals, untranslated)
            parts += ["".join(file.lines[at : message.start]), unit]
            at = message.end
    parts.append("".join(file.lines[at:]))
    return make_file(parts, partial(_encode, charset=file.charset), untranslated)


def _encode(text: str, charset: str) -> bytes:
    try:
        return text.encode("utf-8" if charset.upper() == "CHARSET" else charset)
    except UnicodeError:
        raise DocumentError(
            f"this document is in {charset[:20]}, which cannot encode the translation; "
            f"convert it with msgconv -t UTF-8"
        ) from None


def _read_header(message: Message, lines: list[str], codes: LanguageCodes | None) -> _Plurals:
    """Return the plural forms of a header; write the target language into it if it is missing."""
    first, last, text = message.fields["msgstr"]
    for number in range(first, last):
        if codes and (language := LANGUAGE.match(lines[number])):
            check_language(language[2].strip(), codes[1], "translates into")
            if not language[2].strip():
                ending = lines[number][language.end() :]
                lines[number] = f"{language[1].rstrip()} {codes[1].replace('-', '_')}{ending}"
    plurals = PLURALS.search(text)
    if plurals is None or not 0 < int(plurals[1]) <= MAX_FORMS:
        return 0, 0
    count = int(plurals[1])
    try:
        singular = gettext.c2py(plurals[2].strip())(1)
    except (ValueError, RecursionError, ZeroDivisionError):
        return count, 0
    return count, singular if count > 1 else -1


def _needs_translation(message: Message) -> bool:
    """Return whether a message has no approved translation."""
    if not message.fields["msgid"].text:
        return False
    return FUZZY in message.flags or not all(message.fields[name].text for name in message.forms)


def _make_unit(
    message: Message, lines: Sequence[str], plurals: _Plurals, untranslated: Untranslated
) -> Part:
    names = [name for name in ("msgid", "msgid_plural") if name in message.fields]
    has_formats = any(flag.endswith("-format") for flag in message.flags)
    return make_unit(
        "".join(lines[message.start : message.end]),
        [read_message(message.fields[name].text, untranslated) for name in names],
        partial(_write, message=message, lines=lines, plurals=plurals),
        untranslated,
        is_bilingual=True,
        signs=BRACES + "%" if has_formats else BRACES,
    )


def _write(
    texts: Sequence[str],
    *,
    is_doubtful: bool,
    message: Message,
    lines: Sequence[str],
    plurals: _Plurals,
) -> str:
    """Return a message with the translations of its singular and plural, if any."""
    line = lines[message.fields["msgid"].start]
    end = line[len(line.rstrip("\r\n")) :]
    at = message.start
    is_fuzzy = FUZZY in message.flags
    written = []
    if is_doubtful != is_fuzzy:
        flags = [FUZZY] * is_doubtful + [flag for flag in message.flags if flag != FUZZY]
        written = [f"#, {', '.join(flags)}{end}"] if flags else []
        at += message.flag_line is not None
    forms, singular = plurals
    for number, name in enumerate(message.forms):
        first, last, text = message.fields[name]
        written += lines[at:first]
        at = last
        if text and not is_fuzzy:
            written += lines[first:last]
        else:
            before = lines[first].partition(name)[0] + name
            written.append(_write_string(before, texts[0 if number == singular else -1], end))
    for number in range(len(message.forms), forms) if "msgid_plural" in message.fields else ():
        text = texts[0 if number == singular else -1]
        written.append(_write_string(f"msgstr[{number}]", text, end))
    return "".join(written)


def _write_string(before: str, text: str, end: str) -> str:
    """Return a keyword with its text, one string per line of the text."""
    written = [f'"{escape(line)}"{end}' for line in text.splitlines(keepends=True)] or [f'""{end}']
    if len(written) > 1:
        written.insert(0, f'""{end}')
    return f"{before} {''.join(written)}"


def read_json_strings(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Return the strings of a JSON file; in ``@@locale``, the target replaces the source."""
    text = decode_utf8(data, "this document", error=DocumentError)
    try:
        names = json.loads(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply or a number too long")
        line = getattr(error, "lineno", 1)
        raise DocumentError(
            f"line {line} of this document is not valid JSON ({reason}); correct this line"
        ) from None
    untranslated = Untranslated()
    parts: list[Part] = []
    last = 0
    metadata = {METADATA + name for name in names} if isinstance(names, dict) else set()
    for keys, start, end in _find_values(text):
        parts.append(text[last:start])
        raw, name = text[start:end], "".join(keys[1:2])
        if keys == ["", LOCALE] and codes and (locale := json.loads(raw)):
            check_language(locale, codes[0], "is in")
            parts.append(json.dumps(codes[1].replace("-", "_")))
        elif name.startswith(GLOBAL_METADATA) or (keys[2:] and name in metadata):
            parts.append(raw)
        else:
            message = read_message(json.loads(raw), untranslated)
            write = partial(_write_json, is_ascii=raw.isascii() and "\\u" in raw)
            parts.append(make_unit(raw, [message], write, untranslated))
        last = end
    return make_file([*parts, text[last:]], str.encode, untranslated)


def _find_values(text: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield the keys of each string value, outermost first, and its start and end."""
    keys: list[str] = []  # of open objects and lists; empty for list items and the root
    for match in TOKEN.finditer(text):
        key = json.loads(match["key"]) if match["key"] else ""
        if match["value"]:
            yield [*keys, key], *match.span("value")
        elif match["open"]:
            keys.append(key)
        elif match["close"]:
            keys.pop()


def _write_json(texts: Sequence[str], *, is_doubtful: bool, is_ascii: bool) -> str:
    del is_doubtful  # JSON cannot mark a string
    return json.dumps(texts[0], ensure_ascii=is_ascii)
