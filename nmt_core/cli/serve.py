"""``nmt serve``: translate over HTTP and on a web page."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.config import build
from nmt_core.cli.options import EXPORTED, Device, EngineName, Threads, find_exported
from nmt_core.server.models import WatchedModel, poll_folder
from nmt_core.server.run import serve_models
from nmt_core.server.settings import ServerConfig
from nmt_core.translation.trial import load_tried

PAIR_AND_FOLDER = re.compile(r"([a-zA-Z]{2,8})-([a-zA-Z]{2,8})=(.+)")


def serve(
    *,
    model: Annotated[
        list[str],
        typer.Option(
            metavar="DIR",
            help="Exported model; several for several pairs. de-en=DIR names its pair. "
            f"\\[default: {EXPORTED}]",
            default_factory=lambda: [str(find_exported())],
            show_default=False,
        ),
    ],
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; by default, only this machine."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, help="Port; 0 takes a free one.")] = 5001,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
    api_keys: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Require an API key of this file, one per line. \\[default: none]"
        ),
    ] = None,
    rate_limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Texts per user and minute. \\[default: no limit]"),
    ] = None,
    max_characters: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum characters of a request.")
    ] = 100_000,
    max_file_bytes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum bytes of a file.")
    ] = 10_000_000,
    suggestions: Annotated[
        str,
        typer.Option(
            metavar="WHO", help="Who may suggest better translations: off, keys (users) or all."
        ),
    ] = "off",
    corrections: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Journal of suggestions, such as corrections.jsonl."),
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Translation memory of nmt memory import.")
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name of this server, such as mt.example.org."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy whose X-Forwarded-* headers are trusted."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A site whose pages can use the server (CORS)."),
    ] = None,
) -> None:
    """Translate over HTTP and on a web page.

    The API is LibreTranslate's, and the page is at `/`.

    **Example**

        nmt serve --model models/de-en --model models/en-de --port 8000

    `/docs` describes the API, `/status` lists the models, `/metrics` is for Prometheus. Logs have
    no text of users. The server loads a model that is replaced on disk without a failed request; it
    rejects a broken model and keeps the old one.

    By default, only this machine can connect. To serve other machines, set `--host`, `--api-keys`
    (per line a key, a space and texts per minute), `--host-name` for every name that browsers
    use, and a proxy for TLS.
    """
    models = [*map(split_model, model)]
    settings = {
        "host": host,
        "port": port,
        "rate_limit": rate_limit,
        "max_characters": max_characters,
        "max_file_bytes": max_file_bytes,
        "suggestions": suggestions,
        "corrections": corrections,
        "memory": memory,
        "trusted_proxies": trusted_proxy or [],
        "hosts": host_name or [],
        "origins": origin or [],
        "workers": threads,
    }
    serve_models(
        [WatchedModel(partial(poll_folder, folder), pair) for pair, folder in models],
        partial(load_tried, engine=engine, device=device, threads=threads),
        build(ServerConfig, settings, at="serve"),
        keys=api_keys,
    )


def split_model(value: str) -> tuple[tuple[str, str] | None, Path]:
    """Return the language pair of a ``--model`` option, or None, and the folder."""
    match = PAIR_AND_FOLDER.fullmatch(value)
    return ((match[1].lower(), match[2].lower()), Path(match[3])) if match else (None, Path(value))
