"""Keep the champion in a folder, for servers."""

import logging
import shutil
import time
from pathlib import Path
from typing import NoReturn

from nmt_core.base import files, seal
from nmt_core.base.errors import NmtError
from nmt_core.server.models import Bundle
from stages.registry.registry import Registry, RegistryError, Version

LOGGER = logging.getLogger(__name__)


def poll_champion(registry: Registry, folder: Path) -> Bundle:
    """Return the current champion, fetched into a folder and verified.

    Raises:
        NmtError: see ``fetch_champion``.
    """
    champion = fetch_champion(registry, folder)
    return folder, str(champion.number), champion.digest


def fetch_champion(registry: Registry, folder: Path) -> Version:
    """Fetch the champion into a folder, unless it is there already, and return its version.

    The folder is always whole: it is replaced once the new version is fetched and verified.

    Raises:
        RegistryError: if there is no champion, or the registry does not answer.
        BundleError: if the fetched version is not as it was exported.
        NmtError: if there is no room.
    """
    champion = registry.champion()
    if champion is None:
        raise RegistryError(f"{registry.name} has no champion; {registry.advise()}")
    if (folder / seal.MANIFEST).is_file() and seal.digest_bundle(folder) == champion.digest:
        return champion
    folder.parent.mkdir(parents=True, exist_ok=True)
    with files.whole_folder(folder) as part:
        arriving = part / ".arriving"
        arriving.mkdir()
        for path in registry.fetch(champion, arriving).iterdir():
            path.rename(part / path.name)
        shutil.rmtree(arriving)
    return champion


def follow_champion(registry: Registry, folder: Path, *, seconds: float) -> NoReturn:
    """Keep the current champion in a folder, for ever; log each change and each problem once."""
    last_message = ""
    while True:
        try:
            version = fetch_champion(registry, folder)
            message = f"{folder} holds version {version.number} of {registry.name}"
        except NmtError as error:
            message = f"{folder} stays as it is: {error}"
        if message != last_message:
            last_message = message
            LOGGER.info(message)
        time.sleep(seconds)
