"""HTML: text and readable attributes are translated, every tag stays as it was written.

Where one names the source language, the target takes its place. Python's parser locates tags, text
and comments. Nothing is built into a tree and written anew, so fragments stay fragments, and broken
HTML stays as broken as it was.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

from typing_extensions import override

from nmt_core.base.errors import DocumentError
from nmt_core.documents.encodings import decode_page
from nmt_core.documents.formats import TextFile
from nmt_core.documents.pieces import (
    Part,
    Piece,
    TextDocument,
    Type,
    Written,
    make_parts,
)
from nmt_core.text.language_codes import LanguageCodes, pick_code

COMMENT = "!--"


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label map mark math "
    "nobr object output picture q s samp small span strike strong sub sup svg time tt u var wbr !--"
)
"""Elements that may occur within a sentence, and comments; all others end one."""

VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements that hold nothing and have no end tag."""

KEPT = _names(
    "audio canvas code docauthor iframe kbd math noembed noframes object plaintext pre samp script "
    "style svg template textarea var video xmp"
)
"""Elements that are not translated: programs with their input and output, formulas, pictures, and
of a book's table of contents the author."""

BLOCK = _names(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup "
    "html legend li main menu nav noscript ol optgroup option p rp rt ruby search section select "
    "summary table tbody td tfoot th thead title tr ul"
)
ELEMENTS = BLOCK | INLINE | VOID | KEPT
"""Those of HTML; in a message, others stand for components of a program: ``<terms>it</terms>``."""

READ = _names(
    "alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext "
    "placeholder title"
)
"""Attributes that people read."""

LABELLED = _names("optgroup option track")
BUTTONS = _names("button reset submit")
DESCRIPTIONS = _names("description og:description og:title twitter:description twitter:title")
"""Elements with a label, types of input whose value is on a button, and names of what a page says
of itself, which search engines show."""

LANGUAGE = frozenset({"lang", "xml:lang"})
"""Attributes that say in which language an element is."""

CHANGED = READ | LANGUAGE | {"content", "label", "value"}
"""Attributes that may not stay as they are."""

ENDED_BY_NEXT = frozenset({"option", "p"})
"""Elements that end where the next of their kind begins."""

XHTML = re.compile(
    r"\s*(?:<\?xml\s|(?:<!doctype[^>]*>\s*)?<html\s[^>]*http://www\.w3\.org/1999/xhtml)",
    re.IGNORECASE,
)
"""The beginning of a page in XML, where ``<script/>`` holds nothing."""

IN_XML = frozenset({"math", "svg"})
"""Elements that are of XML in any page."""

MOST_TAGS = 1_000_000
"""Of a document, with the texts between them; each takes 550 bytes of memory."""

LONGEST_NOTE = 8
"""Tags and texts in a ``<sup>`` that may be a reference to a note."""

NUMBERED = re.compile(r"</?(?P<name>\d+)(?=\s*/?>)")
"""A tag that stands for a component of a program, in a message alone: ``<0>here</0>``."""

TAG_NAME = re.compile(r"<[a-zA-Z][^\s/>]*")
ATTRIBUTE = re.compile(
    r"""[\s/]*(?P<name>[^\s/>][^\s/>=]*)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'>][^\s>]*)|(?!\s*=))"""
)


@dataclass
class _Tag(Piece):
    """A piece of HTML."""

    attributes: Sequence[tuple[str, str | None]] = ()
    is_component: bool = False
    """Whether it is of a program, and no element of HTML."""

    @property
    def is_inline(self) -> bool:
        """Tell whether it may stand within a sentence."""
        return self.is_text or self.is_component or self.name in INLINE

    @property
    def read_names(self) -> frozenset[str]:
        """The names of its attributes that people read."""
        given = {name: (value or "").lower() for name, value in self.attributes}
        named = {given.get("name"), given.get("property")}
        also = {
            "label": self.name in LABELLED,
            "value": self.name == "input" and given.get("type") in BUTTONS,
            "content": self.name == "meta" and not named.isdisjoint(DESCRIPTIONS),
        }
        return READ.union(name for name, is_read in also.items() if is_read)

    @property
    def is_kept(self) -> bool:
        """Tell whether the element is not to be translated."""
        given = dict(self.attributes)
        return (
            self.name in KEPT
            or (given.get("translate") or "").lower() == "no"
            or "notranslate" in (given.get("class") or "").split()
        )


