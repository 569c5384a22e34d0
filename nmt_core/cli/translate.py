"""``nmt translate``: lines."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.lines import (
    format_breaches,
    format_confidence,
    open_portions,
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
    TagName,
    Threads,
    open_translator,
)
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
    if lines:
        refuse_files(lines)
    portions = open_portions(lines)
    translator = open_translator(
        model, device, threads, engine=engine, glossary=glossary, memory=memory, tag=tag
    )
    if translator.confidence_model is None and confidence:
        raise ConfigError("this model has no confidence, as its card may explain")
    translator.config.beam.change(beam_size=beam_size)  # refuses a wrong one before any line comes
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
