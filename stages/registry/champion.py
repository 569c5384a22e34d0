"""The champion as a model source of the server: a new one is fetched beside the old one."""

import shutil
from pathlib import Path

from nmt_core.base.errors import NmtError
from nmt_core.server.models import Bundle
from stages.registry.registry import Registry
from stages.registry.versions import RegistryAwayError, RegistryError, Version


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
        return Bundle(fetched, version=str(champion.number), digest=champion.digest)

    def _forget_old(self) -> None:
        """Remove all but the two that were champion last."""
        for number in list(self._fetched)[:-2]:
            del self._fetched[number]
            shutil.rmtree(self._folder / str(number), ignore_errors=True)
