"""Writing: the next token drawn from what a language model thinks of it, again and again."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field

from nmt_core.config import Config
from nmt_core.language_models.model import LanguageModel
from nmt_core.vocabulary import BOS, EOS


class SamplingConfig(Config):
    """How to draw."""

    temperature: float = Field(1.0, ge=0)
    """What log-probabilities are divided by: below 1 surer, above 1 bolder; 0 always takes the most
    likely token."""
    top_k: int | None = Field(None, ge=1)
    """Draw from so many most likely tokens alone (Fan et al. 2018); null draws from all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the fewest tokens that have this probability together (Holtzman et al. 2020)."""


@torch.inference_mode()
def write(
    model: LanguageModel[Any],
    read: Sequence[int],
    sampling: SamplingConfig,
    draw: np.random.Generator,
    *,
    never: Sequence[int],
) -> Iterator[int]:
    """Yield tokens without end.

    After EOS the next line begins, with BOS, from what the model remembers if it was trained so.

    Args:
        model: in evaluation mode.
        read: what to go on from, BOS first.
        sampling: how to draw.
        draw: where chance comes from; one draw per token.
        never: tokens that may not be written.
    """
    state = model.start(1)
    newest = torch.tensor([list(read)], device=model.device)
    while True:
        hidden, state = model.decode(newest, state)
        log_probs = model.log_probs(hidden[0, -1]).double().cpu().numpy()
        log_probs[list(never)] = -math.inf
        p = reshape(log_probs, sampling)
        token = min(int(np.searchsorted(p.cumsum(), draw.random(), side="right")), len(p) - 1)
        yield token
        newest = torch.tensor([[token]], device=model.device)
        if token == EOS:
            newest = torch.tensor([[EOS, BOS]] if model.carries else [[BOS]], device=model.device)
            state = state if model.carries else model.start(1)


def reshape(
    log_probs: Float[np.ndarray, " V"], sampling: SamplingConfig
) -> Float[np.ndarray, " V"]:
    """Return the probabilities to draw from."""
    order = np.argsort(-log_probs, kind="stable")
    kept = 1 if sampling.temperature == 0 else sampling.top_k or len(order)
    scaled = np.full_like(log_probs, -math.inf)
    scaled[order[:kept]] = log_probs[order[:kept]] / (sampling.temperature or 1.0)
    p = np.exp(scaled - scaled.max())
    p /= p.sum()
    enough = int(np.searchsorted(p[order].cumsum(), sampling.top_p)) + 1
    p[order[enough:]] = 0.0
    return p / p.sum()
