"""Constraints of a search: functions that set next log-probabilities to minus infinity.

A constraint decides what is forbidden, never how likely the rest is: scores stay the model's own.
It writes in place, for a copy of rows by vocabulary may be larger than the model.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.text.vocabulary import PAD

Constraint = Callable[[Int[Tensor, "R t"], Float[Tensor, "R V"]], None]
"""Takes the tokens so far, BOS first, and the next log-probabilities; sets some of these to -inf.

It may forbid the end of the sentence too, which has no effect at the length limit.
"""


def forbid_tokens(tokens: Sequence[int], device: torch.device) -> Constraint:
    """Return a constraint that forbids some tokens everywhere."""
    forbidden = torch.tensor(tokens, device=device)

    def constraint(_: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        log_probs.index_fill_(1, forbidden, -torch.inf)

    return constraint


def forbid_repeated_ngrams(size: int) -> Constraint:
    """Return a constraint that lets no ``size`` tokens in a row stand twice in a hypothesis.

    Raises:
        ValueError: if ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"an n-gram has at least one token, got {size}")

    def constraint(tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        length = tokens.size(1)
        if length < size:
            return
        seen = tokens.unfold(1, size, 1)  # (R, t - size + 1, size)
        latest = tokens[:, length - size + 1 :]  # (R, size - 1)
        repeats = (seen[:, :, :-1] == latest[:, None]).all(dim=2)
        forbidden = seen[:, :, -1].where(repeats, PAD)
        log_probs.scatter_(1, forbidden, -torch.inf)

    return constraint


def force_tokens(
    tokens: Int[Tensor, "R 1"], own: Float[Tensor, "R 1"], log_probs: Float[Tensor, "R V"]
) -> None:
    """Let nothing but the given tokens follow, as likely as they are; PAD demands nothing.

    Args:
        tokens: what must follow each row.
        own: what the model says of these tokens, with nothing forbidden.
        log_probs: what may follow each row; changed where something is demanded.
    """
    demanded = tokens != PAD
    log_probs.masked_fill_(demanded, -torch.inf)
    log_probs.scatter_(1, tokens, own.where(demanded, log_probs.gather(1, tokens)))
