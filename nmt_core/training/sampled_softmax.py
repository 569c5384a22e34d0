"""Sampled softmax for large vocabularies (Jean et al. 2015), in training alone.

The sum over all words in the softmax is estimated from the word that is right and some others that
the whole batch shares. Every word is drawn or not by itself, with a known probability q, and a
drawn one counts for 1 / q: the estimate of the sum is unbiased, that of its logarithm nearly so,
and if all words are drawn the loss is the full one.

Dimension letters: N positions, V target vocabulary, M drawn words, D model width.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.base.random import make_generator
from nmt_core.models.seq2seq import Seq2Seq


@functools.lru_cache(maxsize=4)
def compute_inclusion(words: int, expected: int) -> np.ndarray:
    """Return each word's probability of being drawn; they sum to ``expected``, none exceeds 1.

    They are proportional to ``log((n + 2) / (n + 1))`` for word ``n``: Zipf's law, for vocabularies
    numbered from the most frequent word on, as ours are. Other orders only make training noisier.
    """
    if expected >= words:
        return np.ones(words)
    number = np.arange(words)
    share = np.log1p(1 / (number + 1))
    rest = share[::-1].cumsum()[::-1]
    factor = (expected - number) / rest  # if the first so many words are sure to be drawn
    sure = (factor * share <= 1).argmax()
    return np.minimum(1.0, factor[sure] * share)


@dataclass(frozen=True)
class SampledSoftmax:
    """The loss of one batch.

    Attributes:
        expected: words to draw, on average.
        seed: of the training.
        step: of the training; draws are a function of the two.
    """

    expected: int
    seed: int
    step: int

    def __call__(
        self, model: Seq2Seq[Any, Any], hidden: Float[Tensor, "N D"], target: Int[Tensor, " N"]
    ) -> Float[Tensor, " N"]:
        """Return an estimate of every token's cross entropy, in nats."""
        words = model.project(hidden[:1]).size(-1)
        probabilities = compute_inclusion(words, self.expected)
        draws = make_generator(self.seed, "sampled softmax", self.step).random(words)
        drawn = (draws < probabilities).nonzero()[0]
        return sampled_cross_entropy(
            functools.partial(model.project, hidden),
            target,
            torch.from_numpy(drawn).to(target.device),
            torch.from_numpy(np.log(probabilities[drawn])).to(target.device),
        )


def sampled_cross_entropy(
    project: Callable[[Tensor], Tensor],
    target: Int[Tensor, " N"],
    drawn: Int[Tensor, " M"],
    log_probability: Float[Tensor, " M"],
) -> Float[Tensor, " N"]:
    """Return an estimate of every token's cross entropy, in nats.

    Args:
        project: returns the logits of given words at all N positions.
        target: the word that is right at each position; drawn or not, it counts once.
        drawn: the others, each once.
        log_probability: logarithm of each one's probability of having been drawn.
    """
    words, place = torch.cat([drawn, target]).unique(return_inverse=True)
    place_of_drawn, right = place[: len(drawn)], place[len(drawn) :, None]
    logits = project(words)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    # what is only there because it is right elsewhere weighs nothing
    correction = logits.new_full((len(words),), -torch.inf)
    correction[place_of_drawn] = -log_probability.to(logits.dtype)
    corrected = (logits + correction).scatter(1, right, logits.gather(1, right))
    return F.cross_entropy(corrected, right.squeeze(1), reduction="none")
