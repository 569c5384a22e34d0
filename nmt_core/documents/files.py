"""Documents as files: of which kind they are, and what their translations are called."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_core.base import files
from nmt_core.base.errors import DocumentError
from nmt_core.documents.docx import WordDocument
from nmt_core.documents.html import read_html
from nmt_core.documents.markdown import read_markdown
from nmt_core.documents.passage import Item, Passage
from nmt_core.documents.pieces import TextDocument
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import Document
from nmt_core.documents.subtitles import read_subtitles
from nmt_core.documents.translator import DocumentTranslator

MOST_BYTES = 2**25
"""Of a document; a longer one is to be translated in parts."""


class Format(NamedTuple):
    """A kind of documents."""

    suffixes: tuple[str, ...]
    """Of the names of its files."""
    mime_type: str
    read: Callable[[bytes], Document[bytes]]
    """Raises DocumentError if a document cannot be read."""


def decode(data: bytes) -> str:
    """Return a document's bytes as text.

    Raises:
        DocumentError: if they are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"this document is not UTF-8 (byte {error.start + 1:,} is 0x{data[error.start]:02x}); "
            f"save it as UTF-8"
        ) from None


class _TextFile(NamedTuple):
    document: TextDocument

    @property
    def passages(self) -> Sequence[Passage]:
        return self.document.passages

    def write(self, translations: Sequence[tuple[Item, ...]]) -> bytes:
        return self.document.write(translations).encode()


def _decoding(read: Callable[[str], TextDocument]) -> Callable[[bytes], Document[bytes]]:
    return lambda data: _TextFile(read(decode(data)))


FORMATS = {
    "text": Format((".txt",), "text/plain", _decoding(read_plain_text)),
    "html": Format((".html", ".htm", ".xhtml"), "text/html", _decoding(read_html)),
    "markdown": Format((".md", ".markdown"), "text/markdown", _decoding(read_markdown)),
    "subtitles": Format((".srt", ".vtt"), "text/plain", _decoding(read_subtitles)),
    "docx": Format(
        (".docx",),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        WordDocument,
    ),
}
"""The kinds of documents by name."""

SUFFIXES = tuple(suffix for kind in FORMATS.values() for suffix in kind.suffixes)


def find_format(name: str) -> Format:
    """Return the kind of a file by the end of its name.

    Raises:
        DocumentError: if it is of no kind that is translated.
    """
    for kind in FORMATS.values():
        if name.lower().endswith(kind.suffixes):
            return kind
    raise DocumentError(
        f"{name} is of no kind that is translated; its name must end in {', '.join(SUFFIXES)}"
    )


def name_translation(path: Path, target: str) -> Path:
    """Return what the translation of a file is called: ``letter.en.docx`` of ``letter.docx``.

    Args:
        path: the file.
        target: code of the language it is translated to.
    """
    return path.with_name(f"{path.stem}.{target}{path.suffix}")


def translate_document(data: bytes, kind: Format, translator: DocumentTranslator) -> bytes:
    """Return a document translated.

    Raises:
        DocumentError: if it is too long, or cannot be read.
    """
    if len(data) > MOST_BYTES:
        raise DocumentError(
            f"this document has {len(data):,} bytes, more than {MOST_BYTES:,}; cut it in parts"
        )
    return translator.translate(kind.read(data))


def write_document(path: Path, data: bytes) -> None:
    """Write a document that appears whole or not at all.

    Raises:
        DocumentError: if there is such a file already.
    """
    refuse_present(path)
    with files.whole_file(path) as part:
        part.write_bytes(data)


def refuse_present(path: Path) -> None:
    """Refuse to write over a file.

    Raises:
        DocumentError: if it is there.
    """
    if path.exists():
        raise DocumentError(f"{path} is there already; remove it, or give another name by --output")


def translate_file(
    path: Path, out: Path, translator: DocumentTranslator, kind: Format | None = None
) -> None:
    """Translate a file into another one, which appears whole or not at all.

    Args:
        path: the file.
        out: the other one.
        translator: translates documents.
        kind: of both; None if their names say it.

    Raises:
        DocumentError: if the file cannot be read, or ``out`` is there already.
    """
    kind = kind or find_format(path.name)
    refuse_present(out)
    if not path.is_file():
        raise DocumentError(f"{path} is no file; give the name of one that is there")
    try:
        translated = translate_document(path.read_bytes(), kind, translator)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None
    write_document(out, translated)
