"""What a search may not write: functions that set next log-probabilities to minus infinity.

A constraint decides what is forbidden, never how likely the rest is: scores stay the model's own.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.vocabulary import BOS, PAD, UNK

Constraint = Callable[[Int[Tensor, "R t"], Float[Tensor, "R V"]], Float[Tensor, "R V"]]
"""Takes the tokens so far, BOS first, and the next log-probabilities; returns these with some -inf.

It may forbid the end of the sentence too, which has no effect at the length limit.
"""


def never_written(device: torch.device, *, forbid_unknown: bool) -> Int[Tensor, " N"]:
    """Return the tokens that no search may write."""
    return torch.tensor([PAD, BOS, UNK] if forbid_unknown else [PAD, BOS], device=device)


def no_repeat_ngrams(size: int) -> Constraint:
    """Return a constraint that lets no ``size`` tokens in a row stand twice in a hypothesis.

    Raises:
        ValueError: if ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"an n-gram has at least one token, got {size}")

    def constraint(
        tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]
    ) -> Float[Tensor, "R V"]:
        length = tokens.size(1)
        if length < size:
            return log_probs
        seen = tokens.unfold(1, size, 1)  # (R, t - size + 1, size)
        latest = tokens[:, length - size + 1 :]  # (R, size - 1)
        repeats = (seen[:, :, :-1] == latest[:, None]).all(dim=2)
        forbidden = seen[:, :, -1].where(repeats, PAD)
        return log_probs.scatter(1, forbidden, -torch.inf)

    return constraint
