"""Scheduled sampling (Bengio et al. 2015): the decoder reads some of its own words in training.

Otherwise it only ever reads references while it learns, and nothing but its own words when it
translates. Words are drawn one position after another without gradients, as in the paper; what the
decoder reads then goes through the usual loss, so that this works with every architecture.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.data.batch import Batch
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.vocabulary import BOS, EOS, PAD
from nmt_core.training.settings import ScheduledSampling


def replace_with_predictions(
    model: Seq2Seq[Any, Any], batch: Batch, config: ScheduledSampling, done: float
) -> Batch:
    """Return the batch with some of what the decoder reads replaced by its own words.

    What it must predict stays; so do BOS and padding. Torch's generator decides.

    Args:
        model: draws the words, with nothing dropped.
        batch: pairs.
        config: how often, and which word.
        done: share of training that is done.
    """
    probability = config.probability(done)
    if probability == 0:
        return batch
    tokens = batch.target_input
    own = (torch.rand(tokens.shape, device=tokens.device) < probability) & (tokens != PAD)
    with _evaluation(model), torch.no_grad():
        read = list(tokens.unbind(dim=1))
        memory = model.encode(batch.source, batch.source_padding)
        state = model.start(memory)
        for position in range(1, 1 + _last(own)):
            hidden, state = model.decode(read[position - 1][:, None], memory, state)
            rows = own[:, position].nonzero().squeeze(1)
            words = _choose(model.log_probs(hidden[rows, 0]), config.choose)
            read[position] = read[position].index_copy(0, rows, words)
    return replace(batch, target_input=torch.stack(read, dim=1))


def _last(own: Tensor) -> int:
    """Return the last position at which any row reads an own word, or 0."""
    return int((own.any(dim=0) * torch.arange(own.size(1), device=own.device)).max())


def _choose(
    log_probs: Float[Tensor, "N V"], choose: Literal["sample", "best"]
) -> Int[Tensor, " N"]:
    """Return a word per row, none of those that a decoder never reads after the first."""
    log_probs = log_probs.index_fill(
        1, torch.tensor([PAD, BOS, EOS]).to(log_probs.device), -torch.inf
    )
    if choose == "best" or not len(log_probs):
        return log_probs.argmax(dim=1)
    return torch.multinomial(log_probs.softmax(dim=1), 1).squeeze(1)


@contextmanager
def _evaluation(model: Seq2Seq[Any, Any]) -> Iterator[None]:
    """Put the model into evaluation mode for a while."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
