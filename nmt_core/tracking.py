"""Where the numbers of a run go. The library knows this protocol and no tracking product."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Tracker(Protocol):
    """Takes what a run wants remembered; none of its methods may fail or wait long."""

    def params(self, values: Mapping[str, object]) -> None:
        """Remember settings, flat, by dotted name."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Remember numbers measured at an optimizer step."""

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Remember a file or a folder as it is now, ``under`` the name of a folder if any."""


class NullTracker:
    """Forgets everything."""

    def params(self, values: Mapping[str, object]) -> None:
        """Forget settings."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Forget numbers."""

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Forget a file."""
