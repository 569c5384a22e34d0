"""``nmt translate`` of documents: files, or what comes by standard input as a whole."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.cli.lines import open_standard_input
from nmt_core.documents.formats import FORMATS, list_suffixes

if TYPE_CHECKING:  # takes a moment to import, and lines need none of it
    from nmt_core.translation.translator import Translator

Paragraphs = Annotated[
    bool,
    typer.Option("--paragraphs", help="Read running text, not one sentence a line: --format text."),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Read a document of this format: {', '.join(FORMATS.ours)}. "
        "\\[default: by a file's name]",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write a document's translation there. \\[default: letter.en.docx]"
    ),
]


def is_document(argument: str) -> bool:
    """Tell whether an argument names a document and is no line: one word with such an ending."""
    if len(argument.split()) != 1 and not is_file(argument):
        return False
    return argument.lower().endswith(tuple(list_suffixes()))


def is_file(argument: str) -> bool:
    """Tell whether an argument is the name of a file that is there; a line may be any text."""
    return os.path.isfile(argument)  # noqa: PTH113 - Path.is_file raises where a name is too long


def wants_documents(
    arguments: Sequence[str],
    only_lines: Mapping[str, object],
    *,
    paragraphs: bool,
    kind: str | None,
    output: Path | None,
) -> bool:
    """Tell whether documents are to be translated, and not lines.

    Args:
        arguments: lines, or names of files.
        only_lines: options as given that are for lines.
        paragraphs: whether standard input is plain text.
        kind: the documents' format, if it is given.
        output: where the translation is to go, if it is given.

    Raises:
        ConfigError: if both are asked for.
    """
    files = [argument for argument in arguments if is_file(argument)]
    named = [argument for argument in arguments if is_document(argument)]
    if kind:
        named += [file for file in files if file not in named]
    if unknown := [file for file in files if file not in named]:
        raise ConfigError(
            f"{unknown[0]} is a file with an ending that says no format, which would be one of "
            f"{' '.join(list_suffixes())}; name its format by --format, or convert it"
        )
    if arguments and not named and (paragraphs or kind or output):
        raise ConfigError(
            f"{arguments[0]!r} is a line, and --paragraphs, --format and --output are for "
            f"documents; give a file, or text by standard input"
        )
    if named and len(named) < len(arguments):
        other = next(argument for argument in arguments if argument not in named)
        raise ConfigError(f"{named[0]} is a file, and {other!r} a line; give either files or lines")
    if output and len(arguments) > 1:
        raise ConfigError(f"--output names one file, not {len(arguments)}; translate one at a time")
    if not (named or paragraphs or kind or output):
        return False
    for option, value in only_lines.items():
        if value:
            raise ConfigError(f"{option} is for lines, not for documents; leave it out")
    return True


def translate_documents(
    translator: "Translator",
    arguments: Sequence[str],
    *,
    kind: str | None,
    output: Path | None,
    beam_size: int | None,
) -> None:
    """Translate files, or standard input, each as a whole.

    Args:
        translator: translates lines.
        arguments: names of files; none for standard input.
        kind: name of their format; None by their names, and of standard input plain text.
        output: where the translation goes; None for standard output, and beside a file.
        beam_size: live hypotheses per sentence; None as configured.

    Raises:
        ConfigError: if the format is unknown, or the translation has no name.
        DocumentError: if a document cannot be read, or its translation is there already.
    """
    from nmt_core.documents import files  # noqa: PLC0415 - takes a moment
    from nmt_core.documents.translator import DocumentTranslator  # noqa: PLC0415 - takes a moment

    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"--format {kind} is not known; it is one of {', '.join(FORMATS)}")
    language = translator.languages.source if translator.languages else ""
    documents = DocumentTranslator.using(translator, language, beam_size=beam_size)
    for name in arguments:
        path = Path(name)
        out = output or _name_translation(path, translator)
        files.translate_file(path, out, documents, kind)
        typer.echo(out, err=True)
    if not arguments:
        stream = open_standard_input()
        if stream.isatty():
            typer.echo("Write text; it is translated when Ctrl-D ends it.", err=True)
        data = stream.read(files.MOST_BYTES + 1)
        written = files.translate_document(data, kind or "text", documents)
        if output:
            files.write_document(output, written)
        else:
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()


def _name_translation(path: Path, translator: "Translator") -> Path:
    from nmt_core.documents.files import name_translation  # noqa: PLC0415 - takes a moment

    if translator.languages is None:
        raise DocumentError(
            f"{path} has a translation without a name, for the model does not say its languages; "
            f"give one by --output"
        )
    return name_translation(path, translator.languages.target)
