"""``nmt fill``: what is missing?"""

from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.errors import CorpusError
from nmt_core.cli.lines import decode_argument, decode_lines, open_standard_input
from nmt_core.cli.program import Device, Threads

GAP = "___"
"""What is written where a token is missing."""


def fill(
    *,
    line: Annotated[
        str | None, typer.Argument(metavar="LINE", help="Line with gaps. \\[default: from stdin]")
    ] = None,
    language_model: Annotated[
        Path, typer.Option(metavar="DIR", help="Masked language model of nmt learn.")
    ],
    count: Annotated[
        int, typer.Option("--count", "-k", metavar="K", min=1, help="Tokens to show.")
    ] = 5,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Show the K likeliest tokens for every gap of a line, written `___`.

    Without LINE, every line of standard input is filled.

    **Examples**

        nmt fill --language-model models/reviews 'What a ___ film .'

        echo 'the ___ and the ___' | nmt fill --language-model models/reviews -k 3

    **What is written**, a line for each token, with tabs between fields: the number of the gap in
    its line, the token, its probability.
    """
    from nmt_core.base import compute  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.language_models.bundle import load_masked_model  # noqa: PLC0415 - takes seconds

    compute.set_threads(threads)
    model = load_masked_model(language_model, device=device)
    given = None if line is None else [decode_argument(line, name="LINE")]
    for number, text in enumerate(given or decode_lines(open_standard_input()), start=1):
        parts = text.split(GAP)
        if len(parts) == 1:
            raise CorpusError(f"line {number} has no gap to fill; write {GAP} where one is")
        for gap, guesses in enumerate(model.fill(parts, count=count), start=1):
            for token, probability in guesses:
                typer.echo(f"{gap}\t{token}\t{probability:.4f}")
