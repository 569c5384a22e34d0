"""PowerPoint presentations (.pptx): the text of slides and notes, and descriptions of pictures."""

import re
from functools import partial

from nmt_core.documents.archive import ArchivedDocument, ArchiveKind, read_archive
from nmt_core.documents.pieces import TextDocument
from nmt_core.documents.runs import RunStyle, read_runs
from nmt_core.documents.xml_pieces import read_elements, scan_xml

PRESENTATION = ArchiveKind(
    "presentation",
    ".pptx",
    re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide|diagrams/data|charts/chart)\d*\.xml"),
    needed="ppt/presentation.xml",
)
RUNS = RunStyle("r", "rPr", frozenset({"pPr", "br", "endParaRPr"}))


def read_presentation(data: bytes) -> ArchivedDocument:
    """Read a presentation; layouts, and what PowerPoint computes, stay.

    Raises:
        DocumentError: if it is none, holds macros, is encrypted, or unpacks to too much.
    """
    return ArchivedDocument(data, read_archive(data, PRESENTATION), _read_slide)


def _read_slide(_: str, text: str) -> TextDocument:
    read = partial(read_runs, style=RUNS)
    pieces = scan_xml(text)
    return TextDocument(read_elements(pieces, lambda tag: tag.name == "p", read, described="cNvPr"))