def read_html_file(data: bytes, codes: LanguageCodes | None) -> TextFile:
    """Read a file of HTML; see :func:`read_html`.

    Raises:
        DocumentError: if it is not in the encoding that it declares, or has more tags and texts
            than :data:`MOST_TAGS`.
    """
    page = decode_page(data)
    return TextFile(read_html(page.text, codes), page)


def read_html(text: str, codes: LanguageCodes | None = None) -> TextDocument:
    """Read an HTML document or fragment.

    Comments, elements marked by ``translate="no"`` or the class ``notranslate``, and elements of
    :data:`KEPT` are not translated; of attributes, only those that people read are, and those of
    :data:`LANGUAGE` name the target where they name the source.

    Args:
        text: the document.
        codes: of source and target, if they are known.

    Raises:
        DocumentError: if it has more tags and texts than :data:`MOST_TAGS`.
    """
    return TextDocument(split_html(text, codes))


def split_html(text: str, codes: LanguageCodes | None = None) -> Iterator[Part]:
    """Yield the parts of HTML, what is kept and what is translated; see :func:`read_html`."""
    return make_parts(_read(_Scanner(text).tags, text, codes), _escape)


def parse_components(text: str) -> Sequence[Piece]:
    """Return the pieces of a message of a program.

    It is HTML in which tags may be numbers, and end as in XML.

    Args:
        text: the message.

    Raises:
        DocumentError: if it has more tags and texts than :data:`MOST_TAGS`.
    """
    named = NUMBERED.sub(lambda tag: tag[0].replace(tag["name"], "x" * len(tag["name"])), text)
    tags = _Scanner(named, is_xml=True).tags
    for _, tag in tags:
        is_tag = tag.type in {Type.OPEN, Type.CLOSE, Type.POINT}
        tag.is_component = is_tag and tag.name not in ELEMENTS
    return _read(tags, text, None)


def _read(
    tags: Sequence[tuple[int, "_Tag"]], text: str, codes: LanguageCodes | None
) -> "list[_Tag]":
    return _merge_empty(_merge_kept(list(_cut(tags, text)), codes))


def _escape(_: str, written: Sequence[Written]) -> list[str]:
    return [part.text if part.mark else html.escape(part.text, quote=False) for part in written]


