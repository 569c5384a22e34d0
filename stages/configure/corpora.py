"""List the corpora of OPUS for two languages, by the names that settings take.

Usage: python -m stages.configure.corpora [SOURCE-TARGET] [--index URL]
Reads:  params.yaml, if no languages are named; the index of OPUS
Writes: downloads/, with the index of OPUS

If OPUS does not answer, the index of the last download is used.
"""

import logging
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base import config
from nmt_core.base.errors import ServerError
from nmt_core.base.languages import Languages, read_languages
from nmt_core.corpora.fetch.http import fetch
from nmt_core.corpora.fetch.source import HttpConfig, find_cached
from nmt_core.corpora.web import INDEX, OpusEntry, opus_index, read_opus_index
from stages import paths
from stages.runtime.entry import run_stage
from stages.runtime.params_file import read

LOGGER = logging.getLogger(__name__)

HTTP = HttpConfig(attempts=3)
"""Few attempts, because a person waits."""


def renew_index(languages: Languages, index: str = INDEX) -> list[OpusEntry]:
    """Return the entries of OPUS's index, from the last download if OPUS does not answer.

    Raises:
        CorpusError: if the index cannot be fetched and was never fetched before.
    """
    source = opus_index(languages, index)
    paths.DOWNLOADS.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=paths.DOWNLOADS) as fresh:
        try:
            fetch(source, Path(fresh), HTTP)
        except ServerError as error:
            cached = find_cached(source, paths.DOWNLOADS)
            if cached is None:
                raise
            LOGGER.warning("%s; using the index of the last download", error)
            return read_opus_index(cached.path)
        for path in Path(fresh).glob(f"{source.name}*"):
            path.replace(paths.DOWNLOADS / path.name)
    return read_opus_index(paths.DOWNLOADS / source.name)


def list_corpora(entries: Iterable[OpusEntry]) -> Table:
    """Return a table of corpora: names, numbers of pairs, and sizes in MB."""
    table = Table(box=None)
    table.add_column("name", overflow="fold")
    for name in ("pairs", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in entries:
        size = f"{entry.size * 1024 / 1e6:,.1f}"
        table.add_row(entry.name, f"{entry.alignment_pairs:,}", size)
    return table


def main(
    languages: Annotated[
        str, typer.Argument(help="Two languages, such as de-en; by default those of params.yaml.")
    ] = "",
    index: Annotated[
        str, typer.Option(help="URL of the index, with {source} and {target}.")
    ] = INDEX,
) -> None:
    """List the corpora of OPUS for two languages, by the names that settings take."""
    if languages:
        pair = read_languages(languages)
    else:
        codes = read(paths.PARAMS).get("download", {}).get("languages", {})
        pair = config.build(Languages, codes, at="download.languages")
    entries = [entry for entry in renew_index(pair, index) if entry.latest == "True"]
    say = partial(Console().print, soft_wrap=True, markup=False, highlight=False)
    Console().print(list_corpora(entries))
    if not entries:
        say(f"OPUS has no corpora for {' and '.join(pair.codes)}; try codes without a region")
        return
    say(f"Each corpus has a page that names its licence, such as {entries[0].page}")
    value = f"{{name:{entries[0].name},licence:LICENCE}}"
    say(f'Add a corpus by its name, with its licence: SET="download.corpora.NAME={value}"')


if __name__ == "__main__":
    run_stage(partial(typer.run, main))
