"""Repairs of damaged text: mojibake, entities and tags of HTML."""

import html
import re
from collections.abc import Callable, Collection, Mapping
from typing import Literal

from nmt_core.base.raw_lines import fix_mojibake

RepairName = Literal["mojibake", "entities", "tags"]
"""Problems of a line that can be repaired."""

MAX_ENTITY_CHARACTERS = 2
"""Maximum length of the text of an entity; longer text is a shorter entity with text after it."""

_ENTITY = re.compile("&(?:[A-Za-z]{2}[A-Za-z0-9]{0,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_TAG = re.compile(
    r"</?(?P<name>[a-z][a-z1-6]?|body|center|code|div|font|html|img|pre|small|span|strike|strong|"
    r"su[bp]|table|tbody)(?:\s+[a-z:-]+=(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*\s*/?>",
    re.IGNORECASE,
)
"""A tag of HTML or of a translation tool, but not a placeholder such as ``<name>``."""

_INLINE = re.compile("[abgiqsux]|b[px]|code|e[mpx]|font|it|ph|s(?:mall|pan|trong|u[bp])|tt")
_SPACES = re.compile("  +")


def unescape_entities(line: str) -> str:
    """Return a line with entities replaced, including entities that are escaped repeatedly."""
    while "&" in line and (unescaped := _ENTITY.sub(_unescape, line)) != line:
        line = unescaped
    return line


def remove_tags(line: str) -> str:
    """Return a line without tags; block and break tags become a space."""
    if "<" not in line or (without_tags := _TAG.sub(_space, line)) == line:
        return line
    return _SPACES.sub(" ", without_tags).strip()


REPAIRS: Mapping[RepairName, Callable[[str], str]] = {
    "mojibake": fix_mojibake,
    "entities": unescape_entities,
    "tags": remove_tags,
}
"""Repairs in order: an entity may encode the character that begins a tag."""


def repair_line(line: str, names: Collection[RepairName]) -> tuple[str, list[RepairName]]:
    """Return a repaired line, and the names of the repairs that changed it."""
    applied: list[RepairName] = []
    for name, repair in REPAIRS.items():
        if name in names and (repaired := repair(line)) != line:
            applied.append(name)
            line = repaired
    return line, applied


def _unescape(entity: re.Match[str]) -> str:
    text = html.unescape(entity[0])
    return text if len(text) <= MAX_ENTITY_CHARACTERS else entity[0]


def _space(tag: re.Match[str]) -> str:
    return "" if _INLINE.fullmatch(tag["name"].lower()) else " "
