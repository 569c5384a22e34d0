"""The program for people: ``nmt translate`` and ``nmt verify``."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text
from typer.core import TyperGroup
from typing_extensions import override

from nmt_core.errors import BundleError, ConfigError, CorpusError, NmtError

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.bundle import Mismatch
    from nmt_core.decoding.translator import Translation, Translator

FIRST_LINES, MOST_LINES = 16, 2048
"""Lines translated together, at first and at most: output begins early, and memory is bounded."""

UNSURE, SURE = 0.3, 0.7
"""Probabilities below and from which a token is shown in red and in green."""


class Program(TyperGroup):
    """Tells a user's error in one sentence, without a traceback."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NmtError as error:
            fail(str(error))


def fail(message: str) -> NoReturn:
    """Write one red line and end with status 1."""
    Console(stderr=True, highlight=False).print(
        Text(f"nmt: {message}", style="red"), soft_wrap=True
    )
    raise typer.Exit(1)


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Translate with an exported model, and check that it is what was exported.",
)

Model = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Exported model, such as models/export.")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="CPU threads. \\[default: every core]"),
]


def show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    """Write the version and end."""
    if wanted:
        try:
            typer.echo(f"nmt {version('nmt')}")
        except PackageNotFoundError:
            typer.echo("nmt, not installed")
        raise typer.Exit


@app.callback()
def program(
    *,
    _: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Translate with an exported model, and check that it is what was exported."""


@app.command()
def translate(  # noqa: PLR0913 - one argument per option
    *,
    model: Model,
    beam: Annotated[
        int | None,
        typer.Option(
            metavar="K", min=1, help="Live hypotheses per sentence. \\[default: the model's]"
        ),
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Write the N best: line, rank, score, text."),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write token probabilities and the score, too.")
    ] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask for lines, show how sure the model is.")
    ] = False,
    max_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Source tokens per batch. \\[default: the model's]"),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate lines from standard input to standard output.

    One line in gives one line out, in the same order; an empty line stays empty.

    **Examples**

        echo 'Ein Haus.' | nmt translate --model models/export

        nmt translate --model models/export < in.txt > out.txt

        nmt translate --model models/export --interactive

    **What is written**, with tabs between fields:

    - plainly: the translation

    - `--scores`: translation, `[0.898 0.937 ...]`, `Score: -0.128`

    - `--n-best N`: number of the line, rank, score, translation; from 1

    - both: number of the line, rank, score, translation, `[0.898 0.937 ...]`

    Probabilities are those of the tokens, and last that of the end of the sentence. The score is
    the mean of their logarithms (for a length penalty other than 1, their sum over the length to
    that power); higher is better.
    """
    if n_best and beam and n_best > beam:
        raise ConfigError(f"--n-best {n_best} needs a beam at least as wide; use --beam {n_best}")
    translator = load(model, device, threads, max_tokens)
    search = {"beam": max(beam or translator.config.beam.width, n_best or 1), "best": n_best or 1}
    if interactive:
        converse(translator, **search)
        return
    number = 0
    with progress() as advance:
        for lines in chunks(decoded(sys.stdin.buffer)):
            for found in translator.search(lines, **search):
                number += 1
                for record in records(number, found, ranked=n_best is not None, scores=scores):
                    sys.stdout.buffer.write(f"{record}\n".encode())
            sys.stdout.buffer.flush()
            advance(len(lines))


@app.command()
def verify(*, model: Model, device: Device = "auto", threads: Threads = None) -> None:
    """Check an exported model: every file by its digest, then its canaries.

    Canaries are lines whose translations were kept when the model was exported. Another processor
    may round otherwise and differ where two translations are almost equally good.

    **Example**

        nmt verify --model models/export
    """
    from nmt_core import bundle  # noqa: PLC0415 - as above

    translator = load(model, device, threads, None)
    console = Console()
    console.print(file_table(bundle.read_manifest(model)))
    mismatches = bundle.run_canaries(translator, model)
    if not mismatches:
        console.print("Every canary is translated as when the model was exported.")
        return
    console.print(mismatch_table(mismatches))
    raise BundleError(
        f"{model} translates {len(mismatches)} of its canaries otherwise than when it was "
        f"exported; check device and library versions, and export it again if they are the same"
    )


def load(model: Path, device: str, threads: int | None, max_tokens: int | None) -> "Translator":
    """Load an exported model with what the command line changes about it."""
    # Threads that wait in a busy loop are hundreds of times slower where others compute, too; this
    # is read when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import torch  # noqa: PLC0415 - as above

    from nmt_core import bundle  # noqa: PLC0415 - as above

    if threads:
        torch.set_num_threads(threads)
    translator = bundle.load_translator(model, device=device)
    if max_tokens is None:
        return translator
    changed = translator.config.model_copy(update={"max_tokens": max_tokens})
    return replace(translator, config=changed)


def decoded(stream: Iterable[bytes]) -> Iterator[str]:
    r"""Yield the lines of a binary stream, ended by ``\n`` alone.

    Raises:
        CorpusError: naming the first line that is not UTF-8.
    """
    for number, line in enumerate(stream, start=1):
        try:
            yield line.removesuffix(b"\n").decode()
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"line {number} of the input is not UTF-8 (byte {error.start + 1} is "
                f"0x{line[error.start]:02x}); convert the input, for example with iconv"
            ) from None


def chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield more and more lines at a time, up to a limit."""
    size = FIRST_LINES
    while chunk := list(islice(lines, size)):
        yield chunk
        size = min(2 * size, MOST_LINES)


def records(
    number: int, found: "list[Translation]", *, ranked: bool, scores: bool
) -> Iterator[str]:
    """Yield the lines to write about one line of input; see ``nmt translate --help``."""
    for rank, best in enumerate(found, start=1):
        fields = [str(number), str(rank), f"{best.score:.4f}"] if ranked else []
        fields.append(best.text)
        if scores:
            fields.append(bracketed(best.token_probabilities))
        if scores and not ranked:
            fields.append(f"Score: {best.score:.4f}")
        yield "\t".join(fields)


def bracketed(probabilities: Iterable[float]) -> str:
    """Return probabilities as ``[0.898 0.937]``."""
    return f"[{' '.join(f'{probability:.3f}' for probability in probabilities)}]"


@contextmanager
def progress() -> Iterator[Callable[[int], None]]:
    """Show how many lines are done, on a terminal that does not show the translations too."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} lines"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda lines: bar.advance(task, lines)


def converse(translator: "Translator", *, beam: int, best: int) -> None:
    """Ask for lines and show their translations until there are no more."""
    with suppress(ImportError):  # gives the prompt a history where there is one
        import readline  # noqa: F401, PLC0415 - for its effect
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    console = Console(highlight=False)
    console.print("Write a line; end with Ctrl-D.", style="dim")
    while True:
        try:
            line = console.input("[bold cyan]> [/]")
        except (EOFError, KeyboardInterrupt):
            console.print()
            return
        began = time.perf_counter()
        [found] = translator.search([line], beam=beam, best=best)
        milliseconds = (time.perf_counter() - began) * 1000
        for translation in found:
            console.print(portrait(translation))
        console.print(f"{milliseconds:.0f} ms\n", style="dim")


def portrait(translation: "Translation") -> Text:
    """Return a translation, each token in the colour of its probability, and its score."""
    text = Text(f"{translation.text}\n", style="bold")
    probabilities = translation.token_probabilities
    for token, probability in zip((*translation.tokens, "</s>"), probabilities, strict=False):
        colour = "red" if probability < UNSURE else "green" if probability >= SURE else "yellow"
        text.append(f"{token} ", style=f"not bold {colour}")
        text.append(f"{probability:.3f}  ", style="not bold dim")
    return text.append(f"\nScore: {translation.score:.4f}", style="not bold")


def file_table(manifest: dict[str, Any]) -> Table:
    """Return the files of an exported model."""
    table = Table("file", Column("bytes", justify="right"), "SHA-256", title="As exported")
    for name, entry in manifest.items():
        table.add_row(Text(name), str(entry["bytes"]), entry["sha256"][:16])
    return table


def mismatch_table(mismatches: "list[Mismatch]") -> Table:
    """Return the lines that are translated otherwise than they were."""
    table = Table("source", "when exported", "now", title="Changed", title_style="red")
    for mismatch in mismatches:
        table.add_row(*(Text(field) for field in mismatch))
    return table


if __name__ == "__main__":
    app()
