"""Word documents (.docx): the text of paragraphs is translated, all else stays as it is.

Formatting and links are put around the translations of their words. A document is an archive; files
that hold text are read, the others are copied.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any

from lxml import etree

from nmt_core.base.errors import DocumentError
from nmt_core.documents.archive import ArchiveKind, read_archive, write_archive
from nmt_core.documents.passage import Item, Mark, Passage
from nmt_core.documents.pieces import Piece, Segment, Type, join_pieces, write_plainly
from nmt_core.documents.xml_pieces import NO_XML

Element = Any
"""Of lxml, which takes 20 ms to import."""

WORD = ArchiveKind(
    "Word document",
    ".docx",
    re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml"),
)

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
"""Another name for the same, in files that Word saves as "Strict Open XML"."""

XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def _name(names: str) -> frozenset[str]:
    return frozenset(f"{W}{name}" for name in names.split())


CONTAINERS = _name("hyperlink ins moveTo smartTag dir bdo fldSimple")
"""Elements that hold runs of text and may occur within a sentence."""

CONTROL, CONTENT = f"{W}sdt", f"{W}sdtContent"
"""A content control, and the element of it that holds its text."""

CHOSEN = re.compile(r"comboBox|dropDownList|date|checkbox|picture|equation|docPart\w+|repeating\w+")
"""What its properties name where nobody types its text; such a text is no part of a sentence."""

RANGES = _name("bookmarkStart bookmarkEnd commentRangeStart commentRangeEnd")
"""Ends of ranges; those in a paragraph that is translated come to hold all of it."""

HINTS = _name("proofErr lastRenderedPageBreak")
"""Elements that Word computes from the text, and computes anew."""

PROPERTIES = _name("pPr rPr smartTagPr sdtPr sdtEndPr")
WALLS = _name("br cr tab ptab")
INVISIBLE_PROPERTIES = _name("lang noProof rPrChange")
"""Properties of runs that do not change their looks."""

FORMAT, FIELD = "format", "field"


class WordDocument:
    """A Word document."""

    def __init__(self, data: bytes) -> None:
        """Read a document.

        Raises:
            DocumentError: if it is none, holds macros, is encrypted, or unpacks to too much.
        """
        texts = read_archive(data, WORD)
        self._data = data
        self._roots = {name: _read(text, name) for name, text in texts.items()}
        self._blocks = {
            name: [_Block(each) for each in _find_blocks(root)]
            for name, root in self._roots.items()
        }
        self._segments = [
            part
            for block in chain.from_iterable(self._blocks.values())
            for part in block.parts
            if isinstance(part, Segment)
        ]

    @property
    def passages(self) -> list[Passage]:
        """The passages to translate."""
        return [segment.passage for segment in self._segments]

    def write(self, translations: Sequence[tuple[Item, ...]]) -> bytes:
        """Return the document with translations of its passages; to be called once."""
        by_segment = dict(zip(self._segments, translations, strict=True))
        changed = {
            name
            for name, blocks in self._blocks.items()
            if sum(block.write(by_segment) for block in blocks)
        }
        return write_archive(self._data, {name: _to_bytes(self._roots[name]) for name in changed})


def _read(data: bytes, name: str) -> Element:
    """Return the root of a file; refuse entities, which may make a small file large."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError(
            f"{name} of this document is damaged ({error.msg}); save it anew as .docx"
        ) from None
    if root.getroottree().docinfo.doctype:
        raise DocumentError(f"{name} of this document defines entities; save it anew as .docx")
    if root.tag.startswith(STRICT):
        raise DocumentError(
            'this document is "Strict Open XML", which is not read; save it as "Word Document"'
        )
    return root


def _to_bytes(root: Element) -> bytes:
    return etree.tostring(root, encoding="UTF-8", standalone=True)


def _find_blocks(root: Element) -> Iterator[Element]:
    """Yield the elements that hold runs of text: paragraphs, and content controls apart."""
    for element in root.iter(f"{W}p", CONTENT):
        if not _find_inner(element.getparent()) and _has_runs(element):
            yield element


