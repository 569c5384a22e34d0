"""``nmt translate`` and ``nmt translate-file``: lines and documents."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli.lines import (
    format_breaches,
    format_confidence,
    open_standard_input,
    write_portions,
)
from nmt_core.cli.options import (
    BeamSize,
    Device,
    EngineName,
    GlossaryFile,
    LineArguments,
    MemoryFile,
    Model,
    ReviewBelow,
    TagName,
    Threads,
    open_portions,
    open_translator,
)
from nmt_core.documents.formats import (
    FORMATS,
    MOST_DOCUMENT_BYTES,
    TranslatedDocument,
    refuse_unwritable,
    translate_data,
    translate_file,
)
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.documents.review import REVIEW_BELOW, report_doubts, write_review
from nmt_core.translation.translation import Translation, translate_texts
from nmt_core.translation.translator import Translator

FLAG_BELOW = 0.1
"""Lines of a confidence below this are reported."""


def translate(
    *,
    lines: LineArguments = None,
    model: Model,
    beam_size: BeamSize = None,
    whole_lines: Annotated[
        bool,
        typer.Option("--whole-lines", help="Translate a line as it is, even of several sentences."),
    ] = False,
    checks: Annotated[
        bool, typer.Option("--checks", help="Write which numbers, placeholders etc. are lost.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write the probability that it is good.")
    ] = False,
    glossary: GlossaryFile = None,
    memory: MemoryFile = None,
    tag: TagName = None,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate lines.

    Lines are arguments, or come by standard input. One line in gives one line out, in the same
    order, as soon as it comes. Each sentence of a line is translated by itself.

    **Examples**

        nmt translate 'Ein Haus.'

        nmt translate --model models/export < in.txt > out.txt

        nmt translate --glossary terms.tsv --checks --confidence < in.txt

    With tabs between them follow, if asked for: `kept` or what was lost, such as `missing 94, unit
    5`; the confidence, such as `0.87`, or `-` if there is none. Lines that need review are named on
    standard error.

    A line of `--glossary` has a term, its translation and further forms that count, with tabs
    between them; a term alone stays as it is.

    See also: `nmt translate-file` for documents and running text, `nmt explain` for alternatives,
    scores, attention and alignments, `nmt sample`, `nmt next`.
    """
    refuse_files(lines or [])
    portions = open_portions(lines)
    translator = open_translator(
        model,
        device,
        threads,
        engine=engine,
        glossary=glossary,
        memory=memory,
        tag=tag,
    )
    if translator.confidence_model is None and confidence:
        raise ConfigError("this model has no confidence, as its card may explain")
    translator.search([], beam_size=beam_size)  # refuses a wrong beam before any line comes
    search = partial(search_whole if whole_lines else search_by_sentence, translator, beam_size)
    write = partial(format_line, checks=checks, confidence=confidence)
    write_portions(portions, search, write, FLAG_BELOW)


def search_by_sentence(
    translator: Translator, beam_size: int | None, lines: Sequence[str]
) -> list[list[Translation]]:
    """Return the translation of each line, sentence by sentence."""
    documents = translator.open_documents(beam_size=beam_size)
    return [[each] for each in translate_texts(documents, lines)]


def search_whole(
    translator: Translator, beam_size: int | None, lines: Sequence[str]
) -> list[list[Translation]]:
    """Return the translation of each line as a whole, approved ones from the memory."""
    approved = [translator.recall(line) for line in lines]
    rest = [line for line, own in zip(lines, approved, strict=True) if own is None]
    searched = iter(translator.search(rest, beam_size=beam_size, n_best=1, probabilities=False))
    return [next(searched) if own is None else [own] for own in approved]


def format_line(
    _number: int, translations: Sequence[Translation], *, checks: bool, confidence: bool
) -> Iterator[str]:
    """Yield the record of a line."""
    [best] = translations
    fields = [best.text]
    if checks:
        fields.append(format_breaches(best.breaches))
    if confidence:
        fields.append(format_confidence(best.confidence))
    yield "\t".join(fields)


