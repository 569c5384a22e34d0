"""``nmt translate`` of documents: files, or all of standard input."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.cli.lines import open_standard_input
from nmt_core.cli.translate_options import Approved, DocumentOptions, open_approved
from nmt_core.documents import files
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.placeholders import unshield
from nmt_core.documents.translator import DocumentTranslator, Translate
from nmt_core.documents.untranslated import Untranslated
from nmt_core.text.alignment import Translated
from nmt_core.translation.translator import Translator


def translate_documents(
    translator: Translator,
    arguments: Sequence[str],
    *,
    options: DocumentOptions,
    beam_size: int | None,
    review_below: float,
    memory: Path | None = None,
) -> None:
    """Translate files, or standard input, each as a whole.

    Args:
        translator: translates lines.
        arguments: names of files; none for standard input.
        options: how they are read, and where they are written.
        beam_size: live hypotheses per sentence; None as configured.
        review_below: the confidence below which a unit is marked for a person to look at.
        memory: whose approved translations are taken; None for none.

    Raises:
        ConfigError: if the format is unknown, the translation has no name, or there is no memory.
        DocumentError: if a document cannot be read, or its translation is there already.
    """
    kind, output, encoding, force = options
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    source, target = translator.languages.codes if translator.languages else ("", "")
    documents = DocumentTranslator.using(
        translator, source, target=target, beam_size=beam_size, review_below=review_below
    )
    if memory:
        recall = recall_lines(documents.translate_lines, open_approved(memory, translator))
        documents = replace(documents, translate_lines=recall)
    untranslated: dict[str, Untranslated] = {}
    for name in arguments:
        path = Path(name)
        out = output or _name_translation(path, translator)
        untranslated[name] = files.translate_file(
            path, out, documents, kind, encoding=encoding, force=force
        )
        typer.echo(out, err=True)
    if not arguments:
        if output:
            files.refuse_unwritable(output, force=force)
        stream = open_standard_input()
        if stream.isatty():
            typer.echo("Write text; it is translated when Ctrl-D ends it.", err=True)
        data = stream.read(files.MOST_DOCUMENT_BYTES + 1)
        written, untranslated["standard input"] = files.translate_document(
            data, kind or "text", documents, encoding
        )
        if output:
            files.write_document(output, written, force=force)
        else:
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()
    _report_untranslated(untranslated)


def _report_untranslated(untranslated: Mapping[str, Untranslated]) -> None:
    """Print how many texts of each file stay as they are, and why."""
    for name, counts in untranslated.items():
        for reason, count in (+counts).items():
            texts = f"{count:,} text{'s' * (count > 1)}"
            typer.echo(f"{name}: not translated: {texts} {reason.value}", err=True)


def recall_lines(translate: Translate, find: Approved) -> Translate:
    """Return what translates sentences by a memory, but for those with inner markup."""

    def translate_lines(lines: Sequence[str], /, *, links: bool) -> Sequence[Translated]:
        known = [None if links else find(unshield(line)) for line in lines]
        left = [line for line, one in zip(lines, known, strict=True) if one is None]
        found = iter(translate(left, links=links) if left else [])
        return [one or next(found) for one in known]

    return translate_lines


def _name_translation(path: Path, translator: Translator) -> Path:
    if translator.languages is None:
        raise DocumentError(
            f"{path} has a translation without a name, for the model does not say its languages; "
            f"give one by --output"
        )
    return files.name_translation(path, translator.languages.target)
