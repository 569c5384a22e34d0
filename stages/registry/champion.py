"""The champion as a source of the server's: fetched when it is another, beside the one before."""

import shutil
from pathlib import Path

from nmt_core.base.errors import NmtError
from nmt_core.server.models import Bundle
from stages.registry.registry import Registry
from stages.registry.versions import RegistryAwayError, RegistryError, Version


class ChampionSource:
    """Looks which version is champion, and brings it here.

    Args:
        registry: where to look.
        folder: where fetched versions lie: the last two, since the older may still be at work.
    """

    def __init__(self, registry: Registry, folder: Path) -> None:
        self._registry = registry
        self._folder = folder
        self._fetched: dict[int, Bundle] = {}
        self._refused: dict[int, NmtError] = {}

    def poll(self) -> Bundle:
        """Return the champion of now, fetched and verified.

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
        found = self._fetched.pop(champion.number, None) or self._fetch(champion)
        self._fetched[champion.number] = found  # the last
        self._forget_old()
        return found

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
        return Bundle(fetched, version=str(champion.number), digest=champion.digest)

    def _forget_old(self) -> None:
        """Remove all but the two that were champion last."""
        for number in list(self._fetched)[:-2]:
            del self._fetched[number]
            shutil.rmtree(self._folder / str(number), ignore_errors=True)
