"""``nmt translate-file``: documents."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli import options
from nmt_core.cli.lines import open_standard_input
from nmt_core.documents.formats import (
    FORMATS,
    MAX_DOCUMENT_BYTES,
    TranslatedDocument,
    refuse_unwritable,
    translate_data,
    translate_file,
)
from nmt_core.documents.review import REVIEW_BELOW, report_doubts, write_review
from nmt_core.translation.document_files import choose_for_document, name_output


def translate_documents(
    *,
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Documents. \\[default: text from stdin]"),
    ] = None,
    model: options.Model,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Format: {', '.join(FORMATS.builtins)}. \\[default: by the file's name]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Output file. \\[default: such as letter.en.docx]"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Such as windows-1252. \\[default: UTF-8]")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite existing translations.")
    ] = False,
    review: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all segments to this XLIFF file.")
    ] = None,
    review_below: options.ReviewBelow = REVIEW_BELOW,
    beam_size: options.BeamSize = None,
    glossary: options.GlossaryFile = None,
    memory: options.MemoryFile = None,
    source: options.FromLanguage = None,
    target: options.TargetLanguage = None,
    tag: options.TagName = None,
    engine: options.EngineName = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Translate documents.

    letter.docx becomes letter.en.docx. Line ends, lists, tags, links, code and times stay
    unchanged, like existing translations in .po and .xlf. Segments that need review are
    reported on standard error.

    **Examples**

        nmt translate-file letter.docx page.html README.md film.srt

        nmt translate-file < letter.txt > translated.txt

        nmt translate-file --format html < page.html > translated.html

    Correct the file of `--review`, then import it with `nmt corrections import`.
    """
    paths = documents or []
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    if output and len(paths) > 1:
        raise ConfigError(f"--output names one file, not {len(paths)}; translate one at a time")
    translator = options.open_translator(
        model,
        device,
        threads,
        engine=engine,
        glossary=glossary,
        memory=memory,
        tag=tag,
        direction=(source, target) if glossary or review else None,
    )
    if review:
        if translator.languages is None:
            raise ConfigError("--review requires a model that names its languages")
        refuse_unwritable(review, force=force)
    choose = partial(choose_for_document, translator, source=source, target=target)
    settings: Any = {"beam_size": beam_size, "review_below": review_below}
    translated: dict[str, TranslatedDocument] = {}
    for path in paths:
        own = choose(path, kind, encoding)
        out = output or name_output(own, path)
        translated[str(path)] = translate_file(
            path, out, own.open_documents(**settings), kind, encoding=encoding, force=force
        )
        typer.echo(out, err=True)
    if not paths:
        name, kind = "standard input", kind or "text"
        data = read_stream(output, force=force)
        opened = choose(data, kind, encoding).open_documents(**settings)
        translated[name] = translate_data(data, kind, opened, encoding)
        write_stream(translated[name].data, output)
    for name, document in translated.items():
        report_document(name, document, review_below)
    if review and translator.languages:
        segments = {name: document.segments for name, document in translated.items()}
        write_review(review, segments, translator.languages.codes, review_below)


def read_stream(output: Path | None, *, force: bool) -> bytes:
    """Return the document of standard input, after a check of the output file."""
    if output:
        refuse_unwritable(output, force=force)
    stream = open_standard_input()
    if stream.isatty():
        typer.echo("Write text; press Ctrl-D to translate it.", err=True)
    return stream.read(MAX_DOCUMENT_BYTES + 1)


def write_stream(data: bytes, output: Path | None) -> None:
    """Write a translated document to a file or to standard output."""
    if output:
        with files.whole_file(output) as part:
            part.write_bytes(data)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def report_document(name: str, document: TranslatedDocument, review_below: float) -> None:
    """Print how many texts of a document are not translated or need review, and why."""
    for reason, count in (+document.untranslated).items():
        texts = f"{count:,} text{'s' * (count > 1)}"
        typer.echo(f"{name}: not translated: {texts} {reason.value}", err=True)
    translations = dict(enumerate((translated for _, translated in document.segments), start=1))
    for report in report_doubts(translations, review_below):
        typer.echo(f"{name}: {report}", err=True)
