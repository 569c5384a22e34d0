"""What a search may not write: functions that set next log-probabilities to minus infinity.

A constraint decides what is forbidden, never how likely the rest is: scores stay the model's own.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.vocabulary import PAD

Constraint = Callable[[Int[Tensor, "R t"], Float[Tensor, "R V"]], Float[Tensor, "R V"]]
"""Takes the tokens so far, BOS first, and the next log-probabilities; returns these with some -inf.

It may forbid the end of the sentence too, which has no effect at the length limit.
"""


def never(tokens: Sequence[int], device: torch.device) -> Constraint:
    """Return a constraint that forbids some tokens everywhere."""
    forbidden = torch.tensor(tokens, device=device)
    return lambda _, log_probs: log_probs.index_fill(1, forbidden, -torch.inf)


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


def demand(
    tokens: Int[Tensor, " R"], log_probs: Float[Tensor, "R V"], otherwise: Float[Tensor, "R V"]
) -> Float[Tensor, "R V"]:
    """Let nothing but the given tokens follow, as likely as they are; PAD demands nothing.

    Args:
        tokens: what must follow each row.
        log_probs: what the model says, with nothing forbidden.
        otherwise: what holds for rows of which nothing is demanded.
    """
    own = log_probs.gather(1, tokens[:, None])
    forced = torch.full_like(log_probs, -torch.inf).scatter(1, tokens[:, None], own)
    return forced.where((tokens != PAD)[:, None], otherwise)
