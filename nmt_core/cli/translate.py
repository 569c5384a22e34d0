"""``nmt translate``: lines in, translations out, or a conversation."""

import io
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.alignments import (
    AlignerFolder,
    Alignments,
    Keep,
    choose_linking,
    keep_links,
)
from nmt_core.cli.attention import Attention, AttentionPictures
from nmt_core.cli.documents import (
    FormatName,
    Output,
    Paragraphs,
    translate_documents,
    wants_documents,
)
from nmt_core.cli.fuse import Fuse, FuseWeight, fuse_language_model
from nmt_core.cli.lines import decode_argument, open_standard_input, read_chunks, show_progress
from nmt_core.cli.program import Device, EngineName, Model, Threads, open_translator
from nmt_core.cli.search_options import Beginnings, Search, SearchOptions

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from rich.text import Text

    from nmt_core.translation.translation import Translation

UNSURE, SURE = 0.3, 0.7
"""Probabilities below and from which a token is shown in red and in green."""

DOUBT = (
    "the model is less sure of this than of 99 in 100 of its test sentences, so the text may be "
    "unlike what it was trained on, and the translation wrong"
)

MOST_NUMBERS = 10
"""Of lines that are named in one message."""


def translate(  # noqa: PLR0913 - one argument per option
    *,
    lines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LINE|FILE", help="Lines or documents to translate. \\[default: from stdin]"
        ),
    ] = None,
    model: Model,
    beam_size: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Beam size. \\[default: the model's]"),
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Write the N best: line, rank, score, text."),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(metavar="D", min=0, help="Diversity of the N best: 0 none, 1 much."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Sample N translations; some may be equal."),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(metavar="T", min=0, help="Sampling temperature. \\[default: 1]"),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Sample from the K likeliest tokens only."),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(metavar="P", help="Nucleus: the likeliest tokens of probability P."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Random seed of sampling. \\[default: 1]")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Prefix of every translation.")
    ] = None,
    prefix_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prefixes, one a line, as many as lines.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write token probabilities and the score, too.")
    ] = False,
    attention: Attention = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask for lines, show how sure the model is.")
    ] = False,
    batch_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Source tokens per batch. \\[default: the model's]"),
    ] = None,
    alignments: Alignments = None,
    aligner: AlignerFolder = None,
    paragraphs: Paragraphs = False,
    kind: FormatName = None,
    output: Output = None,
    fuse: Fuse = None,
    fuse_weight: FuseWeight = None,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate lines, given as arguments or by standard input, to standard output.

    One line in gives one line out, in the same order; an empty line stays empty. Lines that come in
    slowly are translated as they come.

    **Examples**

        nmt translate --model models/export 'Ein Haus.'

        nmt translate --model models/export < in.txt > out.txt

        nmt translate --model models/export --interactive

        nmt translate --model models/export --n-best 5 --diversity 1 < in.txt

        nmt translate --model models/export --sample 3 --temperature 0.8 --top-p 0.9 < in.txt

        nmt translate --model models/export --prefix 'This is' 'Ein Haus.'

        nmt translate --model models/export --fuse models/english --fuse-weight 0.2 < in.txt

        nmt translate --model models/export --attention pictures 'Ein Haus.'

        nmt translate --model models/export --paragraphs < letter > translated

        nmt translate --model models/export --format html < page > translated

        nmt translate --model models/export letter.docx page.html README.md film.srt

    **Documents** are an argument that ends in .txt, .html, .htm, .xhtml, .md, .markdown, .srt, .vtt
    or .docx, or standard input with `--paragraphs` or `--format`. They are cut into sentences; line
    ends, lists, tags, links, code and times stay as they are. letter.docx becomes letter.en.docx,
    by the target language; a file that is there is never written over. A line of one word that ends
    like that is translated by standard input.

    **What is written**, with tabs between fields:

    - plainly: the translation

    - `--scores`: translation, `[0.898 0.937 ...]`, `Score: -0.128`

    - `--n-best N`: number of the line, rank, score, translation; from 1

    - `--sample N`, N above 1: the same, in the order drawn

    - `--scores` with either: the same, then `[0.898 0.937 ...]`

    Probabilities are those of the tokens, and last that of the end of the sentence. The score is
    the mean of their logarithms (for a length penalty other than 1, their sum over the length to
    that power); higher is better. Both are the model's own, however a translation was found.

    With `--alignments`, the file gets a line for each translation: which word of the line (by
    number, from 0) goes with which of the translation, words being what spaces part. The model's
    attention tells, roughly, or an aligner, better: `nmt align --help`.

    `--attention` writes 1.png for line 1, and so on: a row for each token of its best translation,
    a column for each token of the line, dark where the one looked at the other much.

    Lines whose score is below that of 99 in 100 test sentences are named on standard error: they
    may be unlike what the model was trained on. Samples, translations with a prefix and those of
    shallow fusion are not judged, for the scores of such ones were not measured.

    With `--fuse`, a logarithm is the translator's plus the language model's times its weight
    (shallow fusion); both must have the same tokens, see `nmt learn --help`.

    A sample depends only on the text of its line and the random seed. A prefix is whole words in
    the target language; an empty one, or an empty line of its file, leaves the translation free.
    """
    options = SearchOptions(
        beam_size=beam_size,
        n_best=n_best,
        diversity=diversity,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    beginnings = Beginnings(prefix, prefix_file)
    if lines and interactive:
        raise ConfigError("--interactive asks for lines; leave it out to translate those given")
    if alignments and interactive:
        raise ConfigError("--interactive shows translations, not their links; leave one out")
    if attention and interactive:
        raise ConfigError("--attention draws lines that are given; leave --interactive out")
    given = [decode_argument(line, name="LINE") for line in lines or []]
    only_lines = {
        "--interactive": interactive,
        "--n-best": n_best,
        "--diversity": diversity,
        "--sample": sample,
        "--prefix": prefix,
        "--prefix-file": prefix_file,
        "--scores": scores,
        "--alignments": alignments,
        "--aligner": aligner,
        "--attention": attention,
    }
    documents = wants_documents(given, only_lines, paragraphs=paragraphs, kind=kind, output=output)
    translator = fuse_language_model(
        open_translator(model, device, threads, engine=engine, batch_tokens=batch_tokens),
        fuse,
        fuse_weight,
    )
    if documents:
        translate_documents(translator, given, kind=kind, output=output, beam_size=beam_size)
        return
    linking = choose_linking(translator, alignments, aligner)
    search = options.search(
        translator, probabilities=scores or interactive, attention=bool(linking and not aligner)
    )
    as_tested = all(option is None for option in (sample, prefix, prefix_file, fuse))
    unsure_below = (translator.config.unsure_below if as_tested else None) or -math.inf
    pictures = AttentionPictures(attention, translator) if attention else None
    search = pictures.watch(search) if pictures else search
    search([], [])  # refuses what is out of range before any line comes
    source = open_standard_input() if lines is None else None
    if interactive:
        translate_interactively(search, beginnings, unsure_below)
        return
    if source and source.isatty():
        typer.echo("Write lines; each is translated when it ends. Ctrl-D ends.", err=True)
    portions = read_chunks(source) if source else iter([given])
    write = partial(format_records, ranked=options.ranked, scores=scores)
    with keep_links(alignments, linking) as keep:
        translate_lines(portions, search, beginnings, write, unsure_below, keep)
    if pictures:
        pictures.draw()


def translate_lines(
    portions: Iterable[list[str]],
    search: Search,
    beginnings: Beginnings,
    write: "Callable[[int, list[Translation]], Iterable[str]]",
    unsure_below: float,
    keep: Keep,
) -> None:
    """Translate lines portion by portion, to standard output.

    Args:
        portions: the lines.
        search: translates them.
        beginnings: how the translations are to begin.
        write: makes records of the number of a line and its translations.
        unsure_below: the score below which a line is named.
        keep: takes each line with its translations, for their links.
    """
    numbers = count(1)
    with show_progress() as advance:
        for portion in portions:
            doubtful = []
            found_all = search(portion, beginnings.next(len(portion)))
            for line, found in zip(portion, found_all, strict=True):
                number = next(numbers)
                keep(line, found)
                for record in write(number, found):
                    sys.stdout.buffer.write(f"{record}\n".encode())
                if found[0].score < unsure_below:
                    doubtful.append(number)
            sys.stdout.buffer.flush()
            if doubtful:
                typer.echo(warn_of_unsure(doubtful), err=True)
            advance(len(portion))
    beginnings.end()


def format_records(
    number: int, found: "list[Translation]", *, ranked: bool, scores: bool
) -> Iterator[str]:
    """Yield the lines to write about one line of input; see ``nmt translate --help``."""
    for rank, best in enumerate(found, start=1):
        fields = [str(number), str(rank), f"{best.score:.4f}"] if ranked else []
        fields.append(best.text)
        if scores:
            fields.append(format_probabilities(best.token_probabilities))
        if scores and not ranked:
            fields.append(f"Score: {best.score:.4f}")
        yield "\t".join(fields)


def format_probabilities(probabilities: Iterable[float]) -> str:
    """Return probabilities as ``[0.898 0.937]``."""
    return f"[{' '.join(f'{probability:.3f}' for probability in probabilities)}]"


def warn_of_unsure(numbers: Sequence[int]) -> str:
    """Say of which lines the translations are not to be trusted."""
    first = ", ".join(str(number) for number in numbers[:MOST_NUMBERS])
    more = f" and {len(numbers) - MOST_NUMBERS} more" if len(numbers) > MOST_NUMBERS else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {first}{more}: {DOUBT}"


def translate_interactively(search: Search, beginnings: Beginnings, unsure_below: float) -> None:
    """Ask for lines and show their translations until there are no more."""
    with suppress(ImportError):  # gives the prompt a history where there is one
        import readline  # noqa: F401, PLC0415 - for its effect
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    from rich.console import Console  # noqa: PLC0415 - slow to import

    console = Console(highlight=False)
    console.print("Write a line; end with Ctrl-D.", style="dim")
    while True:
        try:
            line = console.input("[bold cyan]> [/]")
        except (EOFError, KeyboardInterrupt):
            console.print()
            return
        began = time.perf_counter()
        [found] = search([line], beginnings.next(1))
        milliseconds = (time.perf_counter() - began) * 1000
        for translation in found:
            console.print(render_translation(translation))
        if found[0].score < unsure_below:
            console.print(f"{DOUBT[0].upper()}{DOUBT[1:]}.", style="yellow")
        console.print(f"{milliseconds:.0f} ms\n", style="dim")


def render_translation(translation: "Translation") -> "Text":
    """Return a translation, each token in the colour of its probability, and its score."""
    from rich.text import Text  # noqa: PLC0415 - slow to import

    text = Text(f"{translation.text}\n", style="bold")
    probabilities = translation.token_probabilities
    for token, probability in zip((*translation.tokens, "</s>"), probabilities, strict=False):
        colour = "red" if probability < UNSURE else "green" if probability >= SURE else "yellow"
        text.append(f"{token} ", style=f"not bold {colour}")
        text.append(f"{probability:.3f}  ", style="not bold dim")
    return text.append(f"\nScore: {translation.score:.4f}", style="not bold")
