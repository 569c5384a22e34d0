"""The champion for servers: as a source of models, and as a folder."""

import logging
import shutil
import time
from pathlib import Path
from typing import NoReturn

from nmt_core.base import files, seal
from nmt_core.base.errors import NmtError
from nmt_core.server.models import Bundle
from stages.registry.registry import Registry, RegistryAwayError, RegistryError, Version

LOGGER = logging.getLogger(__name__)


class ChampionSource:
    """Polls the registry for the champion, and fetches it.

    Args:
        registry: the registry to poll.
        folder: of fetched versions: the last two, since the older may still be in use.
    """

    def __init__(self, registry: Registry, folder: Path) -> None:
        self._registry = registry
        self._folder = folder
        self._fetched: dict[int, Bundle] = {}
        self._refused: dict[int, NmtError] = {}

    def poll(self) -> Bundle:
        """Return the current champion, fetched and verified.

        Raises:
            RegistryError: if there is none, or MLflow is away.
            NmtError: if it cannot be fetched; unless MLflow was away, it is not tried again.
        """
        champion = self._registry.champion()
        if champion is None:
            raise RegistryError(
                f"{self._registry.name} has no champion to serve; {self._registry.advise()}"
            )
        if champion.number in self._refused:
            raise self._refused[champion.number]
        bundle = self._fetched.pop(champion.number, None) or self._fetch(champion)
        self._fetched[champion.number] = bundle  # the last
        self._forget_old()
        return bundle

    def _fetch(self, champion: Version) -> Bundle:
        folder = self._folder / str(champion.number)
        try:
            fetched = self._registry.fetch(champion, folder)
        except RegistryAwayError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        except NmtError as error:
            shutil.rmtree(folder, ignore_errors=True)
            self._refused[champion.number] = error
            raise
        return fetched, str(champion.number), champion.digest

    def _forget_old(self) -> None:
        """Remove all but the two that were champion last."""
        for number in list(self._fetched)[:-2]:
            del self._fetched[number]
            shutil.rmtree(self._folder / str(number), ignore_errors=True)


def fetch_champion(registry: Registry, folder: Path) -> Version | None:
    """Fetch the champion into a folder; return its version, or None if it was there already.

    The folder is always whole: it is replaced once the new version is fetched and verified.

    Raises:
        RegistryError: if there is no champion, or the registry does not answer.
        BundleError: if the fetched version is not as it was exported.
        NmtError: if there is no room.
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
