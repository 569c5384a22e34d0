"""Greedy decoding: always the most likely next token. For validation, where speed matters most."""

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from nmt_core.decoding.constraints import never_written
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.vocabulary import BOS, EOS, PAD


@torch.inference_mode()
def greedy(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    max_lengths: Int[Tensor, " B"],
    *,
    forbid_unknown: bool = True,
) -> list[list[int]]:
    """Translate a batch; return the tokens of every sentence, without BOS and EOS.

    It finds what a beam of one finds that stops fast. The model must be in evaluation mode.

    Args:
        model: what to search.
        source: source sentences, each ended by EOS.
        source_padding: True where ``source`` is padding.
        max_lengths: tokens that a translation may have, its EOS included; see ``length_limits``.
        forbid_unknown: never write the unknown token, but the next best one.
    """
    longest = int(max_lengths.amax()) - 1 if len(source) else 0
    forbidden = never_written(source.device, forbid_unknown=forbid_unknown)
    found = source.new_full((len(source), longest), PAD)
    sentences = torch.arange(len(source), device=source.device)
    newest = source.new_full((len(source),), BOS)
    memory = model.encode(source, source_padding)
    state = model.start(memory)

    for position in range(longest):
        hidden, state = model.decode(newest[:, None], memory, state)
        log_probs = model.log_probs(hidden[:, -1]).index_fill(1, forbidden, -torch.inf)
        newest = log_probs.argmax(dim=-1)
        goes_on = (newest != EOS) & (position < max_lengths[sentences] - 1)
        going = goes_on.nonzero().flatten()
        if not len(going):
            break
        if len(going) < len(newest):
            newest, sentences = newest[going], sentences[going]
            memory, state = memory.select(going), state.select(going)
        found[sentences, position] = newest
    return [[token for token in row if token != PAD] for row in found.tolist()]
