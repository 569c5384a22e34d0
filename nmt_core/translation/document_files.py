"""Translate files of documents; lines do not need this file, which imports all formats."""

from contextlib import suppress
from pathlib import Path

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import name_translation
from nmt_core.documents.formats import (
    TranslatedDocument,
    find_format,
    read_document,
    translate_file,
)
from nmt_core.documents.review import REVIEW_BELOW
from nmt_core.translation.directions import detect_directions, list_candidates
from nmt_core.translation.translator import Translator


def name_output(translator: Translator, path: Path) -> Path:
    """Return the path of a file's translation, ``letter.en.docx`` for ``letter.docx``.

    Raises:
        DocumentError: if the languages of the model are unknown.
    """
    if translator.languages is None:
        raise DocumentError(
            f"the translation of {path} needs --output, because the model does not name its "
            f"languages"
        )
    return name_translation(path, translator.languages.target)


def choose_for_document(
    translator: Translator,
    document: Path | bytes,
    kind: str | None,
    encoding: str | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
) -> Translator:
    """Return the translator of a document's direction; its source is detected if necessary.

    The language of a document that cannot be read does not matter.

    Raises:
        ConfigError: if the model does not have the direction, or has several targets.
    """
    candidates = list_candidates(translator.directions, source, target)
    if translator.has_direction(source, target) or not candidates:
        return translator.choose(source, target)
    sample = ""
    with suppress(DocumentError, OSError):
        data = document if isinstance(document, bytes) else document.read_bytes()
        kind = kind or find_format(str(document))
        sample = read_document(data, kind, encoding).take_sample()
    [languages] = detect_directions(translator.directions, [sample], source, target)
    return translator.choose(*languages.codes)


def translate_document(
    path: Path | str,
    translator: Translator,
    output: Path | str | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    kind: str | None = None,
    review_below: float = REVIEW_BELOW,
) -> TranslatedDocument:
    """Translate a file into a new file, completely or not at all.

    Args:
        path: the source file.
        translator: translates its sentences.
        output: the new file; None writes ``letter.en.docx`` next to ``letter.docx``.
        source: source language of a multilingual model; None detects it.
        target: target language; None stands for the only one.
        kind: name of the format; None derives it from the file name.
        review_below: units with a lower confidence are marked for review.

    Raises:
        ConfigError: if the model does not have the direction.
        DocumentError: if the file cannot be read, or the output exists or has no name.
    """
    translator = choose_for_document(translator, Path(path), kind, source=source, target=target)
    out = Path(output) if output else name_output(translator, Path(path))
    documents = translator.open_documents(review_below=review_below)
    return translate_file(Path(path), out, documents, kind)
