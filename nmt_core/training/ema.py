"""Exponential moving averages of weights."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


class ExponentialMovingAverage:
    """Averages weights over the updates.

    Args:
        weights: those that learn; frozen ones are their own average.
        decay: share of the average that an update leaves; 0 averages nothing.
    """

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.decay = decay
        self._weights = list(weights) if decay > 0 else []
        self._averages = [weight.detach().clone() for weight in self._weights]

    def update(self, step: int) -> None:
        """Take in the weights after the update of that number, counted from 0."""
        if self._averages:
            # early averages forget faster, or they would remember the random start
            decay = min(self.decay, (1 + step) / (10 + step))
            learnt = [weight.detach() for weight in self._weights]
            torch._foreach_lerp_(self._averages, learnt, 1 - decay)

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Put the averages in the place of the weights for a while."""
        kept = [weight.detach().clone() for weight in self._weights]
        _copy(self._averages, self._weights)
        try:
            yield
        finally:
            _copy(kept, self._weights)

    def tensors(self) -> dict[str, Tensor]:
        """Return the averages under names of their own; nothing is copied."""
        return {f"average.{number}": value for number, value in enumerate(self._averages)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Bring back what :meth:`tensors` gave; other tensors are left alone."""
        _copy([tensors[name] for name in self.tensors()], self._averages)


@torch.no_grad()
def _copy(values: Sequence[Tensor], into: Sequence[Tensor]) -> None:
    for tensor, value in zip(into, values, strict=True):
        tensor.copy_(value)
