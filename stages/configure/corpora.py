"""List the corpora that there are for two languages, by the names that settings take.

Usage: python -m stages.configure.corpora [SOURCE-TARGET] [--index URL]
Reads:  params.yaml, if no languages are given; the index of OPUS, and that of mtdata if it is
        installed
Writes: downloads/, where the index of OPUS is kept

If OPUS does not answer, its index as it was last time is listed.
"""

import logging
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from nmt_core.base import config
from nmt_core.base.errors import ConfigError, DownloadError, ServerError
from nmt_core.base.languages import Languages
from nmt_core.corpora import mtdata
from nmt_core.corpora.fetch.cache import find_cached
from nmt_core.corpora.fetch.http import renew
from nmt_core.corpora.fetch.source import HttpConfig
from nmt_core.corpora.opus import INDEX, OpusEntry, opus_index, read_opus_index
from stages import paths
from stages.runtime.entry import run_stage
from stages.runtime.params_file import read

LOGGER = logging.getLogger(__name__)

UNKNOWN = "unknown"

INSTEAD = "a code without its region, such as pt for pt-BR, or the other way round, have some"
"""What may help where there are no corpora."""

HTTP = HttpConfig(attempts=3)
"""A person waits, and may ask again."""


def renew_index(
    languages: Languages, *, downloads: Path = paths.DOWNLOADS, index: str = INDEX
) -> tuple[list[OpusEntry], str]:
    """Fetch the index of OPUS if it is another than the one at hand.

    Returns:
        Its entries, the largest first, and a sentence that says which index it is.

    Raises:
        DownloadError: if there is none at hand, and none can be fetched.
    """
    source = opus_index(languages, index)
    before = find_cached(source, downloads)
    entries_before = [] if before is None else read_opus_index(before.path)
    try:
        now = renew(source, downloads, HTTP)
    except ServerError as error:
        if before is None:
            raise
        LOGGER.warning("%s; this is the index of last time", error)
        now = before
    entries = read_opus_index(now.path)
    said = f"The index of OPUS has the SHA-256 {now.sha256}"
    if before is None or before.sha256 == now.sha256:
        return entries, f"{said}."
    return entries, f"{said}; {compare_entries(entries_before, entries)}."


def list_datasets(languages: Languages) -> list[str]:
    """Return the datasets of mtdata; none where it is not installed, or says why it fails."""
    if not shutil.which(mtdata.PROGRAM):
        return []
    try:
        return mtdata.list_datasets(languages)
    except DownloadError as error:
        LOGGER.warning("%s; this is the index of OPUS alone", error)
        return []


def compare_entries(before: Iterable[OpusEntry], now: Iterable[OpusEntry]) -> str:
    """Say by how many corpora one index differs from another."""
    old, new = ({entry.name: entry for entry in entries} for entries in (before, now))
    changed = sum(old[name] != new[name] for name in old.keys() & new.keys())
    return (
        f"since last time {len(new.keys() - old.keys()):,} came, {len(old.keys() - new.keys()):,} "
        f"went and {changed:,} changed"
    )


def list_corpora(entries: Iterable[OpusEntry], datasets: Iterable[str]) -> Table:
    """Return a table of the latest corpora of OPUS, and of the datasets of mtdata."""
    table = Table(box=None)
    table.add_column("name", overflow="fold")
    for name in ("pairs", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("licence")
    for entry in entries:
        if entry.latest == "True":
            size = f"{entry.size * 1024 / 1e6:,.1f}"
            table.add_row(entry.name, f"{entry.alignment_pairs:,}", size, UNKNOWN)
    for dataset in datasets:
        table.add_row(f"mtdata:{dataset}", "", "", UNKNOWN)
    return table


def read_languages(pair: str) -> Languages:
    """Return the languages that de-en or pt-BR-en names.

    Raises:
        ConfigError: if it names none.
    """
    parts = pair.split("-")
    for end in range(1, len(parts)):
        source, target = "-".join(parts[:end]), "-".join(parts[end:])
        try:
            return Languages(source=source, target=target)
        except ValidationError:
            continue
    raise ConfigError(f"languages are written as in de-en or pt-BR-en, got {pair!r}")


def main(
    languages: Annotated[
        str, typer.Argument(help="Two languages, such as de-en; by default those of params.yaml.")
    ] = "",
    index: Annotated[
        str, typer.Option(help="Address of the index, with {source} and {target}.")
    ] = INDEX,
) -> None:
    """List the corpora that there are for two languages, by the names that settings take."""
    if languages:
        pair = read_languages(languages)
    else:
        given = read(paths.PARAMS).get("download", {}).get("languages", {})
        pair = config.build(Languages, given, at="download.languages")
    entries, said = renew_index(pair, index=index)
    datasets = list_datasets(pair)
    say = partial(Console().print, soft_wrap=True, markup=False, highlight=False)
    Console().print(list_corpora(entries, datasets))
    say(said)
    latest = [entry for entry in entries if entry.latest == "True"]
    if latest:
        say(f"It names no licences; the page of each corpus does, such as {latest[0].page}")
    names = [*(entry.name for entry in latest), *(f"mtdata:{dataset}" for dataset in datasets)]
    if names:
        taken = f"{{name:{names[0]},licence:LICENCE}}"
        say(f'Take one by its name, with its licence: SET="download.corpora.NAME={taken}"')
    else:
        say(f"There is none for {' and '.join(pair.codes)}; does {INSTEAD}?")


if __name__ == "__main__":
    run_stage(partial(typer.run, main))
