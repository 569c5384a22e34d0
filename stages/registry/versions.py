"""Versions of a registered model, their promotions, and errors of both."""

import json

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from stages.tracking.journal import BUNDLE_DIGEST

EARLIER = "earlier_promotions"
"""The tag that lists earlier promotions of a version."""

PROMOTE_ONE = 'promote one: make promote VERSION=NUMBER REASON="why"'


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

    @property
    def promotions(self) -> list[str]:
        """All promotions of it, the last one last."""
        earlier = json.loads(self.tags.get(EARLIER, "[]"))
        last = self.tags.get("promotion")
        return earlier if last is None or last in earlier else [*earlier, last]


class Promotion(Config):
    """A promotion: its user and reason."""

    id: str
    """Identifies it: a promotion is made once, even if it is requested again."""
    by: str
    reason: str
    evidence: dict[str, str] = Field(default_factory=dict)
    """Tags with its evidence."""
    report: str = ""
    """The same for people, in Markdown."""
