"""HTML: text and readable attributes are translated; tags do not change.

The target language replaces the source language in attributes. Python's parser locates tags, text
and comments. No tree is built and serialized, so fragments stay fragments, and errors in HTML are
not corrected.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from unicodedata import category

from typing_extensions import override

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document, LanguageMarks, decode_declared, make_document
from nmt_core.documents.segments import (
    MAX_TAG_DEPTH,
    Part,
    Piece,
    Role,
    Written,
    escape_by,
    join_raw,
    make_parts,
)
from nmt_core.text.language_codes import LanguageCodes, list_language_names

COMMENT = "!--"


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label map mark math "
    "nobr object output picture q s samp small span strike strong sub sup svg time tt u var wbr !--"
)
"""Elements that may occur within a sentence, and comments; all others end a sentence."""

VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements without content and without an end tag."""

KEPT = _names(
    "audio canvas code docauthor iframe kbd math noembed noframes object plaintext pre samp script "
    "style svg template textarea var video xmp"
)
"""Elements that are not translated: programs with their input and output, formulas, pictures, and
the author in the table of contents of a book."""

READABLE = _names(
    "alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext "
    "placeholder title"
)
"""Attributes with text for users."""

BUTTONS = _names("button reset submit")
DESCRIPTIONS = _names("description og:description og:title twitter:description twitter:title")
"""Types of input with their value as the label of a button, and names of metadata that search
engines show."""

LANGUAGE = frozenset({"lang", "xml:lang"})
"""Attributes with the language of an element."""

CHANGEABLE = READABLE | LANGUAGE | {"content", "value"}
"""Attributes that may change."""

PAGE = ("html", "body")
"""Elements with the language of the page, which the requested language overrides."""

ENDED_BY_NEXT = frozenset({"option", "p"})
"""Elements that end at the start of the next element with the same name."""

XHTML = re.compile(
    r"\s*(?:<\?xml\s|(?:<!doctype[^>]*>\s*)?<html\s[^>]*http://www\.w3\.org/1999/xhtml)",
    re.IGNORECASE,
)
"""The beginning of an XHTML page, in which ``<script/>`` is an empty element."""

IN_XML = frozenset({"math", "svg"})
"""Elements that follow the rules of XML in any page."""

MAX_TAGS = 1_000_000
"""Maximum number of tags and texts in a document; each needs 550 bytes of memory."""

SYMBOLS = ("Co", "Sk", "Sm", "So")
"""Unicode categories of symbols, without currencies; fonts have icons as private-use characters."""

MAX_NOTE_PIECES = 8
"""Maximum number of tags and texts in an element that is a note reference or an icon."""

TAG_NAME = re.compile(r"<[a-zA-Z][^\s/>]*")
ATTRIBUTE = re.compile(
    r"""[\s/]*(?P<name>[^\s/>][^\s/>=]*)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'>][^\s>]*)|(?!\s*=))"""
)


@dataclass
class Tag(Piece):
    """A piece of HTML."""

    attributes: Sequence[tuple[str, str | None]] = ()


