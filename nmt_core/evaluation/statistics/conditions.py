"""Conditions of the gate: what a challenger may not do worse than the champion."""

from collections.abc import Sequence
from typing import Literal

from nmt_core.base.binomial import find_tail
from nmt_core.base.config import Config


class Condition(Config):
    """A condition, with what was measured of both systems."""

    name: Literal["literals", "case"]
    label: str
    """What is measured, in words."""
    sentences: int
    """On which both were compared; 0 where there are none, so that nothing is demanded."""
    champion: float = 0.0
    challenger: float = 0.0
    worse: float = 1.0
    """Probability of so large a loss by chance."""

    @property
    def loss(self) -> str:
        """Says in words what has got worse."""
        return f"{self.label}: {self.challenger:.2f} instead of {self.champion:.2f}"


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
