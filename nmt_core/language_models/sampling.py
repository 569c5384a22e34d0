"""Writing: the next token drawn from what a language model thinks of it, again and again."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from nmt_core.config import Config
from nmt_core.language_models.model import LanguageModel
from nmt_core.text.vocabulary import BOS, EOS


class TokenSampling(Config):
    """How to draw a token."""

    temperature: float = Field(1.0, ge=0)
    """What log-probabilities are divided by before drawing: 1 draws as the model says, less makes
    likely tokens likelier, and 0 takes the likeliest."""
    top_k: int | None = Field(None, ge=1)
    """Draw from so many of the likeliest tokens alone (Fan et al. 2018); null draws from all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the fewest of the likeliest tokens that have this probability together, of what
    temperature and ``top_k`` leave (Holtzman et al. 2020)."""


def shaped(log_probs: Float[Tensor, "R V"], sampling: TokenSampling) -> Float[Tensor, "R V"]:
    """Return what to draw from, in float64: tempered probabilities, 0 beyond top k and top p.

    They need not sum to one.
    """
    if sampling.temperature == 0:
        likeliest = log_probs.argmax(dim=1, keepdim=True)
        return torch.zeros_like(log_probs, dtype=torch.float64).scatter(1, likeliest, 1.0)
    probabilities = (log_probs.double() / sampling.temperature).softmax(dim=-1)
    if sampling.top_k is None and sampling.top_p == 1:
        return probabilities
    most = min(sampling.top_k or probabilities.size(1), probabilities.size(1))
    best = probabilities.topk(most, dim=1)
    through = best.values.cumsum(dim=1)
    before = through - best.values
    kept = best.values.masked_fill(before >= sampling.top_p * through[:, -1:], 0)
    return torch.zeros_like(probabilities).scatter(1, best.indices, kept)


def draw(weights: Float[Tensor, "R V"], noise: Float[Tensor, " R"]) -> Int[Tensor, " R"]:
    """Return for every row the token that uniform noise in [0, 1) falls on."""
    cumulative = weights.cumsum(dim=1)
    place = noise[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, place, right=True)[:, 0]
    return drawn.clamp(max=weights.size(1) - 1)  # beyond it lie only weights that are not numbers


@torch.inference_mode()
def write(
    model: LanguageModel[Any],
    read: Sequence[int],
    sampling: TokenSampling,
    chance: np.random.Generator,
    *,
    never: Sequence[int],
) -> Iterator[int]:
    """Yield tokens without end.

    After EOS the next line begins, with BOS, from what the model remembers if it was trained so.

    Args:
        model: in evaluation mode.
        read: what to go on from, BOS first.
        sampling: how to draw.
        chance: gives one number per token.
        never: tokens that may not be written.
    """
    state = model.start(1)
    newest = torch.tensor([list(read)], device=model.device)
    while True:
        hidden, state = model.decode(newest, state)
        log_probs = model.log_probs(hidden[:, -1])
        log_probs[:, list(never)] = -torch.inf
        noise = torch.tensor([chance.random()], dtype=torch.float64, device=model.device)
        token = int(draw(shaped(log_probs, sampling), noise))
        yield token
        newest = torch.tensor([[token]], device=model.device)
        if token == EOS:
            newest = torch.tensor([[EOS, BOS]] if model.carries else [[BOS]], device=model.device)
            state = state if model.carries else model.start(1)
