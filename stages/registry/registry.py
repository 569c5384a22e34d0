"""The champion among exported models, moved by compare-and-swap on MLflow's alias.

MLflow keeps every export as a version of one registered model per language pair. The alias
``champion`` names the served one; tags of the version record its promotion::

    promoted_at, promoted_by, reason, previous_champion, promotion    current and former champions
    rolled_back_at, rolled_back_by, rolled_back_reason                withdrawn champions

The description of a version is its model card.

MLflow cannot move an alias on a condition, so a lock guards the move. The tags are written before
the alias: if a promotion is interrupted, the old champion serves on, and the promotion can be
repeated. Moving the alias in MLflow itself bypasses lock and tags.
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
from stages.tracking.journal import BUNDLE_DIGEST, Journal
from stages.tracking.tracker import open_tracker, send, set_defaults, summarize_error, tracking_uri

if TYPE_CHECKING:
    from mlflow import MlflowClient

PROMOTE_ONE = 'promote one: make promote VERSION=NUMBER REASON="why"'

CHAMPION = "champion"
"""The alias of the version that is served."""

WITHDRAWN = "rolled_back_"
"""Prefix of tags of a withdrawn version, which a new promotion removes."""

TRY_AGAIN = "start it, or set MLFLOW_TRACKING_URI to its address, and try again"


class RegistryError(NmtError):
    """The registry does not answer, or lacks the requested version, tag or champion."""


class RegistryAwayError(RegistryError):
    """MLflow does not answer at the moment."""


class ChampionMovedError(RegistryError):
    """Another process has moved the champion since it was read."""


class Version(Config):
    """A registered version: its number and its tags."""

    number: int
    tags: dict[str, str]

    def tag(self, name: str) -> str:
        """Return the value of a tag.

        Raises:
            RegistryError: if the version has no such tag.
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
        """Number of the champion before this one; None if there was none."""
        return int(self.tags.get("previous_champion") or 0) or None


def file_lock() -> AbstractContextManager[None]:
    """Return the lock of this project's folder; the system releases it when its process ends."""
    return files.locked(paths.REGISTRY_LOCK)


class Registry:
    """The versions of a registered model, and the champion among them.

    ``lock`` returns a lock for changes of the champion; several machines need a shared one.
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
        versions = (Version(number=int(each.version), tags=dict(each.tags)) for each in answers)
        return {each.number: each for each in sorted(versions, key=lambda each: -each.number)}

    def champion(self) -> Version | None:
        """Return the champion; None without one."""
        number = self._champion()
        return self.version(number) if number else None

    def version(self, number: int) -> Version:
        """Return a version.

        Raises:
            RegistryError: if there is no version with that number.
        """
        versions = self.versions()
        if number not in versions:
            known = ", ".join(map(str, versions)) or "none"
            raise RegistryError(f"{self.name} has no version {number}; known: {known}")
        return versions[number]

    def advise(self) -> str:
        """Return a sentence with the command that makes a champion."""
        newest = next(iter(self.versions()), None)
        if newest is None:
            return (
                f"no version is registered at {redact_url(self._uri)}; make sync registers "
                f"earlier exports of this checkout, and make repro the next one"
            )
        return PROMOTE_ONE.replace("NUMBER", str(newest))

    def find_initial(self, digest: str) -> Version:
        """Return the version with a digest, to start training from; the champion if it is empty.

        Raises:
            RegistryError: if there is no such version.
        """
        version = self._holding(digest) if digest else self.champion()
        if version is None:
            missing = f"no version of SHA-256 {digest}" if digest else "no champion"
            raise RegistryError(
                f"{self.name} has {missing} to start training from; set "
                f"download.initial_model.kind to none; {self.advise()}"
            )
        return version

    def version_holding(self, exported: Exported) -> Version:
        """Return the version of an export; register it first if MLflow did not answer before.

        Raises:
            RegistryError: if the export cannot be registered.
        """
        version = self._holding(exported.digest)
        if version is None:
            with open_tracker(exported.fingerprint, enabled=False) as tracker:
                tracker.model(exported.folder, name=exported.name, tags=exported.tags)
            try:
                send(Journal(exported.fingerprint))
            except NmtError as error:
                raise RegistryAwayError(f"{error}; {TRY_AGAIN}") from None
            version = self._holding(exported.digest)
        if version is None:
            raise RegistryError(
                f"another process has replaced {exported.folder} since it was read; try again"
            )
        return version

    def fetch(self, version: Version, folder: Path) -> Path:
        """Fetch the export of a version into a folder, verify it, and return its path.

        Raises:
            RegistryError: if the fetched export has another digest than the version's tag.
            BundleError: if the export is incomplete or altered.
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
                f"the export of version {version.number} of {self.name} does not match its tag "
                f"{BUNDLE_DIGEST!r}; {PROMOTE_ONE}"
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
            number: number of the version.
            expected: number of the champion that it was compared with; None without one.
            promotion: an id; a repeated request with the same id changes nothing.
            by: name of the user.
            reason: reason of the promotion.
            evidence: further tags.

        Raises:
            RegistryError: if the champion has changed since, or is already that version.
        """
        with self._lock():
            champion, version = self._champion(), self.version(number)
            repeated = version.tags.get("promotion") == promotion
            if repeated and (number == champion or "rolled_back_at" in version.tags):
                return False
            self._check(champion, expected)
            if number == expected:
                raise RegistryError(f"version {number} of {self.name} is already the champion")
            tags = {
                "promoted_at": now(),
                "promoted_by": by,
                "reason": reason,
                "previous_champion": str(expected or ""),
                **evidence,
                "promotion": promotion,
            }
            kept_tags = {
                name: value
                for name, value in version.tags.items()
                if name not in tags and not name.startswith(WITHDRAWN)
            }
            self._replace_tags(version, kept_tags | tags)
            self._move(version)
            return True

    def rollback(self, *, by: str, reason: str, expected: int | None = None) -> Version:
        """Withdraw the champion; return the previous one, which is champion again.

        ``expected`` is the number of the champion to withdraw; None for the current one.

        Raises:
            RegistryError: if the champion has changed since, is the first, or if the previous one
                was withdrawn itself.
        """
        with self._lock():
            champion = self.champion()
            if champion is None:
                raise RegistryError(f"{self.name} has no champion to withdraw; {self.advise()}")
            self._check(champion.number, expected or champion.number)
            if champion.previous is None:
                raise RegistryError(
                    f"version {champion.number} is the first champion of {self.name}; {PROMOTE_ONE}"
                )
            previous = self.version(champion.previous)
            if "rolled_back_at" in previous.tags:
                raise RegistryError(
                    f"version {previous.number}, the previous champion, was withdrawn; "
                    f"{PROMOTE_ONE}"
                )
            withdrawal = {"by": by, "reason": reason, "at": now()}
            tags = {f"{WITHDRAWN}{name}": text for name, text in withdrawal.items()}
            self._replace_tags(champion, champion.tags | tags)
            self._move(previous)
            return previous

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
        """Raise a ``ChampionMovedError`` if the champion is not the expected one."""
        if champion != expected:
            current, earlier = (
                f"version {number}" if number else "none" for number in (champion, expected)
            )
            raise ChampionMovedError(
                f"another process has changed the champion of {self.name} from {earlier} to "
                f"{current}; compare with the new champion"
            )

    def _replace_tags(self, version: Version, tags: Mapping[str, str]) -> None:
        """Replace the tags of a version, in order."""
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
        """Yield MLflow's client.

        Raises:
            RegistryAwayError: if MLflow does not answer, or refuses the request.
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
    """Return the current time in UTC, in ISO format."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
