"""``nmt translate`` of documents: files, or all of standard input."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.lines import open_standard_input
from nmt_core.cli.translate_options import DocumentOptions
from nmt_core.documents import files
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.untranslated import Untranslated
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
    kind, output, encoding, force = options
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    documents = open_documents(translator, beam_size=beam_size, review_below=review_below)
    untranslated: dict[str, Untranslated] = {}
    for name in arguments:
        out = output or name_output(Path(name), translator)
        translated = files.translate_file(
            Path(name), out, documents, kind, encoding=encoding, force=force
        )
        untranslated[name] = translated.untranslated
        typer.echo(out, err=True)
    if not arguments:
        if output:
            files.refuse_unwritable(output, force=force)
        stream = open_standard_input()
        if stream.isatty():
            typer.echo("Write text; it is translated when Ctrl-D ends it.", err=True)
        data = stream.read(files.MOST_DOCUMENT_BYTES + 1)
        translated = files.translate_data(data, kind or "text", documents, encoding)
        untranslated["standard input"] = translated.untranslated
        if output:
            files.write_document(output, translated.data, force=force)
        else:
            sys.stdout.buffer.write(translated.data)
            sys.stdout.buffer.flush()
    _report_untranslated(untranslated)


def _report_untranslated(untranslated: Mapping[str, Untranslated]) -> None:
    """Print how many texts of each file stay as they are, and why."""
    for name, counts in untranslated.items():
        for reason, count in (+counts).items():
            texts = f"{count:,} text{'s' * (count > 1)}"
            typer.echo(f"{name}: not translated: {texts} {reason.value}", err=True)