def read_html_file(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Return an HTML file as a document; see ``read_html``."""
    page = decode_declared(data)
    return read_html(page.text, codes).encode_as(page.encode)


def read_html(text: str, codes: LanguageCodes | None = None) -> Document[str]:
    """Return an HTML page or fragment as a document.

    Comments, elements with ``translate="no"`` or the class ``notranslate``, and elements of
    ``KEPT`` or in another language are not translated. ``READABLE`` attributes are translated; in
    ``LANGUAGE`` attributes, the target language replaces the source language.
    """
    marks = LanguageMarks(codes)
    return make_document(split_html(text, marks), marks.untranslated)


def split_html(text: str, marks: LanguageMarks) -> Iterator[Part]:
    """Yield the parts of HTML; see ``read_html``."""
    pieces = _merge_kept(_cut(_Scanner(text).tags, text), marks)
    return make_parts(_merge_empty(pieces), escape_by(partial(html.escape, quote=False)))


class _Scanner(HTMLParser):
    """Records the start of each piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._is_xml = XHTML.match(text) is not None
        self._lines = [0, *[match.end() for match in re.finditer("\n", text)]]
        self.tags: list[tuple[int, Tag]] = []
        self.feed(text)  # without close(), an incomplete tag at the end is neither tag nor text
        in_text = self.cdata_elem is None and not self.rawdata.startswith("<")
        self._record(Role.TEXT if in_text else Role.BLOCK)

    def _record(
        self, role: Role, name: str = "", attributes: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        if len(self.tags) == MAX_TAGS:
            raise DocumentError(
                f"this document has more than {MAX_TAGS:,} tags and texts; split it"
            )
        line, column = self.getpos()
        tag = Tag(role, "", name=name, attributes=attributes)
        self.tags.append((self._lines[line - 1] + column, tag))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._record(Role.EMPTY if tag in VOID else Role.OPEN, tag, attrs)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._is_xml or tag in IN_XML:
            self._record(Role.EMPTY, tag, attrs)
        else:  # in HTML, browsers ignore the slash
            self.handle_starttag(tag, attrs)

    @override
    def handle_endtag(self, tag: str) -> None:
        self._record(Role.CLOSE, tag)

    @override
    def handle_data(self, data: str) -> None:
        self._record(Role.TEXT)

    @override
    def handle_comment(self, data: str) -> None:
        self._record(Role.EMPTY, COMMENT)

    @override
    def handle_decl(self, decl: str) -> None:
        self._record(Role.BLOCK)

    @override
    def handle_pi(self, data: str) -> None:
        self._record(Role.BLOCK)

    @override
    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skip ``<![...>`` as browsers do; Python's parser rejects some of these sections."""
        end = self.rawdata.find(">", i)
        if end >= 0:
            self._record(Role.BLOCK)
        return end + 1 if end >= 0 else -1


def _cut(tags: Sequence[tuple[int, Tag]], text: str) -> list[Tag]:
    """Return the pieces of a text, split at the start of each tag."""
    pieces = [Tag(Role.BLOCK, text[: tags[0][0]])]  # such as </>, which the parser skips
    ends = [*[start for start, _ in tags[1:]], len(text)]
    for (start, tag), end in zip(tags, ends, strict=True):
        tag.raw = text[start:end]
        if tag.role is not Role.TEXT:
            pieces.append(tag)
            continue
        cut = tag.raw.find("<", 1)  # the start of markup that the parser skips
        text_end = cut if cut > 0 else len(tag.raw)
        content = tag.raw[:text_end]
        is_text = content == "<" or not content.startswith("<")
        role = Role.TEXT if is_text else Role.BLOCK
        pieces.append(Tag(role, content, html.unescape(content) if is_text else ""))
        if cut > 0:
            pieces.append(Tag(Role.BLOCK, tag.raw[cut:]))
    return pieces


def _merge_kept(tags: Sequence[Tag], marks: LanguageMarks) -> Iterator[Tag]:
    """Yield the pieces, with each untranslated element as one piece."""
    number = 0
    while number < len(tags):
        tag, end = tags[number], number + 1
        is_open = tag.role is Role.OPEN
        is_inline = tag.is_text or tag.name in INLINE
        languages = [value for name, value in tag.attributes if name in LANGUAGE]
        is_text = is_open and tag.name not in KEPT and tag.name not in PAGE
        is_other = is_text and any(map(marks.is_other, languages))
        if is_open and (is_other or tag.name in KEPT or _is_kept(tags, number)):
            end = _find_end(tags, number)
            inside = tags[number:end]
            if is_other:
                marks.count("".join([each.text for each in inside]))
            parts: list[Part] = []
            if tag.name in KEPT and tag.attributes:  # its content stays in the source language
                parts = [*_split_tag(tag, LanguageMarks(None)), join_raw(inside[1:])]
            role = Role.EMPTY if is_inline else Role.BLOCK
            yield Tag(role, join_raw(inside), parts=parts)
        else:
            if not is_inline:
                tag.role = Role.BLOCK
            if tag.attributes:
                tag.parts = list(_split_tag(tag, marks))
            yield tag
        number = end


def _is_kept(tags: Sequence[Tag], number: int) -> bool:
    """Return whether an element is marked as not translatable, or is a note, a symbol or a name.

    A note is a ``sup`` without letters. A name is that of a language in a link to a translation.
    """
    tag, text = tags[number], ""
    attributes = dict(tag.attributes)
    is_marked = (attributes.get("translate") or "").lower() == "no"
    if is_marked or "notranslate" in (attributes.get("class") or "").split():
        return True
    for each in tags[number + 1 : number + MAX_NOTE_PIECES] if tag.name in INLINE else ():
        if each.role is Role.CLOSE and each.name == tag.name:
            break
        text += each.text
    else:
        return False
    if any(map(str.isalpha, text)):
        codes = [attributes.get(name) for name in (*LANGUAGE, "hreflang")]
        return any(text.strip().casefold() in list_language_names(code) for code in codes if code)
    return tag.name == "sup" or _is_symbol(text)


def _is_symbol(text: str) -> bool:
    """Return whether a text is a symbol such as an arrow, a tick or an icon, not punctuation."""
    return not any(map(str.isalnum, text)) and any(category(sign) in SYMBOLS for sign in text)


def _merge_empty(tags: Iterable[Tag]) -> list[Tag]:
    """Return the pieces, with each element without text, such as a linked picture, as one piece.

    Two such elements with only a symbol between them are one piece, too, as in
    ``<kbd>Ctrl</kbd>+<kbd>C</kbd>``.
    """
    merged: list[Tag] = []
    for tag in tags:
        start = len(merged)
        if tag.role is Role.CLOSE:
            while start > 0 and merged[start - 1].role is Role.EMPTY:
                start -= 1
            opening = merged[start - 1] if start > 0 else tag
            is_whole = opening.role is Role.OPEN and opening.name == tag.name
            start = start - 1 if is_whole else len(merged)
        elif (
            tag.role is Role.EMPTY
            and [each.role for each in merged[-2:]] == [Role.EMPTY, Role.TEXT]
            and _is_symbol(merged[-1].text)
            and len(merged[-2].parts) < MAX_TAG_DEPTH
        ):
            start -= 2
        inside = [*merged[start:], tag]
        del merged[start:]
        parts = [part for each in inside for part in each.parts or [each]]
        is_single = len(inside) == 1
        merged.append(tag if is_single else Tag(Role.EMPTY, join_raw(inside), parts=parts))
    return merged


def _find_end(tags: Sequence[Tag], number: int) -> int:
    """Return the index of the piece after the end of an element."""
    name, depth = tags[number].name, 0
    for after in range(number, len(tags)):
        tag = tags[after]
        if tag.name != name:
            continue
        if tag.role is Role.OPEN and after > number and name in ENDED_BY_NEXT:
            return after
        depth += {Role.OPEN: 1, Role.CLOSE: -1}.get(tag.role, 0)
        if depth == 0:
            return after + 1
    return len(tags)


def _split_tag(tag: Tag, marks: LanguageMarks) -> Iterator[Part]:
    """Yield a tag in parts, with readable attribute values as parts to translate."""
    start = 0
    attributes = {name: (value or "").lower() for name, value in tag.attributes}
    subjects = [attributes.get("name"), attributes.get("property")]
    is_readable = {
        "value": tag.name == "input" and attributes.get("type") in BUTTONS,
        "content": tag.name == "meta" and not DESCRIPTIONS.isdisjoint(subjects),
    }
    for each, (name, value) in _find_attributes(tag):
        if value and (name in READABLE or is_readable.get(name)):
            yield tag.raw[start : each.start("value")]
            yield from make_parts([read_value(each["value"])], escape_value)
            start = each.end("value")
        elif marks.codes and name in LANGUAGE and marks.is_source(value):
            yield tag.raw[start : each.start("value")] + f'"{marks.codes[1]}"'
            start = each.end("value")
    yield tag.raw[start:]


def _find_attributes(tag: Tag) -> Sequence[tuple[re.Match[str], tuple[str, str | None]]]:
    """Return each attribute as written and as parsed; empty if none can change, or they differ."""
    name = TAG_NAME.match(tag.raw)
    if not name or CHANGEABLE.isdisjoint([name for name, value in tag.attributes if value]):
        return []
    written, end = [], name.end()
    while attribute := ATTRIBUTE.match(tag.raw, end):
        written.append(attribute)
        end = attribute.end()
    if [each["name"].lower() for each in written] != [name for name, _ in tag.attributes]:
        return []
    return [*zip(written, tag.attributes, strict=True)]


def read_value(raw: str) -> Piece:
    """Return the text of an attribute value, which may be in quotes."""
    return Piece(Role.TEXT, raw, html.unescape(raw[1:-1] if raw[0] in "'\"" else raw))


def escape_value(raw: str, written: Sequence[Written]) -> list[str]:
    """Return the parts of an attribute value in quotes, escaped."""
    quote = "'" if raw.startswith("'") else '"'
    return [f"{quote}{html.escape(part.text)}{quote}" for part in written]
