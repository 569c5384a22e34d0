"""``nmt check``: how a model behaves on sentences of one's own, without references."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.cli.lines import open_lines
from nmt_core.cli.options import Device, EngineName, Model, Threads, open_translator
from nmt_core.translation.behaviour import probe_translator


def check(
    *,
    model: Model,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Source sentences, one a line.")],
    lines: Annotated[
        int, typer.Option(metavar="N", min=1, help="Read the first N that are not empty.")
    ] = 300,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the changes.")] = 1,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Check what of a sentence comes through, and what changes when the sentence does.

    No references are needed: each sentence is translated as it is and with a change, such as other
    digits or capitals. The table shows the sentences that keep their numbers, placeholders etc.,
    and those whose translations are otherwise the same, with 95 % intervals.

    **Example**

        nmt check --model models/export --source test.de
    """
    sentences = [*islice((line for line in open_lines(source) if line.strip()), lines)]
    if not sentences:
        raise CorpusError(f"{source} holds no line; give sentences, one a line")
    translator = open_translator(model, device, threads, engine=engine)
    if translator.languages is None:
        raise ConfigError(
            f"{model} does not say of which languages it is, so nobody knows how they write "
            f"numbers; export it again"
        )
    table = Table("change", "sentences", Column("kept", no_wrap=True), "otherwise the same")
    for name, behaviour in probe_translator(translator, sentences, seed=seed).items():
        table.add_row(*behaviour.cells(name))
    Console().print(table)