def refuse_files(lines: Sequence[str]) -> None:
    """Refuse names of files, which another command translates."""
    for line in lines:
        with suppress(OSError, ValueError):  # the name is too long
            if Path(line).is_file():
                raise ConfigError(
                    f"{line} names a file, which nmt translate-file translates; give a line that "
                    f"ends so by standard input"
                )


def translate_documents(
    *,
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Documents. \\[default: text from stdin]"),
    ] = None,
    model: Model,
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
        typer.Option(metavar="FILE", help="Translation of one document. \\[letter.en.docx]"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Such as windows-1252. \\[default: UTF-8]")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a translation that exists.")
    ] = False,
    review: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write each segment to this XLIFF.")
    ] = None,
    review_below: ReviewBelow = REVIEW_BELOW,
    beam_size: BeamSize = None,
    glossary: GlossaryFile = None,
    memory: MemoryFile = None,
    tag: TagName = None,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate documents.

    letter.docx becomes letter.en.docx. Line ends, lists, tags, links, code and times stay as they
    are, and so does what is translated already in .po and .xlf. Segments that need review are named
    on standard error.

    **Examples**

        nmt translate-file letter.docx page.html README.md film.srt

        nmt translate-file < letter.txt > translated.txt

        nmt translate-file --format html < page.html > translated.html

    Correct the file of `--review`, and `nmt corrections import` takes it.
    """
    paths = documents or []
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    if output and len(paths) > 1:
        raise ConfigError(f"--output names one file, not {len(paths)}; translate one at a time")
    translator = open_translator(
        model, device, threads, engine=engine, glossary=glossary, memory=memory, tag=tag
    )
    if review:
        if translator.languages is None:
            raise ConfigError("--review names languages, and the model does not say its own")
        refuse_unwritable(review, force=force)
    opened = translator.open_documents(beam_size=beam_size, review_below=review_below)
    translated: dict[str, TranslatedDocument] = {}
    for path in paths:
        out = output or translator.name_output(path)
        translated[str(path)] = translate_file(
            path, out, opened, kind, encoding=encoding, force=force
        )
        typer.echo(out, err=True)
    if not paths:
        name = "standard input"
        translated[name] = translate_stream(opened, kind or "text", output, encoding, force=force)
    for name, document in translated.items():
        report_document(name, document, review_below)
    if review and translator.languages:
        segments = {name: document.segments for name, document in translated.items()}
        write_review(review, segments, translator.languages.codes, review_below)


def translate_stream(
    translator: DocumentTranslator,
    kind: str,
    output: Path | None,
    encoding: str | None,
    *,
    force: bool,
) -> TranslatedDocument:
    """Translate standard input as a document, to a file or to standard output."""
    if output:
        refuse_unwritable(output, force=force)
    stream = open_standard_input()
    if stream.isatty():
        typer.echo("Write text; it is translated when Ctrl-D ends it.", err=True)
    data = stream.read(MOST_DOCUMENT_BYTES + 1)
    translated = translate_data(data, kind, translator, encoding)
    if output:
        with files.whole_file(output) as part:
            part.write_bytes(translated.data)
    else:
        sys.stdout.buffer.write(translated.data)
        sys.stdout.buffer.flush()
    return translated


def report_document(name: str, document: TranslatedDocument, review_below: float) -> None:
    """Print how many texts of a document stay as they are or need review, and why."""
    for reason, count in (+document.untranslated).items():
        texts = f"{count:,} text{'s' * (count > 1)}"
        typer.echo(f"{name}: not translated: {texts} {reason.value}", err=True)
    translations = dict(enumerate((translated for _, translated in document.segments), start=1))
    for report in report_doubts(translations, review_below):
        typer.echo(f"{name}: {report}", err=True)
