"""A training that differs from one before it in nothing but its budget, and goes on from there."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from nmt_core.base import config
from nmt_core.base.errors import CheckpointError
from nmt_core.training.budget import Budget
from nmt_core.training.checkpoint import Checkpoint, CheckpointStore
from nmt_core.training.progress import Progress


def prolong(
    store: CheckpointStore,
    others: Iterable[CheckpointStore],
    *,
    budget: Budget,
    validate_every: int,
) -> tuple[CheckpointStore, int] | None:
    """Put the farthest checkpoint of other trainings, and its best model, into an empty store.

    It is one that a training with ``budget`` passes on its way from the beginning, so that both end
    in the same bytes. This holds where no update depends on the budget.

    Args:
        store: where the training continues from.
        others: checkpoints of trainings that differ in nothing but their budget.
        budget: ends the training.
        validate_every: updates between two validations, in all of them.

    Returns:
        Whose checkpoint it was, and its step; None if there is none to go on from.

    Raises:
        CheckpointError: if the disk refuses.
    """
    passes = partial(is_passed, budget=budget, validate_every=validate_every)
    found = ((other, at) for other in others if (at := find_newest(other, passes)))
    farthest = max(found, key=lambda pair: pair[1].progress["step"], default=None)
    if farthest is None:
        return None
    other, checkpoint = farthest
    if (best := checkpoint.progress["best_step"]) is not None:
        store.save_best(other.best(), step=best)
    store.save(checkpoint, step=(step := checkpoint.progress["step"]))
    return other, step


def is_passed(values: Mapping[str, Any], *, budget: Budget, validate_every: int) -> bool:
    """Tell whether a training with ``budget`` comes to where another one was, and goes on.

    It does not come to where the other one validated because its own budget was spent, or a part of
    its seconds was; how far seconds lead is never the same, so a budget of them goes on from there.
    """
    progress = config.build(Progress, values, at="progress")
    regular = all(point.step % validate_every == 0 for point in progress.history)
    return (regular or budget.seconds is not None) and not progress.has_spent(budget)


def find_newest(
    store: CheckpointStore, suits: Callable[[Mapping[str, Any]], bool]
) -> Checkpoint | None:
    """Return the newest checkpoint that suits; None, too, where those that would are damaged."""
    try:
        return store.newest(suits)
    except CheckpointError:
        return None
