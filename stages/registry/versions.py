"""A version of a registered model, who made it champion, and what may go wrong with either."""

import json

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from stages.tracking.journal import BUNDLE_DIGEST

EARLIER = "earlier_promotions"
"""The tag that lists what else has made a version champion."""

PROMOTE_ONE = "promote one by: python -m stages.registry promote VERSION --reason WHY"


class RegistryError(NmtError):
    """The registry is not as it would have to be."""


class RegistryAwayError(RegistryError):
    """MLflow does not answer for now."""


class ChampionMovedError(RegistryError):
    """Somebody else has moved the champion since it was looked at."""


class Version(Config):
    """An exported model as the registry knows it."""

    number: int
    tags: dict[str, str]

    def tag(self, name: str) -> str:
        """Return what a tag says.

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
        """What its export is known by."""
        return self.tag(BUNDLE_DIGEST)

    @property
    def previous(self) -> int | None:
        """The champion before it, if it ever was champion and there was one."""
        return int(self.tags.get("previous_champion") or 0) or None

    @property
    def promotions(self) -> list[str]:
        """All that were to make it champion, the last one last."""
        earlier = json.loads(self.tags.get(EARLIER, "[]"))
        last = self.tags.get("promotion")
        return earlier if last is None or last in earlier else [*earlier, last]


class Promotion(Config):
    """Who makes a version champion, and why."""

    id: str
    """What it is known by: one promotion is made once, however often it is asked for."""
    by: str
    reason: str
    evidence: dict[str, str] = Field(default_factory=dict)
    """Tags that say how it was earned."""
    report: str = ""
    """The same for people, in Markdown."""
