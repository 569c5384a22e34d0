"""Fetch the champion into a folder, for servers."""

import logging
import shutil
import time
from pathlib import Path
from typing import NoReturn

from nmt_core.base import files, seal
from nmt_core.base.errors import BundleError, NmtError
from nmt_core.server.models import Bundle
from stages.registry.registry import Registry, RegistryAwayError, RegistryError

LOGGER = logging.getLogger(__name__)


def fetch_champion(registry: Registry, folder: Path, refused: dict[int, str]) -> Bundle:
    """Fetch the champion into a folder, unless it is there already; verify it.

    Returns folder, version and digest.

    The folder is replaced atomically, after the new version is fetched and verified. A broken
    version is added to ``refused`` with the reason, and not fetched again until the champion
    changes.

    Raises:
        RegistryError: if there is no champion, or the registry does not answer.
        BundleError: if the fetched version was altered after its export.
        NmtError: if the disk is full.
    """
    champion = registry.champion()
    if champion is None:
        raise RegistryError(f"{registry.name} has no champion; {registry.advise()}")
    if champion.number in refused:
        raise BundleError(refused[champion.number])
    refused.clear()
    bundle = folder, str(champion.number), champion.digest
    if (folder / seal.MANIFEST).is_file() and seal.digest_bundle(folder) == champion.digest:
        return bundle
    folder.parent.mkdir(parents=True, exist_ok=True)
    with files.whole_folder(folder) as part:
        arriving = part / ".arriving"
        arriving.mkdir()
        try:
            fetched = registry.fetch(champion, arriving)
        except RegistryAwayError:
            raise
        except (BundleError, RegistryError) as error:
            refused[champion.number] = str(error)
            raise
        for path in fetched.iterdir():
            path.rename(part / path.name)
        shutil.rmtree(arriving)
    return bundle


def follow_champion(registry: Registry, folder: Path, *, seconds: float) -> NoReturn:
    """Update a folder with the current champion forever; log each change and each problem once."""
    last_message = ""
    refused: dict[int, str] = {}
    while True:
        try:
            _, version, _ = fetch_champion(registry, folder, refused)
            message = f"{folder} holds version {version} of {registry.name}"
        except NmtError as error:
            message = f"{folder} is not updated: {error}"
        if message != last_message:
            last_message = message
            LOGGER.info(message)
        time.sleep(seconds)
