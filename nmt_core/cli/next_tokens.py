"""``nmt next``: the likeliest next tokens of a translation."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.bar import Bar
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from nmt_core.cli.lines import decode_argument, decode_lines, open_standard_input
from nmt_core.cli.options import Device, Model, Threads, open_translator
from nmt_core.translation.translation import NextToken

BAR_COLUMNS = 30
"""Columns of a bar for a probability of 1."""


def next_tokens(
    *,
    line: Annotated[
        str | None, typer.Argument(metavar="LINE", help="Source line. \\[default: from stdin]")
    ] = None,
    model: Model,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Prefix of the translation, in whole words.")
    ] = "",
    count: Annotated[
        int, typer.Option("--count", "-k", metavar="K", min=1, help="Tokens to show.")
    ] = 10,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Show the K likeliest next tokens of a translation that begins with a prefix.

    Without LINE, every line of standard input gets a table. `</s>` is the end of the sentence; a
    piece that begins with `▁` begins a word.

    **Examples**

        nmt next --model models/export 'Das Haus ist alt.'

        echo 'Das Haus ist alt.' | nmt next --model models/export --prefix 'The house' -k 5
    """
    begin = decode_argument(prefix, name="--prefix")
    given = None if line is None else [decode_argument(line, name="LINE")]
    translator = open_translator(model, device, threads)
    console = Console()
    for source in given or decode_lines(open_standard_input()):
        console.print(render_next_tokens(begin, translator.next_tokens(source, begin, count)))


def render_next_tokens(prefix: str, tokens: Sequence[NextToken]) -> Table:
    """Return tokens with their probabilities, in numbers and bars."""
    table = Table(
        "next token",
        Column("probability", justify="right"),
        Column(width=BAR_COLUMNS),
        title=Text(f"{prefix} ...".lstrip()),
    )
    for token, probability in tokens:
        table.add_row(Text(token), f"{probability:.4f}", Bar(1.0, 0.0, probability, color="green"))
    return table
