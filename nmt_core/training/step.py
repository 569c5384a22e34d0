"""Apply the gradients of an update, and refuse a loss that is no number."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from nmt_core.base.compute import Compute
from nmt_core.base.errors import TrainingError


def apply_gradients(
    weights: Sequence[Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    compute: Compute,
    learning_rate: float,
    max_norm: float | None,
) -> None:
    """Clip the gradients of the weights, make the optimizer's update, forget them.

    Gradients are clipped to an L2 norm, unless that is None.

    Muon's products of matrices have the type of all others, as Jordan et al. 2024 made them in
    bfloat16; momentum, and all of AdamW, is in the type of the weights.
    """
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(weights, max_norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    with compute.autocast():
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def require_finite(loss: float, *, name: str = "loss", place: str, remedy: str) -> float:
    """Return a loss that is a number.

    Args:
        loss: a cross entropy, in nats.
        name: what it is called in the message.
        place: where training is.
        remedy: what a person can do about it.

    Raises:
        TrainingError: if it is infinite or not a number.
    """
    if not math.isfinite(loss):
        raise TrainingError(
            f"the {name} is {loss} at {place}; the last checkpoint is kept: {remedy}"
        )
    return loss
