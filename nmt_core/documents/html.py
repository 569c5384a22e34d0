"""HTML: text and readable attributes are translated, every tag stays as it was written.

Where one names the source language, the target takes its place. Python's parser locates tags, text
and comments. Nothing is built into a tree and written anew, so fragments stay fragments, and broken
HTML stays as broken as it was.
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
from nmt_core.documents.document import (
    Document,
    LanguageMarks,
    decode_declared,
    make_document,
)
from nmt_core.documents.segments import (
    DEEPEST,
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
"""Elements that may occur within a sentence, and comments; all others end one."""

VOID = _names("area base br col embed hr img input link meta param source track wbr")
"""Elements that hold nothing and have no end tag."""

KEPT = _names(
    "audio canvas code docauthor iframe kbd math noembed noframes object plaintext pre samp script "
    "style svg template textarea var video xmp"
)
"""Elements that are not translated: programs with their input and output, formulas, pictures, and
of a book's table of contents the author."""

READ = _names(
    "alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext "
    "placeholder title"
)
"""Attributes that people read."""

BUTTONS = _names("button reset submit")
DESCRIPTIONS = _names("description og:description og:title twitter:description twitter:title")
"""Types of input whose value is on a button, and names of what a page says of itself, which search
engines show."""

LANGUAGE = frozenset({"lang", "xml:lang"})
"""Attributes that say in which language an element is."""

CHANGED = READ | LANGUAGE | {"content", "value"}
"""Attributes that may not stay as they are."""

PAGE = ("html", "body")
"""Elements with the language of the page; the language of the request overrides it."""

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

SYMBOLS = ("Co", "Sk", "Sm", "So")
"""Categories of Unicode, without currencies; fonts have icons for private use."""

LONGEST_NOTE = 8
"""Tags and texts in an element that may be a reference to a note, or an icon."""

TAG_NAME = re.compile(r"<[a-zA-Z][^\s/>]*")
ATTRIBUTE = re.compile(
    r"""[\s/]*(?P<name>[^\s/>][^\s/>=]*)(?:\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'>][^\s>]*)|(?!\s*=))"""
)


@dataclass
class Tag(Piece):
    """A piece of HTML."""

    attributes: Sequence[tuple[str, str | None]] = ()


def read_html_file(data: bytes, codes: LanguageCodes | None) -> Document[bytes]:
    """Read a file of HTML; see ``read_html``."""
    page = decode_declared(data)
    marks = LanguageMarks(codes)
    parts = {"": split_html(page.text, marks)}
    return Document(parts, lambda texts: page.encode(texts[""]), marks.untranslated)


def read_html(text: str, codes: LanguageCodes | None = None) -> Document[str]:
    """Read an HTML document or fragment.

    Comments, elements marked by ``translate="no"`` or the class ``notranslate``, and elements of
    ``KEPT`` or in another language are not translated. Attributes that people read are; those
    of ``LANGUAGE`` name the target where they name the source.
    """
    marks = LanguageMarks(codes)
    return make_document(split_html(text, marks), marks.untranslated)


def split_html(text: str, marks: LanguageMarks) -> Iterator[Part]:
    """Yield the parts of HTML, what is kept and what is translated; see ``read_html``."""
    pieces = _merge_kept(_cut(_Scanner(text).tags, text), marks)
    return make_parts(_merge_empty(pieces), escape_by(partial(html.escape, quote=False)))


class _Scanner(HTMLParser):
    """Notes where each piece of HTML begins."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._is_xml = XHTML.match(text) is not None
        self._lines = [0, *[match.end() for match in re.finditer("\n", text)]]
        self.tags: list[tuple[int, Tag]] = []
        self.feed(text)  # no close: what is unfinished at the end is neither tag nor text
        in_text = self.cdata_elem is None and not self.rawdata.startswith("<")
        self._note(Role.TEXT if in_text else Role.BLOCK)

    def _note(
        self, role: Role, name: str = "", attributes: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        if len(self.tags) == MOST_TAGS:
            raise DocumentError(
                f"this document has more than {MOST_TAGS:,} tags and texts; cut it into parts"
            )
        line, column = self.getpos()
        tag = Tag(role, "", name=name, attributes=attributes)
        self.tags.append((self._lines[line - 1] + column, tag))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(Role.EMPTY if tag in VOID else Role.OPEN, tag, attrs)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._is_xml or tag in IN_XML:
            self._note(Role.EMPTY, tag, attrs)
        else:  # a browser does not see that it ends here
            self.handle_starttag(tag, attrs)

    @override
    def handle_endtag(self, tag: str) -> None:
        self._note(Role.CLOSE, tag)

    @override
    def handle_data(self, data: str) -> None:
        self._note(Role.TEXT)

    @override
    def handle_comment(self, data: str) -> None:
        self._note(Role.EMPTY, COMMENT)

    @override
    def handle_decl(self, decl: str) -> None:
        self._note(Role.BLOCK)

    @override
    def handle_pi(self, data: str) -> None:
        self._note(Role.BLOCK)

    @override
    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Read ``<![...>`` as browsers do; Python's parser refuses some of them."""
        end = self.rawdata.find(">", i)
        if end >= 0:
            self._note(Role.BLOCK)
        return end + 1 if end >= 0 else -1