def _has_runs(element: Element) -> bool:
    return any(child.tag in CONTAINERS | {f"{W}r"} or _find_inner(child) for child in element)


def _find_inner(element: Element) -> Sequence[Element]:
    """Return the elements with the text of what may stand in a sentence, at most one; of no other.

    Of a content control it is its content, if somebody types it amid a paragraph.
    """
    if element.tag in CONTAINERS:
        return [element]
    content = element.find(CONTENT) if element.tag == CONTROL else None
    if content is None or element.getparent().tag not in CONTAINERS | {f"{W}p", CONTENT}:
        return []
    properties = element.find(f"{W}sdtPr")
    names = () if properties is None else (etree.QName(each).localname for each in properties)
    is_typed = not any(map(CHOSEN.fullmatch, names))
    return [content] if is_typed and _has_runs(content) else []


@dataclass
class _Xml(Piece):
    """A piece of a block: elements, or a change of formatting."""

    elements: Sequence[Element] = ()
    format: Element = None
    """The properties of its run; none is a format, too."""
    in_run: bool = False
    """Whether the elements stand in a run."""


class _Block:
    """A paragraph, or the content of a form field."""

    def __init__(self, element: Element) -> None:
        self.element = element
        pieces = list(_join_fields(_find_pieces(element)))
        lengths: Counter[str] = Counter()
        formats: dict[str, Element] = {}
        for piece in pieces:
            lengths[_identify(piece.format)] += len(piece.text)
            formats.setdefault(_identify(piece.format), piece.format)
        self.usual = lengths.most_common(1)[0][0] if lengths else ""
        self.format = formats.get(self.usual)
        self.parts = list(join_pieces(list(self._mark_formats(pieces)), write_plainly))

    def _mark_formats(self, pieces: Iterable[_Xml]) -> Iterator[_Xml]:
        """Yield the pieces, with a pair around texts whose format differs from most."""
        current = self.usual
        for piece in pieces:
            wanted = _identify(piece.format) if piece.is_text else self.usual
            if wanted != current:
                if current != self.usual:
                    yield _Xml(Type.CLOSE, "", name=FORMAT + current)
                if wanted != self.usual:
                    yield _Xml(Type.OPEN, "", name=FORMAT + wanted, format=piece.format)
                current = wanted
            yield piece
        if current != self.usual:
            yield _Xml(Type.CLOSE, "", name=FORMAT + current)

    def write(self, translations: Mapping[Segment, Sequence[Item]]) -> bool:
        """Put translations into the element, unless none differs; return whether one does."""
        segments = [part for part in self.parts if isinstance(part, Segment)]
        if all(translations[segment] == segment.passage.items for segment in segments):
            return False
        writer = _Writer(self.element, self.format)
        for part in self.parts:
            if isinstance(part, Segment):
                spaces = part.find_spaces(translations[part])
                for item in translations[part]:
                    if isinstance(item, Mark):
                        before, after = spaces.get(item, ("", ""))
                        writer.write(before)
                        writer.write(part.marks[item])
                        writer.write(after)
                    else:
                        writer.write(item)
            else:
                writer.write(part)
        writer.end()
        return True


def _identify(properties: Element) -> str:
    """Return the same for formats that look the same."""
    if properties is None:
        return ""
    return "".join(
        sorted(
            etree.tostring(each).decode()
            for each in properties
            if each.tag not in INVISIBLE_PROPERTIES
        )
    )


def _find_pieces(parent: Element) -> Iterator[_Xml]:
    for child in parent:
        if child.tag == f"{W}r":
            yield from _read_run(child)
        elif inner := _find_inner(child):
            yield _Xml(Type.OPEN, "", name=child.tag, elements=[child])
            yield from _find_pieces(inner[0])
            yield _Xml(Type.CLOSE, "", name=child.tag)
        elif child.tag not in RANGES | HINTS | PROPERTIES:
            type_ = Type.WALL if child.tag == CONTROL else Type.POINT
            yield _Xml(type_, "", elements=[child])


