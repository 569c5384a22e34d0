"""The champion among exported models, moved by compare-and-swap on MLflow's alias.

MLflow keeps every export as a version of one registered model per language pair. The alias
``champion`` names the served one; tags of the version record its promotion::

    promoted_at, promoted_by, reason, previous_champion, promotion    of champions, old ones too
    rolled_back_at, rolled_back_by, rolled_back_reason                withdrawn since

The description of a version is its model card.

MLflow cannot move an alias on a condition, so the move holds a lock. Tags come first and the alias
last: if a promotion is interrupted, the old champion serves on, and the promotion can be repeated.
Moving the alias by MLflow's own means bypasses all this.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from nmt_core.base import files, seal
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.corpora.fetch.address import redact_url
from stages import paths
from stages.registry.exported import Exported
from stages.tracking.journal import BUNDLE_DIGEST, Journal, unpack_tags
from stages.tracking.tracker import (
    open_tracker,
    send,
    set_defaults,
    summarize_error,
    tracking_uri,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

PROMOTE_ONE = 'promote one: make promote VERSION=NUMBER REASON="why"'


CHAMPION = "champion"
"""The alias of the version to be served."""

WITHDRAWN = "rolled_back_"
"""Prefix of tags of a withdrawn version, which a new promotion removes."""

SEND_RUNS = "make sync"
TRY_AGAIN = "start it, or set MLFLOW_TRACKING_URI to where it is, and try again"


class RegistryError(NmtError):
    """The registry is not as it would have to be."""


class RegistryAwayError(RegistryError):
    """MLflow does not answer for now."""


class ChampionMovedError(RegistryError):
    """The champion was moved since it was read."""


class Version(Config):
    """An exported model as the registry knows it."""

    number: int
    tags: dict[str, str]

    def tag(self, name: str) -> str:
        """Return the value of a tag.

        Raises:
            RegistryError: if it is not there.
        """
        if name not in self.tags:
            raise RegistryError(
                f"version {self.number} has no tag {name!r}, so it was not registered by the "
                f"export stage; {PROMOTE_ONE}"
            )
        return self.tags[name]

    @property
    def digest(self) -> str:
        """The digest of its export."""
        return self.tag(BUNDLE_DIGEST)

    @property
    def previous(self) -> int | None:
        """The champion before it, if both exist."""
        return int(self.tags.get("previous_champion") or 0) or None


def file_lock() -> AbstractContextManager[None]:
    """Hold the lock of this project's folder; it falls to the next when its holder dies."""
    return files.locked(paths.REGISTRY_LOCK)


