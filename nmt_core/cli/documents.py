"""``nmt translate`` of documents: files, or all of standard input."""

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.lines import open_standard_input
from nmt_core.cli.translate_options import DocumentOptions
from nmt_core.documents import files
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.review import report_doubts, write_review
from nmt_core.translation.texts import name_output, open_documents
from nmt_core.translation.translator import Translator


def translate_documents(
    translator: Translator,
    arguments: Sequence[str],
    *,
    options: DocumentOptions,
    beam_size: int | None,
    review_below: float,
) -> None:
    """Translate files, or standard input, each as a whole.

    Args:
        translator: translates lines.
        arguments: names of files; none for standard input.
        options: how they are read, and where they are written.
        beam_size: live hypotheses per sentence; None as configured.
        review_below: the confidence below which a unit is marked for a person to look at.

    Raises:
        ConfigError: if the format is unknown, or the translation has no name.
        DocumentError: if a document cannot be read, or its translation is there already.
    """
    kind, output, encoding, force, review = options
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    documents = open_documents(translator, beam_size=beam_size, review_below=review_below)
    done: dict[str, files.TranslatedDocument] = {}
    for name in arguments:
        out = output or name_output(Path(name), translator)
        done[name] = files.translate_file(
            Path(name), out, documents, kind, encoding=encoding, force=force
        )
        typer.echo(out, err=True)
    if not arguments:
        if output:
            files.refuse_unwritable(output, force=force)
        stream = open_standard_input()
        if stream.isatty():
            typer.echo("Write text; it is translated when Ctrl-D ends it.", err=True)
        data = stream.read(files.MOST_DOCUMENT_BYTES + 1)
        translated = files.translate_data(data, kind or "text", documents, encoding)
        done["standard input"] = translated
        if output:
            files.write_document(output, translated.data, force=force)
        else:
            sys.stdout.buffer.write(translated.data)
            sys.stdout.buffer.flush()
    for name, document in done.items():
        _report(name, document, review_below)
    if review:
        segments = {name: document.segments for name, document in done.items()}
        write_review(review, segments, documents.codes or ("", ""), review_below)


def refuse_review(path: Path, translator: Translator, *, force: bool = False) -> None:
    """Refuse a review file that could not be written at the end.

    Raises:
        ConfigError: if the model does not say its languages.
        DocumentError: if the file is there, or its folder takes no files.
    """
    if translator.languages is None:
        raise ConfigError("--review names languages, and the model does not say its own")
    files.refuse_unwritable(path, force=force)


def _report(name: str, document: files.TranslatedDocument, review_below: float) -> None:
    """Print how many texts of a document stay as they are or need review, and why."""
    for reason, count in (+document.untranslated).items():
        texts = f"{count:,} text{'s' * (count > 1)}"
        typer.echo(f"{name}: not translated: {texts} {reason.value}", err=True)
    translations = dict(enumerate((one.translated for one in document.segments), start=1))
    for told in report_doubts(translations, review_below):
        typer.echo(f"{name}: {told}", err=True)
