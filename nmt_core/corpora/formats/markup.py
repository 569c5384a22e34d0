"""Read XML element by element, in constant memory; whatever defines entities is refused."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import explain_damage, open_raw

Element = Any
"""Of lxml."""

ENTITY = b"<!ENTITY"
HEAD_BYTES = 1 << 16
"""Of a file, where definitions of entities stand, in UTF-16, too, but for its zeros."""

_BREAKS = ("lb", "xlf:lb")
"""Types of codes for line ends, of TMX, XLIFF 1.2 and XLIFF 2."""

_BREAK = re.compile(r"(?:<br\s*/?>|\\n|)", re.IGNORECASE)
"""The text that a code for a line end displays, without surrounding white space."""

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def iterate_elements(path: Path, names: Collection[str]) -> Iterator[Element]:
    """Yield elements of some local names at their ends; each is forgotten when the next comes.

    Raises:
        CorpusError: if the file is no XML, is damaged, or defines entities, which may make a small
            file large and read other files.
    """
    with explain_damage(path), open_raw(path) as file:
        events = etree.iterparse(
            file,
            events=("end",),
            tag=[f"{{*}}{name}" for name in names],
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
        )
        checked = False
        try:
            for _, element in events:
                if not checked:
                    _refuse_entities(element, path)
                    checked = True
                yield element
                _forget(element)
        except etree.XMLSyntaxError as error:
            with open_raw(path) as beginning:  # a bomb fails where it is used, before any element
                if ENTITY in beginning.read(HEAD_BYTES).replace(b"\0", b""):
                    raise _refuse(path) from None
            raise CorpusError(
                f"{path} line {error.lineno} is no well-formed XML "
                f"({' '.join(error.msg.split())}); "
                f"write the file anew, or repair it there"
            ) from None


def join_text(element: Element, kept: Collection[str]) -> str:
    """Return the text of an element, without the codes that stand for markup.

    Args:
        element: a segment.
        kept: local names of the elements in it whose text is text of the segment.
    """
    if element is None:
        return ""
    if not len(element):
        return element.text or ""
    parts = [element.text or ""]
    for child in element:
        name = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if name in kept:
            parts.append(join_text(child, kept))
        elif name == "cp":  # of XLIFF 2, a character that XML forbids
            parts.append(_read_character(child.get("hex", "")))
        elif _is_break(child):
            parts.append(" ")
        parts.append(child.tail or "")
    return "".join(parts)


def _is_break(code: Element) -> bool:
    """Tell whether a code stands for a line end, which parts words."""
    kinds = (code.get("type"), code.get("ctype"), code.get("subType"))
    shown = (code.text, code.get("equiv-text"), code.get("equiv"))
    return any(kind in _BREAKS for kind in kinds) or any(
        _BREAK.fullmatch(text.strip()) for text in shown if text
    )


def _read_character(digits: str) -> str:
    try:
        return chr(int(digits, 16))
    except (ValueError, OverflowError):
        return ""


def _refuse_entities(element: Element, path: Path) -> None:
    defined = element.getroottree().docinfo.internalDTD
    if defined is not None and any(True for _ in defined.iterentities()):
        raise _refuse(path)


def _refuse(path: Path) -> CorpusError:
    return CorpusError(f"{path} defines entities, which text never needs; write it without")


def _forget(element: Element) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
