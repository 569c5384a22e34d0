"""Conditions of the gate: what a challenger may not do worse than the champion."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.random import find_tail


class Condition(Config):
    """A condition, with what was measured of both systems."""

    name: Annotated[str, Field(pattern="^(literals|case|slice_.+)$")]
    label: str
    """What is measured, in words."""
    sentences: int
    """On which both were compared; 0 where there are none, so that nothing is demanded."""
    champion: float = 0.0
    challenger: float = 0.0
    worse: float = 1.0
    """Probability of so large a loss by chance; of a slice, beyond its bound."""
    bound: float | None = None
    """Of a slice: points that it may lose. Of others none: whatever is proved counts."""
    lost: float = 0.0
    """Of a slice: points that were lost; below 0 where it has gained."""

    @property
    def exceeds(self) -> bool:
        """Tells whether a slice has lost more than it may, proved or not."""
        return self.bound is not None and self.lost > self.bound

    @property
    def loss(self) -> str:
        """Says in words what has got worse."""
        may = "" if self.bound is None else f", where it may lose {self.bound:g}"
        return f"{self.label}: {self.challenger:.2f} instead of {self.champion:.2f}{may}"


def compare_literals(champion: Sequence[bool], challenger: Sequence[bool]) -> Condition:
    """Test whether the challenger keeps the literals of fewer sentences.

    The test is McNemar's (1947), exact and one-sided: of sentences in which one alone of both keeps
    them, a fair coin says which.

    Args:
        champion: whether it keeps them, by sentence.
        challenger: the same of the other one.
    """
    label = "sentences whose numbers and the like all come through, in %"
    pairs = list(zip(champion, challenger, strict=True))
    if not pairs:
        return Condition(name="literals", label=label, sentences=0)
    lost, won = pairs.count((True, False)), pairs.count((False, True))
    return Condition(
        name="literals",
        label=label,
        sentences=len(pairs),
        champion=100 * sum(champion) / len(pairs),
        challenger=100 * sum(challenger) / len(pairs),
        worse=find_tail(lost, lost + won),
    )
