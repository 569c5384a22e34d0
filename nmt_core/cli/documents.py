"""``nmt translate`` of documents: files, or all of standard input."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.cli.lines import open_standard_input
from nmt_core.cli.translate_options import Approved, open_approved
from nmt_core.documents import files
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.placeholders import unshield
from nmt_core.documents.translator import DocumentTranslator, Translate
from nmt_core.text.alignment import Translated
from nmt_core.translation.translator import Translator


def translate_documents(
    translator: Translator,
    arguments: Sequence[str],
    *,
    kind: str | None,
    output: Path | None,
    beam_size: int | None,
    review_below: float,
    memory: Path | None = None,
) -> None:
    """Translate files, or standard input, each as a whole.

    Args:
        translator: translates lines.
        arguments: names of files; none for standard input.
        kind: name of their format; None by their names, and of standard input plain text.
        output: where the translation goes; None for standard output, and beside a file.
        beam_size: live hypotheses per sentence; None as configured.
        review_below: the confidence below which a unit is marked for a person to look at.
        memory: whose approved translations are taken; None for none.

    Raises:
        ConfigError: if the format is unknown, the translation has no name, or there is no memory.
        DocumentError: if a document cannot be read, or its translation is there already.
    """
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    source, target = translator.languages.codes if translator.languages else ("", "")
    documents = DocumentTranslator.using(
        translator, source, target=target, beam_size=beam_size, review_below=review_below
    )
    if memory:
        recall = recall_lines(documents.translate_lines, open_approved(memory, translator))
        documents = replace(documents, translate_lines=recall)
    left: dict[str, int] = {}
    for name in arguments:
        path = Path(name)
        out = output or _name_translation(path, translator)
        left[name] = files.translate_file(path, out, documents, kind)
        typer.echo(out, err=True)
    if not arguments:
        if output:
            files.refuse_unwritable(output)
        stream = open_standard_input()
        if stream.isatty():
            typer.echo("Write text; it is translated when Ctrl-D ends it.", err=True)
        data = stream.read(files.MOST_DOCUMENT_BYTES + 1)
        written, left["standard input"] = files.translate_document(data, kind or "text", documents)
        if output:
            files.write_document(output, written)
        else:
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()
    if any(left.values()):
        typer.echo(describe_left(left), err=True)


def describe_left(left: Mapping[str, int]) -> str:
    """Say in a sentence how many messages stay as they are.

    Args:
        left: how many, by the name of their file.
    """
    told = (
        f"{count:,} message{'s' * (count > 1)} of {name}" for name, count in left.items() if count
    )
    return (
        f"left as they are, for a plural or select stands amid their text or beside quoted syntax: "
        f"{', '.join(told)}; translate them by hand"
    )


def recall_lines(translate: Translate, find: Approved) -> Translate:
    """Return what translates sentences by a memory, but for those with inner markup."""

    def translate_lines(lines: Sequence[str], /, *, attention: bool) -> Sequence[Translated]:
        known = [None if attention else find(unshield(line)) for line in lines]
        left = [line for line, one in zip(lines, known, strict=True) if one is None]
        found = iter(translate(left, attention=attention) if left else [])
        return [one or next(found) for one in known]

    return translate_lines


def _name_translation(path: Path, translator: Translator) -> Path:
    if translator.languages is None:
        raise DocumentError(
            f"{path} has a translation without a name, for the model does not say its languages; "
            f"give one by --output"
        )
    return files.name_translation(path, translator.languages.target)
