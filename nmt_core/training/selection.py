"""Which validation is the best one, and when to wait no longer for a better one."""

from collections.abc import Sequence
from typing import NamedTuple

Merit = tuple[float, ...]
"""What a validation is judged by: more is better, first numbers count first."""


class Selection(NamedTuple):
    """What the last of some validations decides."""

    is_best: bool
    """Whether it is better than all before it."""
    is_out_of_patience: bool
    """Whether too many in a row were not."""


def select(merits: Sequence[Merit], patience: int | None) -> Selection:
    """Judge the last of all validations so far, at least one.

    Args:
        merits: of each validation, in order; of equal ones, the first is the best.
        patience: validations after the best one at which to stop; None never stops.
    """
    best = max(range(len(merits)), key=merits.__getitem__)
    since_best = len(merits) - 1 - best
    return Selection(since_best == 0, patience is not None and since_best >= patience)
