"""Documents, their files, and the encodings of files."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from nmt_core.base.errors import DocumentError
from nmt_core.base.files import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.segments import Item, Part, find_segments, write_parts
from nmt_core.text.language_codes import LanguageCodes, pick_code

UTF16_ADVICE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

DECLARED = re.compile(
    r"""(?P<before>^\s*<\?xml\s[^<>?]{0,200}?\sencoding\s*=\s*["']"""
    r"""|<meta\s[^<>]{0,400}?\bcharset\s*=\s*(?:["']\s*)?)(?P<encoding>[\w.:-]{1,40})""",
    re.IGNORECASE,
)
DECLARATION_CHARACTERS = 4096
"""Characters at the beginning of a file that are searched for its encoding."""

REMEDY = "convert it to UTF-8, or set its encoding, such as --encoding windows-1252"

WINDOWS = {"ascii": "cp1252", "iso8859-1": "cp1252"}
"""Encodings that browsers use instead of the one in a ``meta`` element."""

NOT_TEXT = ("idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape", "utf-7")
"""Codecs of Python that are not encodings of text files."""

NO_LANGUAGE = ("x", "und", "zxx", "mul")
"""First subtags of codes that name no language."""


class Reason(Enum):
    """The reason why a text is not translated; the value follows the number of such texts."""

    CHOICE = "with a plural or select; translate them by hand"
    PLACEHOLDER = "whose translation lost a placeholder; translate them by hand"
    LANGUAGE = "marked as another language than the source"
    COMPARED = "that a formula, a list of choices or a condition compares with"


SAMPLE_CHARACTERS = 2000
"""Characters of a document for language detection."""

Untranslated = Counter[Reason]
"""Number of texts that are not translated, by reason."""


@dataclass
class LanguageMarks:
    """Evaluates the language codes in a document, and counts texts in other languages."""

    codes: LanguageCodes | None
    """The codes of source and target, if they are known."""
    untranslated: Untranslated = field(default_factory=Untranslated)
    """Number of texts that are not translated because of their language."""

    def is_source(self, code: str | None) -> bool:
        """Return whether a code names the source language."""
        return self.codes is not None and pick_code([code or ""], self.codes[0]) is not None

    def is_other(self, code: str | None) -> bool:
        """Return whether a code names another language than the source language."""
        language = re.split("[-_]", (code or "").strip().lower())[0]
        is_known = self.codes is not None and language and language not in NO_LANGUAGE
        return bool(is_known) and not self.is_source(code)

    def count(self, text: str) -> None:
        """Count a text in another language, if it has letters."""
        if any(map(str.isalpha, text)):
            self.untranslated[Reason.LANGUAGE] += 1


Result = TypeVar("Result", str, bytes)


class Document(Generic[Result]):
    """A document of any format, in one or more files."""

    def __init__(
        self,
        files: Mapping[str, Iterable[Part]],
        encode: Callable[[Mapping[str, str]], Result],
        untranslated: Untranslated | None = None,
        *,
        holds_messages: bool = False,
    ) -> None:
        """Create a document from the parts of each file by name.

        ``encode`` makes it from the texts of the files. Readers may still increase the counts of
        ``untranslated`` texts. ``holds_messages`` is true for messages of programs.
        """
        self._files = {name: list(parts) for name, parts in files.items()}
        self._encode: Callable[[Mapping[str, str]], Result] = encode
        self._segments = [*find_segments(chain.from_iterable(self._files.values()))]
        passages = [segment.passage for segment in self._segments]
        self.passages = (
            [replace(each, is_message=True) for each in passages] if holds_messages else passages
        )
        """The passages to translate."""
        self.untranslated = Untranslated() if untranslated is None else untranslated

    def take_sample(self) -> str:
        """Return the beginning of the text for language detection."""
        sample = ""
        for passage in self.passages:
            if len(sample) >= SAMPLE_CHARACTERS:
                break
            sample += f"{passage.text[:SAMPLE_CHARACTERS]}\n"
        return sample

    def write(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int] = ()
    ) -> Result:
        """Return the document with translations of its passages; call this at most once.

        Formats of translation tools mark the passages with ``doubtful`` indices for review.
        """
        by_segment = {
            segment: (items, number in doubtful)
            for number, (segment, items) in enumerate(
                zip(self._segments, translations, strict=True)
            )
        }
        texts = {name: write_parts(parts, by_segment) for name, parts in self._files.items()}
        return self._encode(texts)

    def encode_as(self: "Document[str]", encode: Callable[[str], bytes]) -> "Document[bytes]":
        """Return this document with a text as a document with a file."""
        return Document(self._files, lambda texts: encode(self._encode(texts)), self.untranslated)


