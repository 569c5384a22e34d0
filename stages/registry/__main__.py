"""Show the registered models; promote, roll back, serve or fetch a champion by hand."""

import getpass
import logging
import os
import re
import uuid
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base.config import build
from nmt_core.evaluation.registry import METRICS, find_label
from nmt_core.server.models import WatchedModel
from nmt_core.server.run import serve_models
from nmt_core.server.settings import ServerConfig
from nmt_core.translation.trial import load_tried
from stages.params import DownloadParams, load
from stages.registry.champion import fetch_champion, follow_champion
from stages.registry.exported import (
    ARCHITECTURE,
    CORPUS,
    PAIRS,
    TEST_SET,
    model_name,
    read_exported,
)
from stages.registry.registry import CHAMPION, Registry, Version
from stages.runtime.entry import run_stage

app = typer.Typer(no_args_is_help=True, add_completion=False)
Name = Annotated[
    str | None,
    typer.Option(help="Registered model; by default, that of the languages of params.yaml."),
]
Reason = Annotated[str, typer.Option(help="Reason, for the record.")]


def find_user() -> str:
    """Return the name of the user, or ``user NUMBER`` if the machine knows no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def open_registry(name: str | None) -> Registry:
    """Return the registry of a name, or of the languages of params.yaml."""
    return Registry(name or model_name(load(DownloadParams, "download").languages))


def describe_last_event(version: Version) -> str:
    """Return time, user and reason of the last promotion or withdrawal; a dash without one."""
    tags = version.tags
    for event, reason in (("rolled_back", "rolled_back_reason"), ("promoted", "reason")):
        if moment := tags.get(f"{event}_at"):
            return f"{moment[:16].replace('T', ' ')} by {tags[f'{event}_by']}: {tags[reason]}"
    return "–"


@app.command()
def show(name: Name = None) -> None:
    """Show all versions and the champion; compare scores only within the same test set."""
    registry = open_registry(name)
    champion, versions = registry.champion(), registry.versions().values()
    if not versions:
        typer.echo(f"{registry.name}: {registry.advise()}")
        return
    metrics = [name for name in METRICS if any(name in version.tags for version in versions)]
    table = Table(title=registry.name, title_justify="left", box=None, pad_edge=False)
    for heading in ("", "", "model", "corpora", "pairs", "test set", *map(find_label, metrics)):
        table.add_column(heading)
    table.add_column("since, by whom and why")
    for version in versions:
        tags = version.tags
        withdrawn = "withdrawn" if "rolled_back_at" in tags else ""
        state = CHAMPION if champion and champion.number == version.number else withdrawn
        names = (ARCHITECTURE, CORPUS, PAIRS, TEST_SET, *metrics)
        cells = [tags.get(name, "–") for name in names]
        cells[3] = cells[3][:8]
        table.add_row(str(version.number), state, *cells, describe_last_event(version))
    Console().print(table)


@app.command()
def register() -> None:
    """Register the export of this checkout, for example after an experiment of DVC."""
    exported = read_exported(load(DownloadParams, "download"))
    number = Registry(exported.name).version_holding(exported).number
    typer.echo(f"version {number} of {exported.name} holds {exported.folder}")


@app.command()
def promote(
    version: Annotated[int, typer.Argument(help="Number of the version.")],
    reason: Reason,
    name: Name = None,
) -> None:
    """Make a version the champion by hand, without the gate."""
    registry = open_registry(name)
    champion = registry.champion()
    registry.promote(
        version,
        expected=champion.number if champion else None,
        promotion=f"by hand {uuid.uuid4()}",
        by=find_user(),
        reason=reason,
    )
    typer.echo(f"version {version} of {registry.name} is the champion")


@app.command()
def rollback(reason: Reason = "by hand", name: Name = None) -> None:
    """Make the previous champion the champion again."""
    registry = open_registry(name)
    previous = registry.rollback(by=find_user(), reason=reason)
    typer.echo(f"version {previous.number} of {registry.name} is the champion again")


@app.command()
def serve(
    *,
    port: Annotated[int, typer.Option(help="Port; 0 for a free one.")] = 5001,
    host: Annotated[str, typer.Option(help="Address; by default, only local.")] = "127.0.0.1",
    host_name: Annotated[
        list[str] | None, typer.Option(help="A host name by which browsers reach this server.")
    ] = None,
    api_keys: Annotated[Path | None, typer.Option(help="File of API keys; see nmt serve.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="By default, all cores.")] = None,
    suggestions: Annotated[str, typer.Option(help="See nmt serve --help.")] = "off",
    corrections: Annotated[Path | None, typer.Option(help="See nmt serve --help.")] = None,
    memory: Annotated[Path | None, typer.Option(help="See nmt serve --help.")] = None,
    name: Name = None,
) -> None:
    """Translate over HTTP with the current champion; see nmt serve.

    After a promotion or rollback, the new champion is fetched, verified, and swapped in without a
    failed request. While MLflow does not answer, the current model serves on, and /status says so.
    """
    registry = open_registry(name)
    config = build(
        ServerConfig,
        {
            "host": host,
            "port": port,
            "hosts": host_name or [],
            "workers": threads,
            "suggestions": suggestions,
            "corrections": corrections,
            "memory": memory,
        },
        at="serve",
    )
    pair = re.fullmatch("nmt-([a-z]+)-([a-z]+)", registry.name)
    with TemporaryDirectory(prefix="nmt-champion-") as folder:
        champion = WatchedModel(
            partial(fetch_champion, registry, Path(folder, "champion"), {}),
            (pair[1], pair[2]) if pair else None,
        )
        serve_models([champion], partial(load_tried, threads=threads), config, keys=api_keys)


@app.command()
def follow(
    folder: Annotated[Path, typer.Argument(help="Folder for the champion.")],
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds between checks.")] = 30,
    name: Name = None,
) -> None:
    """Update a folder with the current champion until Ctrl-C, for a server elsewhere."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    follow_champion(open_registry(name), folder, seconds=seconds)


if __name__ == "__main__":
    run_stage(app)