class Registry:
    """The versions of a registered model, and the champion among them.

    ``lock`` returns the lock of moving the champion; folders of several machines need one that all
    of them share.
    """

    def __init__(
        self, name: str, lock: Callable[[], AbstractContextManager[object]] = file_lock
    ) -> None:
        self.name = name
        self._lock = lock
        self._uri = tracking_uri()
        set_defaults()

    def versions(self) -> dict[int, Version]:
        """Return all versions by number, the newest first."""
        with self._client() as client:
            answers = client.search_model_versions(f"name = '{self.name}'")
        versions = (
            Version(number=int(each.version), tags=unpack_tags(each.tags)) for each in answers
        )
        return {each.number: each for each in sorted(versions, key=lambda each: -each.number)}

    def champion(self) -> Version | None:
        """Return the champion, if there is one."""
        number = self._champion()
        return self.version(number) if number else None

    def version(self, number: int) -> Version:
        """Return a version.

        Raises:
            RegistryError: if there is none of that number.
        """
        versions = self.versions()
        if number not in versions:
            known = ", ".join(map(str, versions)) or "none"
            raise RegistryError(f"{self.name} has no version {number}; known: {known}")
        return versions[number]

    def advise(self) -> str:
        """Return the command that makes a champion, in a sentence."""
        newest = next(iter(self.versions()), None)
        if newest is None:
            return (
                f"no version is registered at {redact_url(self._uri)}; {SEND_RUNS} sends what "
                f"was trained here before, and make repro registers what it exports"
            )
        return PROMOTE_ONE.replace("NUMBER", str(newest))

    def find_initial(self, digest: str) -> Version:
        """Return the version to start training from: of a digest, or the champion if that is empty.

        Raises:
            RegistryError: if there is none.
        """
        version = self._holding(digest) if digest else self.champion()
        if version is None:
            wanted = f"no version of SHA-256 {digest}" if digest else "no champion"
            raise RegistryError(
                f"{self.name} has {wanted} to start training from; set download.initial_model.kind "
                f"to none; {self.advise()}"
            )
        return version

    def version_holding(self, exported: Exported) -> Version:
        """Return the version that holds an export, registered now if MLflow was away before.

        Raises:
            RegistryError: if it cannot be registered.
        """
        version = self._holding(exported.digest)
        if version is None:
            with open_tracker(
                exported.fingerprint, experiment=paths.EXPERIMENT, enabled=False
            ) as tracker:
                tracker.model(exported.folder, name=exported.name, tags=exported.tags)
            try:
                send(Journal(exported.fingerprint))
            except NmtError as error:
                raise RegistryAwayError(f"{error}; {TRY_AGAIN}") from None
            version = self._holding(exported.digest)
        if version is None:
            raise RegistryError(
                f"{exported.folder} is not the export to register; another process has "
                f"written it anew meanwhile, so try again"
            )
        return version

    def fetch(self, version: Version, folder: Path) -> Path:
        """Fetch the sealed export of a version into a folder; return its path.

        Raises:
            RegistryError: if the registry gives another one.
            BundleError: if it is not as it was exported.
        """
        with self._client() as client:
            from mlflow.artifacts import download_artifacts  # see _mlflow

            uri = client.get_model_version_download_uri(self.name, str(version.number))
            artifacts = download_artifacts(
                artifact_uri=f"{uri}/artifacts", dst_path=str(folder), tracking_uri=self._uri
            )
        [fetched] = Path(artifacts).iterdir()
        seal.verify_bundle(fetched)
        if seal.digest_bundle(fetched) != version.digest:
            raise RegistryError(
                f"version {version.number} of {self.name} holds another export than its tag "
                f"{BUNDLE_DIGEST!r} says; {PROMOTE_ONE}"
            )
        return fetched

    def promote(
        self,
        number: int,
        *,
        expected: int | None,
        promotion: str,
        by: str,
        reason: str,
        evidence: Mapping[str, str] = MappingProxyType({}),
    ) -> bool:
        """Make a version champion; return False if this promotion was made before.

        Args:
            number: of the version.
            expected: number of the champion that it was judged against, None if there was none.
            promotion: an id; a promotion is made once, even if it is requested again.
            by: the user.
            reason: of the promotion.
            evidence: further tags.

        Raises:
            RegistryError: if the champion is another by now, or that version already.
        """
        with self._lock():
            champion, version = self._champion(), self.version(number)
            repeated = version.tags.get("promotion") == promotion
            if repeated and (number == champion or "rolled_back_at" in version.tags):
                return False
            self._check(champion, expected)
            if number == expected:
                raise RegistryError(f"version {number} of {self.name} is the champion already")
            tags = {
                "promoted_at": now(),
                "promoted_by": by,
                "reason": reason,
                "previous_champion": str(expected or ""),
                **evidence,
                "promotion": promotion,
            }
            lasting = {
                name: value
                for name, value in version.tags.items()
                if name not in tags and not name.startswith(WITHDRAWN)
            }
            self._replace_tags(version, lasting | tags)
            self._move(version)
            return True

    def rollback(self, *, by: str, reason: str, expected: int | None = None) -> Version:
        """Make the champion before the present one champion again, and return it.

        ``expected`` is the number of the champion to withdraw; None withdraws any.

        Raises:
            RegistryError: if the champion is another by now, there was none before, or that one was
                withdrawn itself.
        """
        with self._lock():
            champion = self.champion()
            if champion is None:
                raise RegistryError(f"{self.name} has no champion to withdraw; {self.advise()}")
            self._check(champion.number, expected or champion.number)
            if champion.previous is None:
                raise RegistryError(
                    f"version {champion.number} is the first champion of {self.name}, so there is "
                    f"none to go back to; {PROMOTE_ONE}"
                )
            before = self.version(champion.previous)
            if "rolled_back_at" in before.tags:
                raise RegistryError(
                    f"version {before.number} of {self.name}, the champion before, was withdrawn "
                    f"itself; {PROMOTE_ONE}"
                )
            withdrawal = {"by": by, "reason": reason, "at": now()}
            tags = {f"{WITHDRAWN}{name}": text for name, text in withdrawal.items()}
            self._replace_tags(champion, champion.tags | tags)
            self._move(before)
            return before

    def _champion(self) -> int | None:
        with self._client() as client:
            models = client.search_registered_models(f"name = '{self.name}'")
        number = models[0].aliases.get(CHAMPION) if models else None
        return int(number) if number else None

    def _holding(self, digest: str) -> Version | None:
        versions = self.versions().values()
        return next(
            (version for version in versions if version.tags.get(BUNDLE_DIGEST) == digest), None
        )

    def _check(self, champion: int | None, expected: int | None) -> None:
        """Refuse to replace a champion other than the expected one.

        Raises:
            ChampionMovedError: if it is not the one expected.
        """
        if champion != expected:
            got, seen = (
                f"version {number}" if number else "none" for number in (champion, expected)
            )
            raise ChampionMovedError(
                f"the champion of {self.name} is {got} by now, not {seen}; another process has "
                f"moved it, so look again"
            )

    def _replace_tags(self, version: Version, tags: Mapping[str, str]) -> None:
        """Replace the tags of a version in the given order."""
        with self._client() as client:
            for name in version.tags.keys() - tags.keys():
                client.delete_model_version_tag(self.name, str(version.number), name)
            for name, value in tags.items():
                if version.tags.get(name) != value:
                    client.set_model_version_tag(self.name, str(version.number), name, value)

    def _move(self, version: Version) -> None:
        with self._client() as client:
            client.set_registered_model_alias(self.name, CHAMPION, str(version.number))

    @contextmanager
    def _client(self) -> Iterator["MlflowClient"]:
        """Yield MLflow's client, and report its failures in one sentence.

        Raises:
            RegistryAwayError: if it does not answer, or refuses.
        """
        from mlflow.exceptions import MlflowException  # see _mlflow

        try:
            yield self._mlflow
        except (MlflowException, OSError) as error:
            reason = summarize_error(error)
            raise RegistryAwayError(
                f"MLflow at {redact_url(self._uri)}: {reason}; {TRY_AGAIN}"
            ) from None

    @cached_property
    def _mlflow(self) -> "MlflowClient":
        from stages.tracking.mlflow_run import open_client  # takes seconds

        return open_client(self._uri)


def now() -> str:
    """Return the time in UTC, in a form that sorts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