def _read_run(run: Element) -> Iterator[_Xml]:
    properties = run.find(f"{W}rPr")
    for child in run:
        piece = _Xml(Type.POINT, "", elements=[child], format=properties, in_run=True)
        if child.tag in HINTS | PROPERTIES:
            continue
        if child.tag == f"{W}t":
            piece.type, piece.raw = Type.TEXT, child.text or ""
        elif child.tag == f"{W}noBreakHyphen":
            piece.type, piece.raw = Type.TEXT, "\N{NON-BREAKING HYPHEN}"
        elif child.tag in WALLS:
            piece.type = Type.WALL
        piece.text = piece.raw
        yield piece


def _join_fields(pieces: Iterable[_Xml]) -> Iterator[_Xml]:
    """Yield pieces; a field becomes three: its code, its result, and its end."""
    code: list[_Xml] = []
    depth = 0
    for piece in pieces:
        kind = piece.elements[0].get(f"{W}fldCharType") if piece.elements else None
        if kind == "begin":
            depth += 1
        if not code and kind != "begin":
            yield _join([piece], Type.CLOSE) if kind == "end" else piece
            continue
        code.append(piece)
        if kind == "end":
            depth -= 1
        if (kind == "separate" and depth == 1) or depth == 0:
            yield _join(code, Type.OPEN if depth else Type.POINT)
            code, depth = [], 0
    if code:
        yield _join(code, Type.WALL)


def _join(code: Sequence[_Xml], type_: Type) -> _Xml:
    elements = [element for piece in code for element in piece.elements]
    return _Xml(type_, "", name=FIELD, elements=elements, format=code[0].format, in_run=True)


class _Writer:
    """Writes the content of an element anew."""

    def __init__(self, element: Element, format_: Element) -> None:
        self._make = etree.SubElement
        self._inside, self._formats = [element], [format_]
        ranges = list(_find_ranges(element))
        for child in list(element):
            if child.tag not in PROPERTIES:
                element.remove(child)
        element.extend(each for each in ranges if each.tag.endswith("Start"))
        self._ends = [each for each in ranges if each.tag.endswith("End")]

    def write(self, item: "str | Piece") -> None:
        """Write a text, or a piece as it was."""
        if isinstance(item, str):
            self._write_text(item)
            return
        assert isinstance(item, _Xml)
        if item.is_text:
            self._write_text(item.text)
        elif item.name.startswith(FORMAT):
            if item.type is Type.OPEN:
                self._formats.append(item.format)
            else:
                self._formats.pop()
        elif item.name in CONTAINERS | {CONTROL}:
            if item.type is Type.OPEN:
                self._open(item.elements[0])
            else:
                self._inside.pop()
        elif item.in_run:
            self._add_run(item.format).extend(item.elements)
        else:
            self._inside[-1].extend(item.elements)

    def end(self) -> None:
        """Write the end of the element."""
        self._inside[0].extend(self._ends)

    def _open(self, container: Element) -> None:
        made = self._make(self._inside[-1], container.tag, dict(container.attrib))
        made.extend([each for each in container if each.tag in PROPERTIES])
        self._inside.append(self._make(made, CONTENT) if container.tag == CONTROL else made)

    def _add_run(self, format_: Element) -> Element:
        run = self._make(self._inside[-1], f"{W}r")
        if format_ is not None:
            run.append(deepcopy(format_))
        return run

    def _write_text(self, text: str) -> None:
        if not text:
            return
        run = self._add_run(self._formats[-1])
        for language in run.findall(f"{W}rPr/{W}lang"):  # it is written in another one now
            language.getparent().remove(language)
        written = self._make(run, f"{W}t", {XML_SPACE: "preserve"})
        written.text = NO_XML.sub("", text)


def _find_ranges(parent: Element) -> Iterator[Element]:
    for child in parent:
        if child.tag in RANGES:
            yield child
        else:
            yield from chain.from_iterable(map(_find_ranges, _find_inner(child)))
