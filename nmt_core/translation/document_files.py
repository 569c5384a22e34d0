"""Translate files of documents; lines do not need this file, which imports all formats."""

from pathlib import Path

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import name_translation
from nmt_core.documents.formats import TranslatedDocument, translate_file
from nmt_core.documents.review import REVIEW_BELOW
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


def translate_document(
    path: Path | str,
    translator: Translator,
    output: Path | str | None = None,
    *,
    kind: str | None = None,
    review_below: float = REVIEW_BELOW,
) -> TranslatedDocument:
    """Translate a file into a new file, completely or not at all.

    Args:
        path: the source file.
        translator: translates its sentences.
        output: the new file; None writes ``letter.en.docx`` next to ``letter.docx``.
        kind: name of the format; None derives it from the file name.
        review_below: units with a lower confidence are marked for review.

    Raises:
        DocumentError: if the file cannot be read, or the output exists or has no name.
    """
    out = Path(output) if output else name_output(translator, Path(path))
    documents = translator.open_documents(review_below=review_below)
    return translate_file(Path(path), out, documents, kind)
