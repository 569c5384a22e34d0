"""Renew the pins of params.yaml, so that the next training sees new data.

Usage: python -m stages.configure.refresh
Reads:  params.yaml, the user's own text files, the servers of what is downloaded, and the registry
        where training starts from its champion
Writes: params.yaml, and downloads/, where another file has come

Files are pinned as ``python -m stages.configure`` does. An archive whose checksum a person wrote is
left alone; of any other the server is asked whether it has changed. The checksum of what it has now
goes into ``renewed``, so that DVC sees the change, and every machine that gets params.yaml fetches
the same bytes or says that it cannot. A server that is away changes nothing.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from nmt_core.base.config import Config
from nmt_core.base.errors import DownloadError
from nmt_core.corpora.corpus import Corpus
from nmt_core.corpora.fetch.address import redact_url
from nmt_core.corpora.fetch.http import renew
from nmt_core.corpora.fetch.initial_model import ChampionModel, InitialModelConfig
from nmt_core.corpora.fetch.source import Fetchable, Source
from nmt_core.corpora.reading import locate
from stages import paths
from stages.configure import compose
from stages.configure.sections import check_all
from stages.params import DownloadParams, ExportParams
from stages.registry.exported import model_name
from stages.registry.registry import Registry, RegistryAwayError
from stages.runtime.entry import run_stage

LOGGER = logging.getLogger(__name__)

Published = TypeVar("Published", bound=Fetchable)


def refresh_pins(
    sections: Mapping[str, Config], *, downloads: Path = paths.DOWNLOADS
) -> tuple[dict[str, Config], list[str]]:
    """Return the sections with fresh pins, and a sentence for each pin that is another.

    Without a sentence the sections are unchanged. A server that does not answer, or sends unusable
    files, keeps its pin, with a warning.

    Raises:
        CorpusError: if a file of the user's own cannot be read.
    """
    fresh = compose.pin_all(sections)
    download = fresh["download"]
    assert isinstance(download, DownloadParams)
    of_files = [*_changed_files(_pins(sections), _pins(fresh))]
    corpora: dict[str, Corpus] = {}
    of_corpora: list[str] = []
    for name, corpus in download.corpora.items():
        corpora[name], changes = _asked(
            corpus, download, downloads, locate=partial(locate, name=name)
        )
        of_corpora += changes
    vectors, of_vectors = _asked(download.vectors, download, downloads)
    initial_model, of_model = _champion_of_now(download)
    fresh["download"] = download.model_copy(
        update={"corpora": corpora, "vectors": vectors, "initial_model": initial_model}
    )
    return fresh, [*of_files, *of_corpora, *of_vectors, *of_model]


def main() -> None:
    """Renew params.yaml, and print the changes."""
    fresh, changes = refresh_pins(check_all())
    compose.write_params(fresh)
    for sentence in changes or ["nothing has changed"]:
        Console().print(sentence, markup=False, highlight=False, soft_wrap=True)


def _pins(sections: Mapping[str, Config]) -> dict[str, str]:
    """Return the digests of the user's own files in all sections, by path."""
    owners = (sections["download"], sections["export"])
    return {
        path: digest
        for owner in owners
        if isinstance(owner, DownloadParams | ExportParams)
        for path, digest in owner.pins().items()
    }


def _changed_files(before: Mapping[str, str], fresh: Mapping[str, str]) -> Iterator[str]:
    for name, digest in fresh.items():
        if digest != before[name]:
            yield f"{name} {'changed' if before[name] else 'had no pin and got one'}"


def _champion_of_now(download: DownloadParams) -> tuple[InitialModelConfig, list[str]]:
    """Return where training starts with the digest of the champion, if it starts there."""
    config = download.initial_model
    if not isinstance(config, ChampionModel):
        return config, []
    registry = Registry(model_name(download.languages))
    try:
        champion = registry.find_initial("")
    except RegistryAwayError as error:
        LOGGER.warning("%s; training starts from the same model as before", error)
        return config, []
    if champion.digest == config.sha256:
        return config, []
    changed = f"training starts from version {champion.number} of {registry.name}, the champion"
    return config.model_copy(update={"sha256": champion.digest}), [changed]


def _asked(
    config: Published,
    download: DownloadParams,
    downloads: Path,
    *,
    locate: Callable[[Source], Source] = lambda source: source,
) -> tuple[Published, list[str]]:
    """Return the settings with the checksums of the servers' present files, and the changes."""
    sources = map(locate, config.sources(download.languages))
    asked = {source.name: source for source in sources if not source.sha256}
    pins = {name: source.digest for name, source in asked.items() if source.digest}
    changes: list[str] = []
    for name, source in asked.items():
        try:
            checksum = renew(source, downloads, download.http).sha256
        except DownloadError as error:
            LOGGER.warning("%s; it stays as it is here", error)
            continue
        if checksum != source.digest:
            what = "changed" if source.digest else "had no pin and got one"
            changes.append(f"{redact_url(source.url)} {what}: SHA-256 {checksum}")
            pins[name] = checksum
    return (config.with_digests(pins) if changes else config), changes


if __name__ == "__main__":
    run_stage(main)
