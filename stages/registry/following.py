"""The champion as a folder, for servers that know no registry."""

import logging
import shutil
import time
from pathlib import Path
from typing import NoReturn

from nmt_core.base import files, seal
from nmt_core.base.errors import NmtError
from stages.registry.registry import Registry
from stages.registry.versions import RegistryError, Version

LOGGER = logging.getLogger(__name__)


def fetch_champion(registry: Registry, folder: Path) -> Version | None:
    """Fetch the champion into a folder; return its version, or None if it was there already.

    The folder is always whole: it is replaced once the new version is fetched and verified.

    Raises:
        RegistryError: if there is no champion, or the registry does not answer.
        BundleError: if the fetched version is not as it was exported.
        DiskError: if there is no room.
    """
    champion = registry.champion()
    if champion is None:
        raise RegistryError(f"{registry.name} has no champion to fetch; {registry.advise()}")
    if (folder / seal.MANIFEST).is_file() and seal.digest_bundle(folder) == champion.digest:
        return None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with files.whole_folder(folder) as part:
        arriving = part / ".arriving"
        arriving.mkdir()
        for path in registry.fetch(champion, arriving).iterdir():
            path.rename(part / path.name)
        shutil.rmtree(arriving)
    return champion


def follow_champion(registry: Registry, folder: Path, *, seconds: float) -> NoReturn:
    """Keep the current champion in a folder, for ever; print each problem once.

    Args:
        registry: of the model.
        folder: as of :func:`fetch_champion`.
        seconds: to wait before looking again.
    """
    last_message = ""
    while True:
        try:
            if version := fetch_champion(registry, folder):
                LOGGER.info("%s holds version %d of %s", folder, version.number, registry.name)
            last_message = ""
        except NmtError as error:
            if str(error) != last_message:
                last_message = str(error)
                LOGGER.warning("%s stays as it is: %s", folder, last_message)
        time.sleep(seconds)
