"""Sampling of one token, for translators and language models."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.search.settings import TokenSampling

LEAST_TEMPERATURE = 1e-300
"""Below it only the likeliest token is left, as at 0: what is divided by less is no number."""


def shape_distribution(
    log_probs: Float[Tensor, "R V"], sampling: TokenSampling
) -> Float[Tensor, "R V"]:
    """Return the distribution to draw from, in float64: tempered, 0 beyond top k and top p.

    They need not sum to one.
    """
    if sampling.temperature < LEAST_TEMPERATURE:
        likeliest = log_probs.argmax(dim=1, keepdim=True)
        return torch.zeros_like(log_probs, dtype=torch.float64).scatter(1, likeliest, 1.0)
    probabilities = (log_probs.double() / sampling.temperature).softmax(dim=-1)
    if sampling.top_k is None and sampling.top_p == 1:
        return probabilities
    most = min(sampling.top_k or probabilities.size(1), probabilities.size(1))
    best = probabilities.topk(most, dim=1)
    through = best.values.cumsum(dim=1)
    before = through - best.values
    nucleus = best.values.masked_fill(before >= sampling.top_p * through[:, -1:], 0)
    return torch.zeros_like(probabilities).scatter(1, best.indices, nucleus)


def draw_tokens(weights: Float[Tensor, "R V"], noise: Float[Tensor, " R"]) -> Int[Tensor, " R"]:
    """Return for every row the token that uniform noise in [0, 1) falls on."""
    cumulative = weights.cumsum(dim=1)
    point = noise[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, point, right=True)[:, 0]
    return drawn.clamp(max=weights.size(1) - 1)  # beyond it lie only weights that are not numbers
