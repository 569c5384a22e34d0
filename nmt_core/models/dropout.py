"""Dropout (Srivastava et al. 2014), from random bytes.

A keep-or-drop decision needs few random bits, so eight decisions are cut from one 64-bit draw. The
probability is rounded to 1/256, though never to 0 or 1, and the survivors are scaled by what was
really kept, which leaves the mean exact. On a CPU this costs a fifth of a draw per element.
"""

import torch
from torch import Tensor

_LEVELS = 256
_BYTES = 8


def dropout(
    x: Tensor,
    probability: float,
    *,
    training: bool,
    variational: bool = False,
    whole_batch: bool = False,
) -> Tensor:
    """Return ``x`` with elements dropped and the others scaled up.

    Args:
        x: any tensor; if ``variational`` or ``whole_batch``, (B, T, D).
        probability: of an element being dropped.
        training: nothing is dropped otherwise.
        variational: draw one mask per sentence for all positions (Gal and Ghahramani 2016;
            ``noise_shape=[B, 1, E]`` in van der Goten 2018), not one per position.
        whole_batch: draw one mask for all positions of all sentences (``noise_shape=[1, E]`` of
            [B * T, E] there).
    """
    if not training or probability == 0:
        return x
    level = min(max(round(probability * _LEVELS), 1), _LEVELS - 1)
    if whole_batch:
        shape: tuple[int, ...] = (1, 1, x.size(2))
    else:
        shape = (x.size(0), 1, x.size(2)) if variational else x.shape
    keep = _keep(shape, level, x.device).to(x.dtype)
    return x * keep.mul_(_LEVELS / (_LEVELS - level))


def _keep(shape: tuple[int, ...], level: int, device: torch.device) -> Tensor:
    count = torch.Size(shape).numel()
    words = torch.empty(-(-count // _BYTES), dtype=torch.int64, device=device)
    words.random_(torch.iinfo(torch.int64).min, None)
    return (words.view(torch.uint8)[:count] >= level).view(shape)
