"""``nmt translate``: lines."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli import options
from nmt_core.cli.lines import format_breaches, format_confidence, open_portions, write_portions
from nmt_core.text.translation import Translation

FLAG_BELOW = 0.1
"""Lines whose confidence is below this are reported."""


def translate(
    *,
    lines: options.LineArguments = None,
    model: options.Model,
    beam_size: options.BeamSize = None,
    whole_lines: Annotated[
        bool, typer.Option("--whole-lines", help="Do not split lines into sentences.")
    ] = False,
    checks: Annotated[
        bool, typer.Option("--checks", help="Add lost numbers, placeholders and other literals.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Add the probability of a good translation.")
    ] = False,
    glossary: options.GlossaryFile = None,
    memory: options.MemoryFile = None,
    source: options.FromLanguage = None,
    target: options.TargetLanguage = None,
    tag: options.TagName = None,
    engine: options.EngineName = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Translate lines.

    Lines are arguments, or come from standard input. Each line gives one line of output, in the
    same order, as soon as it arrives. Each sentence of a line is translated separately.

    **Examples**

        nmt translate 'Ein Haus.'

        nmt translate --model models/export < in.txt > out.txt

        nmt translate --glossary terms.tsv --checks --confidence < in.txt

    `--checks` and `--confidence` add fields after tabs: `kept` or the lost literals, such as
    `missing 94, unit 5`; the confidence, such as `0.87`, or `-` if there is none. Lines that need
    review are reported on standard error.

    A line of `--glossary` has a term, its translation and other accepted forms, separated by tabs;
    a term without translation stays unchanged.

    See also: `nmt translate-file` for documents and running text, `nmt explain` for alternatives,
    scores, attention and alignments, `nmt sample`, `nmt next`.
    """
    if lines:
        refuse_files(lines)
    portions = open_portions(lines)
    translator = options.open_translator(
        model,
        device,
        threads,
        engine=engine,
        glossary=glossary,
        memory=memory,
        tag=tag,
        direction=(source, target) if glossary else None,
    )
    if confidence and not (translator.confidence_model or translator.directions):
        raise ConfigError("this model does not estimate confidence; remove --confidence")
    translator.config.beam.change(beam_size=beam_size)  # checks the options before any line is read
    search = partial(
        translator.translate_texts,
        source=source,
        target=target,
        beam_size=beam_size,
        whole=whole_lines,
    )
    search([])
    write = partial(format_line, checks=checks, confidence=confidence)
    write_portions(portions, lambda own: [[each] for each in search(own)], write, FLAG_BELOW)


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
    """Raise a ConfigError for a line that is the name of a file."""
    for line in lines:
        with suppress(OSError, ValueError):  # the name is too long
            if Path(line).is_file():
                raise ConfigError(
                    f"{line} is a file; use nmt translate-file, or give the line on standard input"
                )
