"""Word documents (.docx): the text of paragraphs is translated, all else stays as it is.

Formatting and links are put around the translations of their words. A document is an archive; files
that hold text are read, the others are copied.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import chain

from lxml import etree

from nmt_core.base.errors import DocumentError
from nmt_core.documents.archive import ArchiveKind, read_archive, write_archive
from nmt_core.documents.docx_pieces import (
    CONTAINERS,
    CONTENT,
    CONTROL,
    PROPERTIES,
    RANGES,
    Element,
    Fields,
    W,
    WordPiece,
    find_inner,
    find_pieces,
    has_runs,
    is_in_other_language,
    join_fields,
    join_other_languages,
    read_run,
)
from nmt_core.documents.passage import Item, Mark, Passage
from nmt_core.documents.pieces import Piece, Segment, Type, join_pieces, write_plainly
from nmt_core.documents.untranslated import LanguageMarks
from nmt_core.documents.xml_pieces import NO_XML
from nmt_core.text.language_codes import LanguageCodes

WORD = ArchiveKind(
    "Word document",
    ".docx",
    re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml"),
)

STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
"""Another name for the same, in files that Word saves as "Strict Open XML"."""

XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


PICTURE = "{*}docPr"
DESCRIPTIONS = frozenset({"descr", "title"})
"""The element that describes a picture, and its attributes."""

LEAST_OWN_TEXT = 0.05
"""Share of a document's letters that are not marked as another language than the source."""

INVISIBLE_PROPERTIES = (f"{W}lang", f"{W}noProof", f"{W}rPrChange")
"""Properties of runs that do not change their looks."""

FORMAT = "format"


class WordDocument:
    """A Word document."""

    def __init__(self, data: bytes, codes: LanguageCodes | None = None) -> None:
        """Read a document.

        Args:
            data: the document.
            codes: of source and target, if they are known.

        Raises:
            DocumentError: if it is none, holds macros, is encrypted, or unpacks to too much.
        """
        texts = read_archive(data, WORD)
        self._data = data
        self._roots = {name: _read(text, name) for name, text in texts.items()}
        marks = LanguageMarks(codes)
        if _are_mistaken(marks, self._roots.values()):
            marks.codes = None
        self.untranslated = marks.untranslated
        self._blocks = {name: [*_read_blocks(root, marks)] for name, root in self._roots.items()}
        self._segments = [
            segment
            for block in chain.from_iterable(self._blocks.values())
            for segment in block.segments
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


def _are_mistaken(marks: LanguageMarks, roots: Iterable[Element]) -> bool:
    """Tell whether so much text is marked as another language that it is not.

    Word marks what people type by their keyboard, and by the template that a document began with.
    """
    letters = Counter[bool]()
    for run in chain.from_iterable(root.iter(f"{W}r") for root in roots):
        for piece in read_run(run):
            letters[is_in_other_language(piece, marks)] += sum(map(str.isalpha, piece.text))
    return letters[False] < LEAST_OWN_TEXT * letters.total()


def _read_blocks(root: Element, marks: LanguageMarks) -> "Iterator[_Block | _Description]":
    """Yield what holds text: paragraphs, content controls apart, and descriptions of pictures."""
    fields = Fields()
    for element in root.iter(f"{W}p", CONTENT, PICTURE):
        if element.tag.endswith(PICTURE.removeprefix("{*}")):
            for name in DESCRIPTIONS.intersection(element.attrib):
                yield _Description(element, name)
        elif not find_inner(element.getparent()) and has_runs(element):
            pieces = join_fields(find_pieces(element), fields)
            yield _Block(element, [*join_other_languages(pieces, marks)])


class _Description:
    """An attribute that describes a picture."""

    def __init__(self, element: Element, name: str) -> None:
        self._element, self._name = element, name
        piece = Piece(Type.TEXT, element.get(name), element.get(name))
        parts = join_pieces([piece], write_plainly)
        self.segments = [part for part in parts if isinstance(part, Segment)]

    def write(self, translations: Mapping[Segment, Sequence[Item]]) -> bool:
        """Put the translation into the attribute; return whether it differs."""
        before = self._element.get(self._name)
        for segment in self.segments:
            text = "".join(item for item in translations[segment] if isinstance(item, str))
            self._element.set(self._name, NO_XML.sub("", text))
        return bool(self._element.get(self._name) != before)


class _Block:
    """A paragraph, or the content of a form field."""

    def __init__(self, element: Element, pieces: Sequence[WordPiece]) -> None:
        self.element = element
        lengths: Counter[str] = Counter()
        formats: dict[str, Element] = {}
        for piece in pieces:
            lengths[_identify(piece.format)] += len(piece.text)
            formats.setdefault(_identify(piece.format), piece.format)
        self.usual = lengths.most_common(1)[0][0] if lengths else ""
        self.format = formats.get(self.usual)
        self.parts = list(join_pieces(list(self._mark_formats(pieces)), write_plainly))
        self.segments = [part for part in self.parts if isinstance(part, Segment)]

    def _mark_formats(self, pieces: Iterable[WordPiece]) -> Iterator[WordPiece]:
        """Yield the pieces, with a pair around texts whose format differs from most."""
        current = self.usual
        for piece in pieces:
            wanted = _identify(piece.format) if piece.is_text else self.usual
            if wanted != current:
                if current != self.usual:
                    yield WordPiece(Type.CLOSE, "", name=FORMAT + current)
                if wanted != self.usual:
                    yield WordPiece(Type.OPEN, "", name=FORMAT + wanted, format=piece.format)
                current = wanted
            yield piece
        if current != self.usual:
            yield WordPiece(Type.CLOSE, "", name=FORMAT + current)

    def write(self, translations: Mapping[Segment, Sequence[Item]]) -> bool:
        """Put translations into the element, unless none differs; return whether one does."""
        if all(translations[segment] == segment.passage.items for segment in self.segments):
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
        assert isinstance(item, WordPiece)
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
        else:
            self._write_as_it_was(item)

    def _write_as_it_was(self, item: WordPiece) -> None:
        if item.in_run:
            self._add_run(item.format).extend(item.elements)
        else:
            self._inside[-1].extend(item.elements)
        for piece in item.held:
            self._write_as_it_was(piece) if piece.in_run else self.write(piece)

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
            yield from chain.from_iterable(map(_find_ranges, find_inner(child)))