def make_document(parts: Iterable[Part], untranslated: Untranslated | None = None) -> Document[str]:
    """Return a document with one text from its parts and the counts of untranslated texts."""
    return Document({"": parts}, lambda texts: texts[""], untranslated)


def name_translation(path: Path, target: str) -> Path:
    """Return the default path of a translation: ``letter.en.docx`` for ``letter.docx``."""
    return path.with_name(f"{path.stem}.{target}{path.suffix}")


class Encoded(NamedTuple):
    """The text of a file, and its encoding."""

    text: str
    """The text without the byte order mark."""
    encoding: str = "utf-8"
    mark: str = ""
    """The byte order mark, or an empty string."""

    def encode(self, text: str) -> bytes:
        """Return a text in this encoding; unsupported characters become numeric references."""
        return (self.mark + text).encode(self.encoding, "xmlcharrefreplace")


def decode_text(data: bytes) -> Encoded:
    """Decode a file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        DocumentError: if the file is in another encoding.
    """
    encoding = UTF16_ADVICE.get(data[:2], "utf-8")
    if encoding == "utf-8":
        text = decode_utf8(data, "this document", error=DocumentError, remedy=REMEDY)
    else:
        text = _decode(data, encoding)
    mark = text[: text.startswith(BYTE_ORDER_MARK)]
    return Encoded(text.removeprefix(mark), encoding, mark)


def decode_declared(data: bytes) -> Encoded:
    """Decode a file of HTML or XML.

    Encodings are tried in this order: that of a byte order mark, UTF-8, the declared one. If the
    declaration is wrong, it is corrected in the text.

    Raises:
        DocumentError: if the file is in none of these encodings.
    """
    try:
        file = decode_text(data)
    except DocumentError:
        codec = _find_declared(data[:DECLARATION_CHARACTERS].decode("latin-1"))
        if codec == "utf-8":
            raise
        return Encoded(_decode(data, codec), codec)
    codec = _find_declared(file.text[:DECLARATION_CHARACTERS])
    if file.text.isascii() and not file.mark:
        return file._replace(encoding=codec)
    name = file.encoding.removesuffix("-le").removesuffix("-be")
    if codec in {name, file.encoding}:
        return file
    return file._replace(text=DECLARED.sub(rf"\g<before>{name}", file.text, count=1))


def _find_declared(text: str) -> str:
    """Return the codec of the encoding that a text declares, or UTF-8."""
    declared = DECLARED.search(text)
    codec = _find_codec(declared["encoding"]) if declared else "utf-8"
    is_page = declared and declared["before"].lower().startswith("<meta")
    return WINDOWS.get(codec, codec) if is_page else codec


def recode(data: bytes, encoding: str) -> bytes:
    """Return a file converted to UTF-8 with a byte order mark.

    Raises:
        DocumentError: if the encoding is unknown, or the file is not in it.
    """
    return _decode(data, _find_codec(encoding)).removeprefix(BYTE_ORDER_MARK).encode("utf-8-sig")


def _find_codec(encoding: str) -> str:
    """Return Python's name of an encoding.

    Raises:
        DocumentError: if the encoding is unknown or not for text files.
    """
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except LookupError:
        name = NOT_TEXT[0]
    if name in NOT_TEXT:
        raise DocumentError(
            f"{encoding[:20]!r} is not an encoding of text; use one such as windows-1252"
        ) from None
    return name


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeError:
        raise DocumentError(f"this document is not in {encoding}; {REMEDY}") from None
