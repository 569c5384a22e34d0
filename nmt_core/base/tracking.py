"""Protocols for the numbers of a run: a tracker and a display.

The library knows these protocols and no tracking product.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Tracker(Protocol):
    """Records the numbers and files of a run; none of its methods may fail or wait long."""

    def params(self, values: Mapping[str, object]) -> None:
        """Remember settings, flat, by dotted name."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Remember numbers measured at an optimizer step."""

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Remember a file or a folder as it is now, ``under`` the name of a folder if any."""


class Display(Protocol):
    """Shows the progress of training."""

    def step(
        self, *, step: int, tokens: int, seconds: float, loss: float, learning_rate: float
    ) -> None:
        """Show a point of the training curve.

        Args:
            step: updates made.
            tokens: target tokens trained on.
            seconds: time spent in updates.
            loss: in nats per token.
            learning_rate: of the last update.
        """

    def validation(self, point: Mapping[str, float], *, best: bool) -> None:
        """Show the numbers of a validation, by name."""

    def note(self, sentence: str) -> None:
        """Show something worth knowing."""


class NullTracker:
    """Forgets everything."""

    def params(self, values: Mapping[str, object]) -> None:
        """Forget settings."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Forget numbers."""

    def artifact(self, path: Path, *, under: str = "") -> None:
        """Forget a file."""
