"""Rotary positions: queries and keys are rotated by where they stand (Su et al. 2021, RoFormer).

The product of a query and a key then depends on how far apart they are, and not on where they are;
values are not rotated. Letters as in ``attention.py``.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.models.settings import ROTARY_BASE


@dataclass(frozen=True)
class Rotation:
    """The rotation of features at successive positions.

    Args:
        cosine: (T, d / 2), of the angle of every pair of features.
        sine: the same of the sine.
    """

    cosine: Tensor
    sine: Tensor

    def rotate(self, x: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T d"]:
        """Rotate feature ``i`` and feature ``d / 2 + i`` of every position by their angle."""
        cosine, sine = self.cosine.to(x.dtype), self.sine.to(x.dtype)
        left, right = x.chunk(2, dim=-1)
        return torch.cat([left * cosine - right * sine, right * cosine + left * sine], dim=-1)


def compute_rotation(positions: Int[Tensor, " T"], head_width: int) -> Rotation:
    """Return the rotation at these positions (section 3.2.2).

    Args:
        positions: where what is read stands, from 0.
        head_width: features of a head, d, an even number.
    """
    pairs = torch.arange(head_width // 2, device=positions.device)
    angle = positions[:, None] * torch.exp(pairs * (-2 * math.log(ROTARY_BASE) / head_width))
    return Rotation(angle.cos(), angle.sin())


def compute_next_rotation(
    x: Float[Tensor, "R T D"], head_width: int | None, first: int = 0, hypotheses: int = 1
) -> Rotation | None:
    """Return the rotation of what is read next; None where positions are told otherwise.

    Args:
        x: what is read.
        head_width: features of a head, d; None where positions are told otherwise.
        first: where it begins.
        hypotheses: how many there are of each position, one behind the other.
    """
    if head_width is None:
        return None
    positions = torch.arange(first, first + x.size(1), device=x.device)
    return compute_rotation(positions[:, None].expand(-1, hypotheses).flatten(), head_width)