def _cut(tags: Sequence[tuple[int, Tag]], text: str) -> list[Tag]:
    """Split a text where tags begin, into pieces that together are the text."""
    pieces = [Tag(Role.BLOCK, text[: tags[0][0]])]  # such as </>, which the parser leaves out
    ends = [*[start for start, _ in tags[1:]], len(text)]
    for (start, tag), end in zip(tags, ends, strict=True):
        tag.raw = text[start:end]
        if tag.role is not Role.TEXT:
            pieces.append(tag)
            continue
        cut = tag.raw.find("<", 1)  # where something begins that the parser leaves out
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
        named = [value for name, value in tag.attributes if name in LANGUAGE]
        is_text = is_open and tag.name not in KEPT and tag.name not in PAGE
        is_other = is_text and any(map(marks.is_other, named))
        if is_open and (is_other or tag.name in KEPT or _is_kept(tags, number)):
            end = _find_end(tags, number)
            inside = tags[number:end]
            if is_other:
                marks.count("".join([each.text for each in inside]))
            parts: list[Part] = []
            if tag.name in KEPT and tag.attributes:  # its language is that of what stays
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
    """Tell whether an element is marked as not to be translated, or is a note, a sign or a name.

    A note is a ``sup`` without letters, and a name that of a language in a link to it.
    """
    tag, text = tags[number], ""
    given = dict(tag.attributes)
    is_marked = (given.get("translate") or "").lower() == "no"
    if is_marked or "notranslate" in (given.get("class") or "").split():
        return True
    for each in tags[number + 1 : number + LONGEST_NOTE] if tag.name in INLINE else ():
        if each.role is Role.CLOSE and each.name == tag.name:
            break
        text += each.text
    else:
        return False
    if any(map(str.isalpha, text)):
        codes = [given.get(name) for name in (*LANGUAGE, "hreflang")]
        return any(text.strip().casefold() in list_language_names(code) for code in codes if code)
    return tag.name == "sup" or _is_symbol(text)


def _is_symbol(text: str) -> bool:
    """Tell whether a text is a sign such as an arrow, a tick or an icon, and not punctuation."""
    return not any(map(str.isalnum, text)) and any(category(sign) in SYMBOLS for sign in text)


def _merge_empty(tags: Iterable[Tag]) -> list[Tag]:
    """Return the pieces, with an element around no text, such as a picture's link, as one.

    So are two with nothing but a sign between them, as in ``<kbd>Ctrl</kbd>+<kbd>C</kbd>``.
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
            and len(merged[-2].parts) < DEEPEST
        ):
            start -= 2
        inside = [*merged[start:], tag]
        del merged[start:]
        parts = [part for each in inside for part in each.parts or [each]]
        is_one = len(inside) == 1
        merged.append(tag if is_one else Tag(Role.EMPTY, join_raw(inside), parts=parts))
    return merged


def _find_end(tags: Sequence[Tag], number: int) -> int:
    """Return the number of the piece after the end of an element."""
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
    """Yield a tag in parts: the values that people read, and the rest."""
    start = 0
    given = {name: (value or "").lower() for name, value in tag.attributes}
    subjects = [given.get("name"), given.get("property")]
    read = {
        "value": tag.name == "input" and given.get("type") in BUTTONS,
        "content": tag.name == "meta" and not DESCRIPTIONS.isdisjoint(subjects),
    }
    for each, (name, value) in _find_attributes(tag):
        if value and (name in READ or read.get(name)):
            yield tag.raw[start : each.start("value")]
            yield from make_parts([read_value(each["value"])], escape_value)
            start = each.end("value")
        elif marks.codes and name in LANGUAGE and marks.is_source(value):
            yield tag.raw[start : each.start("value")] + f'"{marks.codes[1]}"'
            start = each.end("value")
    yield tag.raw[start:]


def _find_attributes(tag: Tag) -> Sequence[tuple[re.Match[str], tuple[str, str | None]]]:
    """Return each attribute as written and as parsed; nothing if none changes, or they differ."""
    name = TAG_NAME.match(tag.raw)
    if not name or CHANGED.isdisjoint([name for name, value in tag.attributes if value]):
        return []
    written, end = [], name.end()
    while attribute := ATTRIBUTE.match(tag.raw, end):
        written.append(attribute)
        end = attribute.end()
    if [each["name"].lower() for each in written] != [name for name, _ in tag.attributes]:
        return []
    return [*zip(written, tag.attributes, strict=True)]


def read_value(raw: str) -> Piece:
    """Return the text of an attribute's value in quotes, or without."""
    return Piece(Role.TEXT, raw, html.unescape(raw[1:-1] if raw[0] in "'\"" else raw))


def escape_value(raw: str, written: Sequence[Written]) -> list[str]:
    """Write the value of an attribute in quotes."""
    quote = "'" if raw.startswith("'") else '"'
    return [f"{quote}{html.escape(part.text)}{quote}" for part in written]
