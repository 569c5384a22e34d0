"""The attention of each head of a Transformer, recorded while it reads a pair of sentences."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch

from nmt_core.models.attention import MultiHeadAttention, rotate
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.transformer import Transformer
from nmt_core.text.vocabulary import BOS


@torch.inference_mode()
def trace_heads(
    model: Seq2Seq[Any, Any], source: Sequence[int], target: Sequence[int]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the attention of the encoder, (L, H, S, S), and of the decoder, (L, H, T, S).

    The source ends with EOS, the target does not. None if the model is not a Transformer.
    """
    if not isinstance(model, Transformer):
        return None
    encoder, decoder = list[Any](), list[Any]()
    read = torch.tensor([source], device=next(model.parameters()).device)
    with ExitStack() as stack:
        blocks: list[Any] = [(encoder, layer.attention) for layer in model.encoder]
        blocks += [(decoder, layer.cross_attention) for layer in model.decoder]
        for looks, block in blocks:
            hook = block.register_forward_pre_hook(partial(record, looks), with_kwargs=True)
            stack.callback(hook.remove)
        model(read, torch.zeros_like(read, dtype=torch.bool), read.new_tensor([[BOS, *target]]))
    return np.stack(encoder), np.stack(decoder)


def record(
    looks: list[Any], block: MultiHeadAttention, inputs: tuple[Any, ...], others: Mapping[str, Any]
) -> None:
    """Append the weights of each head for the inputs of a block."""
    query = rotate(block.project_queries(inputs[0]), others.get("rotation"))
    looks.append(block.attend(query, *inputs[1:])[1][0].float().cpu().numpy())