class _Scanner(HTMLParser):
    """Notes where each piece of HTML begins."""

    def __init__(self, text: str, *, is_xml: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self._is_xml = is_xml or XHTML.match(text) is not None
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.tags: list[tuple[int, _Tag]] = []
        self.feed(text)  # no close: what is unfinished at the end is neither tag nor text
        in_text = self.cdata_elem is None and not self.rawdata.startswith("<")
        self._note(Type.TEXT if in_text else Type.WALL)

    def _note(
        self, type_: Type, name: str = "", attributes: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        if len(self.tags) == MOST_TAGS:
            raise DocumentError(
                f"this document has more than {MOST_TAGS:,} tags and texts; cut it in parts"
            )
        line, column = self.getpos()
        tag = _Tag(type_, "", name=name, attributes=attributes)
        self.tags.append((self._lines[line - 1] + column, tag))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(Type.POINT if tag in VOID else Type.OPEN, tag, attrs)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._is_xml or tag in IN_XML:
            self._note(Type.POINT, tag, attrs)
        else:  # a browser does not see that it ends here
            self.handle_starttag(tag, attrs)

    @override
    def handle_endtag(self, tag: str) -> None:
        self._note(Type.CLOSE, tag)

    @override
    def handle_data(self, data: str) -> None:
        self._note(Type.TEXT)

    @override
    def handle_comment(self, data: str) -> None:
        self._note(Type.POINT, COMMENT)

    @override
    def handle_decl(self, decl: str) -> None:
        self._note(Type.WALL)

    @override
    def handle_pi(self, data: str) -> None:
        self._note(Type.WALL)

    @override
    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Read ``<![...>`` as browsers do; Python's parser refuses some of them."""
        end = self.rawdata.find(">", i)
        if end >= 0:
            self._note(Type.WALL)
        return end + 1 if end >= 0 else -1


def _cut(tags: Sequence[tuple[int, _Tag]], text: str) -> Iterator[_Tag]:
    """Split a text where tags begin, into pieces that together are the text."""
    yield _Tag(Type.WALL, text[: tags[0][0]])  # such as </>, of which the parser says nothing
    ends = [*(start for start, _ in tags[1:]), len(text)]
    for (start, tag), end in zip(tags, ends, strict=True):
        tag.raw = text[start:end]
        if number := NUMBERED.match(tag.raw):
            tag.name = number["name"]
        if tag.type is not Type.TEXT:
            yield tag
            continue
        silent = tag.raw.find("<", 1)  # where such a thing begins
        if silent > 0:
            yield from _read_text(tag.raw[:silent])
            yield _Tag(Type.WALL, tag.raw[silent:])
        else:
            yield from _read_text(tag.raw)


def _read_text(raw: str) -> Iterator[_Tag]:
    if raw == "<" or not raw.startswith("<"):
        yield _Tag(Type.TEXT, raw, html.unescape(raw))
    else:
        yield _Tag(Type.WALL, raw)


def _merge_kept(tags: Sequence[_Tag], codes: LanguageCodes | None) -> Iterator[_Tag]:
    """Yield the pieces, with each untranslated element as one piece."""
    number = 0
    while number < len(tags):
        tag, end = tags[number], number + 1
        is_inline = tag.is_inline
        if tag.type is Type.OPEN and (tag.is_kept or _is_note(tags, number)):
            end = _find_end(tags, number)
            yield _Tag(
                Type.POINT if is_inline else Type.WALL,
                "".join(each.raw for each in tags[number:end]),
            )
        else:
            tag.type = tag.type if is_inline else Type.WALL
            tag.parts = list(_split_tag(tag, codes))
            yield tag
        number = end


def _merge_empty(tags: Iterable[_Tag]) -> list[_Tag]:
    """Return the pieces, with each pair around no text, such as a picture's link, as one point."""
    merged: list[_Tag] = []
    for tag in tags:
        start = len(merged) - 1
        while tag.type is Type.CLOSE and start > 0 and merged[start].type is Type.POINT:
            start -= 1
        if tag.type is Type.CLOSE and start >= 0 and _is_pair(merged[start], tag):
            parts = [part for each in [*merged[start:], tag] for part in each.markup]
            del merged[start:]
            merged.append(_Tag(Type.POINT, "", parts=parts))
        else:
            merged.append(tag)
    return merged


def _is_pair(opening: _Tag, closing: _Tag) -> bool:
    return opening.type is Type.OPEN and opening.name == closing.name


def _is_note(tags: Sequence[_Tag], number: int) -> bool:
    """Tell whether an element is a superscript number or sign, no part of a word."""
    if tags[number].name != "sup":
        return False
    for tag in tags[number + 1 : number + LONGEST_NOTE]:
        if tag.type is Type.CLOSE and tag.name == "sup":
            return True
        if any(map(str.isalpha, tag.text)):
            return False
    return False


def _find_end(tags: Sequence[_Tag], number: int) -> int:
    """Return the number of the piece after the end of an element."""
    name, depth = tags[number].name, 0
    for after in range(number, len(tags)):
        tag = tags[after]
        if tag.name != name:
            continue
        if tag.type is Type.OPEN and after > number and name in ENDED_BY_NEXT:
            return after
        depth += {Type.OPEN: 1, Type.CLOSE: -1}.get(tag.type, 0)
        if depth == 0:
            return after + 1
    return len(tags)


def _split_tag(tag: _Tag, codes: LanguageCodes | None) -> Iterator[Part]:
    """Yield a tag in parts: the values that people read, and the rest."""
    named = TAG_NAME.match(tag.raw)
    start, attributes = 0, []
    if named and any(name in CHANGED and value for name, value in tag.attributes):
        end = named.end()
        while attribute := ATTRIBUTE.match(tag.raw, end):
            attributes.append(attribute)
            end = attribute.end()
    if [each["name"].lower() for each in attributes] == [name for name, _ in tag.attributes]:
        read = tag.read_names
        for each, (name, value) in zip(attributes, tag.attributes, strict=True):
            if name in read and value:
                yield tag.raw[start : each.start("value")]
                yield from make_parts([_read_value(each["value"])], _escape_value)
                start = each.end("value")
            elif name in LANGUAGE and value and codes and pick_code([value], codes[0]) is not None:
                yield tag.raw[start : each.start("value")] + f'"{codes[1]}"'
                start = each.end("value")
    yield tag.raw[start:]


def _read_value(raw: str) -> Piece:
    return Piece(Type.TEXT, raw, html.unescape(raw[1:-1] if raw[0] in "'\"" else raw))


def _escape_value(raw: str, written: Sequence[Written]) -> list[str]:
    quote = "'" if raw.startswith("'") else '"'
    return [f"{quote}{html.escape(part.text)}{quote}" for part in written]
