"""Scheduled sampling (Bengio et al. 2015): the decoder reads some of its own words in training.

Otherwise it only ever reads references while it learns, and nothing but its own words when it
translates. Words are drawn one position after another without gradients, as in the paper; what the
decoder reads then goes through the usual loss, so that this works with every architecture.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from nmt_core.config import Config
from nmt_core.data.batch import Batch
from nmt_core.models import Seq2Seq
from nmt_core.vocabulary import BOS, EOS, PAD

STEEPNESS = 10.0
"""Of the inverse sigmoid: the middle fifth of training sees half of its rise."""


class ScheduledSampling(Config):
    """How often the decoder reads its own word instead of the reference's."""

    shape: Literal["none", "linear", "exponential", "inverse_sigmoid"] = "none"
    """How the probability rises from 0 at the start of training to ``final`` at its end: along a
    line; so that the reference's decays exponentially; or along an S. None is off. Drawing goes
    position by position, which makes a step on a CPU about 1.5 times as long."""
    final: float = Field(0.25, ge=0, lt=1)
    """Probability of reading its own word at the end of training; more than a half rarely helps."""
    choose: Literal["sample", "best"] = "sample"
    """Draw the model's own word from its distribution, or take its most probable one."""

    def probability(self, done: float) -> float:
        """Return the probability of an own word where a share ``done`` of training is done."""
        match self.shape:
            case "none":
                return 0.0
            case "linear":
                return self.final * done
            case "exponential":
                return 1 - (1 - self.final) ** done
            case "inverse_sigmoid":
                edge = math.tanh(STEEPNESS / 4)
                return self.final * (1 + math.tanh(STEEPNESS / 2 * (done - 0.5)) / edge) / 2


def with_own_words(
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
    own[:, 0] = False
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
