"""Localised strings in YAML, as Rails and others keep them; the file is edited in its own text."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import yaml
from yaml.reader import Reader

from nmt_core.base.errors import DocumentError
from nmt_core.base.utf8 import decode_utf8
from nmt_core.documents.messages import check_length, read_message
from nmt_core.documents.passage import BREAK
from nmt_core.documents.pieces import Piece, TextDocument, Type, make_parts, write_plainly
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.units import LanguageCodes, Unit, UnitFile, UnitTranslation
from nmt_core.text.language_codes import pick_code

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one of libyaml, where it was built, is ten times as fast."""

STRING = "tag:yaml.org,2002:str"
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
BODY = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
LINE = re.compile(r"(\s*?)(\S[^\r\n]*?)?([ \t]*(?:\r\n|\r|\n|\Z))")
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
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    parts: list[str | Unit] = [mark]
    last = 0
    for start, end, part in _read_parts(text, codes):
        parts += [text[last:start], part]
        last = end
    return UnitFile([*parts, text[last:]], str.encode)


def _parse(text: str) -> list[Any]:
    try:
        return list(yaml.parse(text, Loader=LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        told = getattr(error, "problem", None) or "a character that it forbids"
        raise DocumentError(
            f"line {mark.line + 1 if mark else 1} of this document is no YAML ({told}); "
            f"repair it there"
        ) from None


def _read_parts(text: str, codes: LanguageCodes | None) -> Iterator[tuple[int, int, str | Unit]]:
    """Yield where each string begins and ends that is no key, and its unit; the root's key, too."""
    inside: list[bool | None] = []  # of a mapping, whether a key comes next; of a list, None
    roots = 0
    resolver = yaml.SafeLoader("")
    for event in _parse(text):
        if isinstance(event, yaml.CollectionEndEvent):
            inside.pop()
        elif isinstance(event, yaml.NodeEvent):
            is_key = bool(inside and inside[-1])
            if inside and inside[-1] is not None:
                inside[-1] = not is_key
            if isinstance(event, yaml.CollectionStartEvent):
                inside.append(True if isinstance(event, yaml.MappingStartEvent) else None)
            elif isinstance(event, yaml.ScalarEvent):
                start, end = event.start_mark.index, event.end_mark.index
                properties = PROPERTIES.match(text, start, end)
                start = properties.end() if properties and (event.anchor or event.tag) else start
                tag = event.tag or resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
                if is_key and len(inside) == 1:
                    roots += 1
                    if codes and roots == 1 and pick_code([event.value], codes[0]) is not None:
                        ...
                elif not is_key and tag == STRING:
                    yield start, end, _read_string(event, text[start:end])
