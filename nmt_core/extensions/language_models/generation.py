"""Generation: a language model gives the distribution of the next token, and one is drawn."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from nmt_core.base.errors import NmtError
from nmt_core.extensions.language_models.model import LanguageModel
from nmt_core.search.settings import TokenSampling
from nmt_core.search.token_sampling import draw_tokens, shape_distribution
from nmt_core.text.vocabulary import BOS, EOS


@torch.inference_mode()
def generate_tokens(
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

    Raises:
        NmtError: if the model holds all others for impossible.
    """
    state = model.start(1)
    newest = torch.tensor([list(read)], device=model.device)
    while True:
        hidden, state = model.decode(newest, state)
        log_probs = model.log_probs(hidden[:, -1])
        log_probs[:, list(never)] = -torch.inf
        if not log_probs.isfinite().any():
            raise NmtError(
                "the model gives no token that may be written next a positive probability; it "
                "expects unknown words alone, or its weights are not numbers: begin with another "
                "text, or learn it with smoothing"
            )
        noise = torch.tensor([chance.random()], dtype=torch.float64, device=model.device)
        token = int(draw_tokens(shape_distribution(log_probs, sampling), noise))
        yield token
        newest = torch.tensor([[token]], device=model.device)
        if token == EOS:
            newest = torch.tensor([[EOS, BOS]] if model.carries else [[BOS]], device=model.device)
            state = state if model.carries else model.start(1)
