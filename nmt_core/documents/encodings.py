"""Encodings of files, as they declare them."""

import codecs
import re
from collections.abc import Callable
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.document import FileDocument, TextDocument

UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

DECLARED = re.compile(
    r"""(?P<before>^\s*<\?xml\s[^<>?]{0,200}?\sencoding\s*=\s*["']"""
    r"""|<meta\s[^<>]{0,400}?\bcharset\s*=\s*(?:["']\s*)?)(?P<encoding>[\w.:-]{1,40})""",
    re.IGNORECASE,
)
DECLARED_WITHIN = 4096
"""Characters at the beginning of a file that may declare its encoding."""

REMEDY = "convert it to UTF-8, or name the encoding of text, as in --encoding windows-1252"

WINDOWS = {"ascii": "cp1252", "iso8859-1": "cp1252"}
"""The encodings that browsers use in place of those that ``meta`` names."""

NO_TEXT = ("idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape", "utf-7")
"""Codecs of Python that are not encodings of text files."""


class Encoded(NamedTuple):
    """A text, and how its file is written."""

    text: str
    """Without the byte order mark."""
    encoding: str = "utf-8"
    mark: str = ""
    """The byte order mark before it, if it has one."""

    def encode(self, text: str) -> bytes:
        """Return another text as such a file; characters that the encoding lacks by number."""
        return (self.mark + text).encode(self.encoding, "xmlcharrefreplace")

    def make_file(self, document: TextDocument) -> FileDocument:
        """Return a document of the text as one that is written to such a file."""
        return FileDocument({"": document}, lambda texts: self.encode(texts[""]))


def decode_text(data: bytes) -> Encoded:
    """Decode a file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        DocumentError: if it is in neither.
    """
    encoding = UTF16.get(data[:2], "utf-8")
    if encoding == "utf-8":
        text = decode_utf8(data, "this document", error=DocumentError, remedy=REMEDY)
    else:
        text = _decode(data, encoding)
    mark = text[: text.startswith(BYTE_ORDER_MARK)]
    return Encoded(text.removeprefix(mark), encoding, mark)


def read_text_file(data: bytes, read: Callable[[str], TextDocument]) -> FileDocument:
    """Read a file of text by a function that reads its text.

    Raises:
        DocumentError: if it is not in UTF-8 or UTF-16, or the function does.
    """
    encoded = decode_text(data)
    return encoded.make_file(read(encoded.text))


def decode_declared(data: bytes) -> Encoded:
    """Decode a file of HTML or XML.

    A byte order mark comes first, then UTF-8, then what the file declares. If it declares another
    encoding than it is in, the text declares the right one instead.

    Raises:
        DocumentError: if it is in none of these.
    """
    try:
        file = decode_text(data)
    except DocumentError:
        codec = _find_declared(data[:DECLARED_WITHIN].decode("latin-1"))
        if codec == "utf-8":
            raise
        return Encoded(_decode(data, codec), codec)
    codec = _find_declared(file.text[:DECLARED_WITHIN])
    if file.text.isascii() and not file.mark:
        return file._replace(encoding=codec)
    name = file.encoding.removesuffix("-le").removesuffix("-be")
    if codec in {name, file.encoding}:
        return file
    return file._replace(text=DECLARED.sub(rf"\g<before>{name}", file.text, count=1))


def _find_declared(text: str) -> str:
    """Return the codec of what a text declares, or UTF-8."""
    declared = DECLARED.search(text)
    codec = _find_codec(declared["encoding"]) if declared else "utf-8"
    is_page = declared and declared["before"].lower().startswith("<meta")
    return WINDOWS.get(codec, codec) if is_page else codec


def recode(data: bytes, encoding: str) -> bytes:
    """Return a file in UTF-8 with a byte order mark, which says so.

    Raises:
        DocumentError: if the encoding is unknown, or the file is not in it.
    """
    return _decode(data, _find_codec(encoding)).removeprefix(BYTE_ORDER_MARK).encode("utf-8-sig")


def _find_codec(encoding: str) -> str:
    """Return the name that Python has for an encoding.

    Raises:
        DocumentError: if it has none.
    """
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except LookupError:
        name = NO_TEXT[0]
    if name in NO_TEXT:
        raise DocumentError(
            f"{encoding[:20]!r} is not an encoding of text; one is windows-1252"
        ) from None
    return name


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeError:
        raise DocumentError(f"this document is not in {encoding}; {REMEDY}") from None
