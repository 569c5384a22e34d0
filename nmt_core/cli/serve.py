"""``nmt serve``: translations over HTTP, and on a web page."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.cli.options import (
    EXPORTED,
    Device,
    EngineName,
    ReviewBelow,
    Threads,
    find_exported,
)
from nmt_core.documents.review import REVIEW_BELOW
from nmt_core.literals.glossary import Glossary
from nmt_core.server.models import LanguagePair, Watched, poll_folder
from nmt_core.server.run import serve_models
from nmt_core.server.settings import ServerConfig
from nmt_core.translation.translator import Translator
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
    glossary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Terms of a model, see nmt translate --help; de-en=FILE names its pair.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; by default, this machine alone."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, help="Port; 0 takes a free one.")] = 5001,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
    api_keys: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Require an API key of this file, one a line. \\[default: all]"
        ),
    ] = None,
    rate_limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Texts a minute of a user. \\[default: any number]"),
    ] = None,
    max_characters: Annotated[
        int, typer.Option(metavar="N", min=1, help="Characters of a request.")
    ] = 100_000,
    max_file_bytes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Bytes of a file to translate.")
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
        Path | None,
        typer.Option(metavar="FILE", help="Translation memory of nmt memory import."),
    ] = None,
    memory_threshold: Annotated[
        float,
        typer.Option(metavar="S", min=0.01, max=1, help="Similarity from which it offers units."),
    ] = 0.75,
    queue_tokens: Annotated[
        int, typer.Option(metavar="N", min=1, help="Source tokens that may wait; more get 429.")
    ] = 200_000,
    max_tokens: Annotated[
        int, typer.Option(metavar="N", min=1, help="Source tokens of a request.")
    ] = 200_000,
    work_seconds: Annotated[
        float, typer.Option(metavar="S", min=1, help="Seconds that a request may take in all.")
    ] = 300,
    review_below: ReviewBelow = REVIEW_BELOW,
    batch_tokens: Annotated[
        int, typer.Option(metavar="N", min=1, help="Source tokens translated at once.")
    ] = 1024,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name of this server, such as mt.example.org."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy whose X-Forwarded-* headers are believed."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="A site whose pages may use the server (CORS)."),
    ] = None,
) -> None:
    """Translate over HTTP by LibreTranslate's API, and on a web page at `/`.

    **Examples**

        nmt serve --model models/export

        nmt serve --model models/de-en --model models/en-de --port 8000

        curl http://127.0.0.1:5001/translate -d q='Ein Haus.' -d source=de -d target=en

    `/docs` describes the API, `/status` names the models, `/metrics` is for Prometheus. Logs go to
    standard error and hold no text of users. A model that is replaced on disk is loaded without a
    failed request; a broken one is refused, and the old one stays.

    It listens to this machine alone unless `--host` says otherwise. Then give `--api-keys` (each
    line a key and, after a space, its texts a minute), `--host-name` for every name that browsers
    call it by, and a proxy before it for TLS. Beside the model, it takes at most 1.5 GB of memory.

    Ctrl-C or SIGTERM lets running requests end, for up to 30 seconds.
    """
    named = [(pair and LanguagePair(*pair), folder) for pair, folder in map(split_model, model)]
    named_glossaries = [split_model(each) for each in glossary or []]
    if len(model) > 1 and any(pair is None for pair, _ in named_glossaries):
        raise ConfigError("there are several models; say whose --glossary is, as de-en=FILE")
    settings = {
        "host": host,
        "port": port,
        "rate_limit": rate_limit,
        "max_characters": max_characters,
        "max_file_bytes": max_file_bytes,
        "suggestions": suggestions,
        "corrections": corrections,
        "memory": memory,
        "memory_threshold": memory_threshold,
        "queue_tokens": queue_tokens,
        "review_below": review_below,
        "batch_tokens": batch_tokens,
        "max_tokens": max_tokens,
        "work_seconds": work_seconds,
        "trusted_proxies": trusted_proxy or [],
        "hosts": host_name or [],
        "origins": origin or [],
        "workers": threads,
    }
    serve_models(
        [Watched(partial(poll_folder, folder), pair) for pair, folder in named],
        partial(
            load_with_glossary,
            glossaries=dict(named_glossaries),
            load=partial(load_tried, engine=engine, device=device, threads=threads),
        ),
        build(ServerConfig, settings, at="serve"),
        keys=api_keys,
    )


def load_with_glossary(
    folder: Path,
    *,
    glossaries: Mapping[tuple[str, str] | None, Path],
    load: Callable[[Path], Translator],
) -> Translator:
    """Load a model with the glossary of its language pair, or else the one of no pair.

    Raises:
        ConfigError: if the glossary is wrong, or the languages are unknown.
    """
    translator = load(folder)
    pair = translator.languages.codes if translator.languages else None
    path = glossaries.get(pair) or glossaries.get(None)
    if path and pair:
        return translator.add_glossary(Glossary.load(path, pair))
    if path:
        raise ConfigError(
            f"{folder} does not say which languages it translates, so the glossary {path} has "
            f"none; export it again with download.languages in params.yaml"
        )
    return translator


def split_model(given: str) -> tuple[tuple[str, str] | None, Path]:
    """Return the languages that an option names, if it does, and the folder."""
    named = PAIR_AND_FOLDER.fullmatch(given)
    return ((named[1].lower(), named[2].lower()), Path(named[3])) if named else (None, Path(given))
