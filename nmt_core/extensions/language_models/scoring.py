"""Log-likelihoods of the tokens of a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nmt_core.data.batch import pad
from nmt_core.data.by_length import batches_by_length
from nmt_core.extensions.language_models.model import LanguageModel
from nmt_core.text.vocabulary import BOS, PAD

ROWS_PER_SOFTMAX = 1024
"""Predictions made at once, which bounds memory where vocabularies are large."""

CHUNK = 512
"""Tokens of a stream read at once."""

BATCH_TOKENS = 4096
"""Padded tokens of independent lines read at once."""


@torch.inference_mode()
def stream_log_likelihoods(
    model: LanguageModel[Any], tokens: Sequence[int]
) -> Float[np.ndarray, " T-1"]:
    """Read one stream; return the log-likelihood of every token after the first, 0 for BOS."""
    stream = torch.tensor(tokens, device=model.device)
    state, parts = model.start(1), [np.zeros(0)]
    for begin in range(0, len(stream) - 1, CHUNK):
        chunk = stream[begin : begin + CHUNK + 1]
        hidden, state = model.decode(chunk[None, :-1], state)
        parts.append(_worth(model, hidden[0], chunk[1:]).double().cpu().numpy())
    return np.concatenate(parts)


@torch.inference_mode()
def line_log_likelihoods(
    model: LanguageModel[Any], lines: Sequence[Sequence[int]]
) -> list[Float[np.ndarray, " T-1"]]:
    """Return the log-likelihoods of tokens after the first, of lines that each begin with BOS.

    A model that was trained to go on from line to line reads them as one stream.
    """
    if model.carries:
        stream = [token for line in lines for token in line]
        worth = stream_log_likelihoods(model, stream)
        ends = np.cumsum([len(line) for line in lines])
        return [worth[end - len(line) : end - 1] for line, end in zip(lines, ends, strict=True)]
    scores: list[Float[np.ndarray, " T"]] = [np.zeros(0)] * len(lines)
    lengths = {row: len(line) for row, line in enumerate(lines)}
    for rows in batches_by_length(lengths, max_tokens=BATCH_TOKENS):
        for row, worth in zip(rows, _together(model, [lines[row] for row in rows]), strict=True):
            scores[row] = worth
    return scores


def _together(
    model: LanguageModel[Any], lines: Sequence[Sequence[int]]
) -> list[Float[np.ndarray, " T-1"]]:
    tokens = pad(lines).to(model.device)
    hidden, _ = model.decode(tokens[:, :-1], model.start(len(lines)))
    is_token = tokens[:, 1:] != PAD
    worth = _worth(model, hidden[is_token], tokens[:, 1:][is_token]).double().cpu()
    return [part.numpy() for part in worth.split([len(line) - 1 for line in lines])]


def _worth(model: LanguageModel[Any], hidden: Tensor, tokens: Tensor) -> Tensor:
    parts = zip(hidden.split(ROWS_PER_SOFTMAX), tokens.split(ROWS_PER_SOFTMAX), strict=True)
    worth = torch.cat([model.log_likelihood(features, wanted) for features, wanted in parts])
    return worth.masked_fill(tokens == BOS, 0.0)
