"""Localised strings in YAML, as Rails and others keep them; the file is edited in its own text."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import yaml
from yaml.reader import Reader

from nmt_core.base.errors import DocumentError
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.messages import TAG, check_length, read_message
from nmt_core.documents.passage import BREAK
from nmt_core.documents.pieces import Piece, TextDocument, Type, make_parts, write_plainly
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation
from nmt_core.text.language_codes import LanguageCodes, pick_code

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one of libyaml, where it was built, is ten times as fast."""

RESOLVER: Any = yaml.SafeLoader("")
DEEPEST = 100
"""Collections within each other; parsers take the square of their number."""

BLOCKS = ("|", ">")
STRING = "tag:yaml.org,2002:str"
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
LINE = re.compile(r"([ \t]*)([^\r\n]*?)([ \t]*(?:\r\n|\r|\n|\Z))")
"""Indentation, text, and the rest."""

PLAIN = re.compile(r"[^\W\d_](?:[^\r\n:#,\[\]{}]*[^\s:#,\[\]{}])?")
"""What needs no quotes, wherever it stands, unless it says something else, as *no* does."""


def read_yaml_strings(data: bytes, codes: LanguageCodes | None) -> UnitFile:
    """Read a file of strings; all are translated, and no keys.

    Args:
        data: the file.
        codes: of source and target, if they are known; where all stands under the source's, as in
            Rails, the target takes its place.

    Raises:
        DocumentError: if it is no YAML, or has too long a string.
    """
    text = decode_utf8(data, "this document", error=DocumentError)
    mark = text[: text.startswith(BYTE_ORDER_MARK)]
    text = text.removeprefix(mark)
    parts: list[str | Unit] = [mark]
    last = 0
    for start, end, part in sorted(_find_parts(text, codes), key=lambda found: found[0]):
        parts += [text[last:start], part]
        last = end
    return UnitFile([*parts, text[last:]], str.encode)


def _parse(text: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        told = getattr(error, "problem", None) or "a character that it forbids"
        raise DocumentError(
            f"line {mark.line + 1 if mark else 1} of this document is no YAML ({told}); "
            f"repair it there"
        ) from None


def _find_parts(text: str, codes: LanguageCodes | None) -> Iterator[tuple[int, int, str | Unit]]:
    """Yield where each string begins and ends that is no key, and its unit; then the root's key."""
    roots: list[tuple[int, int, str]] = []
    for event, depth, is_key in _walk(text):
        start, end = _find_value(event, text)
        if is_key and depth == 1:
            roots.append((start, end, event.value))
        elif not is_key and (event.tag or _resolve(event.value, event.implicit)) == STRING:
            yield start, end, _read_string(event, text[start:end])
    for start, end, code in roots:
        if codes and len(roots) == 1 and pick_code([code], codes[0]) is not None:
            yield start, end, text[start:end].replace(code, codes[1])


def _walk(text: str) -> Iterator[tuple[Any, int, bool]]:
    """Yield each scalar, in how many collections it stands, and whether it is a key."""
    inside: list[bool | None] = []  # of a mapping, whether a key comes next; of a list, None
    for event in _parse(text):
        if isinstance(event, yaml.CollectionEndEvent):
            inside.pop()
        elif isinstance(event, yaml.NodeEvent):
            is_key = bool(inside and inside[-1])
            if inside and inside[-1] is not None:
                inside[-1] = not is_key
            if isinstance(event, yaml.CollectionStartEvent):
                if len(inside) == DEEPEST:
                    raise DocumentError(f"this document nests deeper than {DEEPEST}; repair it")
                inside.append(True if isinstance(event, yaml.MappingStartEvent) else None)
            elif isinstance(event, yaml.ScalarEvent):
                yield event, len(inside), is_key


def _find_value(event: Any, text: str) -> tuple[int, int]:
    """Return where a value begins, without its anchor and tag, and ends."""
    start, end = event.start_mark.index, event.end_mark.index
    if event.anchor or event.tag:
        before = PROPERTIES.match(text, start, end)
        assert before
        start = before.end()
    return start, end


def _resolve(text: str, implicit: tuple[bool, bool] = (True, False)) -> str:
    """Return the tag of a scalar, which says what it is by how it is written: plain, or not."""
    tag: str = RESOLVER.resolve(yaml.ScalarNode, text, implicit)
    return tag


def _read_string(event: Any, raw: str) -> Unit:
    if event.style in BLOCKS:
        check_length(raw)
        head, end, body = re.split(r"(\r\n|\r|\n|\Z)", raw, maxsplit=1)
        is_folded = event.style == ">" and not TAG.search(body)
        text = _read_folded(body) if is_folded else read_message(body)
        return Unit(raw, [text], lambda translation: head + end + _drop(translation.texts[0]))
    return Unit(raw, [read_message(event.value)], partial(_write, style=event.style))


def _read_folded(body: str) -> TextDocument:
    """Read a text whose lines are one, but for blank ones and those that stand further in."""
    pieces = []
    lines = [match.groups() for match in LINE.finditer(body) if match[0]]
    indents = [len(indent) for indent, said, _ in lines if said]
    for number, (indent, said, end) in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ("", "", "")
        pieces += [Piece(Type.TEXT, said, said)] if said else []
        goes_on = said and after[1] and len(indent) == len(after[0]) == min(indents)
        if number == 0:
            pieces.insert(0, Piece(Type.WALL, indent))
        pieces.append(Piece(Type.LINE_END if goes_on else Type.WALL, end + after[0], BREAK))
    return TextDocument(make_parts(pieces, write_plainly))


def _write(translation: UnitTranslation, *, style: str | None) -> str:
    text = _drop(translation.texts[0])
    if style == "'" and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    if not style and PLAIN.fullmatch(text) and _resolve(text) == STRING:
        return text
    return json.dumps(text, ensure_ascii=False)


def _drop(text: str) -> str:
    """Return a text without characters that YAML forbids."""
    return Reader.NON_PRINTABLE.sub("", text)
