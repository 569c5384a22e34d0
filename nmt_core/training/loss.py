"""Cross entropy with label smoothing, sampled softmax and scheduled sampling.

Label smoothing: Szegedy et al. 2016, section 7. Dimension letters: N positions that are not
padding, V target vocabulary, B sentences, M drawn words, D model width.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.base.random import make_generator
from nmt_core.data.batch import Batch
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.vocabulary import BOS, EOS, PAD
from nmt_core.training.settings import Normalization, ScheduledSampling

TokenLoss = Callable[[Seq2Seq[Any, Any], Tensor, Tensor], Tensor]
"""Estimates each token's cross entropy (N) from the model, hidden vectors (N, D) and labels (N)."""


def batch_loss(
    model: Seq2Seq[Any, Any],
    batch: Batch,
    *,
    label_smoothing: float,
    per: Normalization,
    estimate: TokenLoss | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the loss to minimise, and the sum of the tokens' plain cross entropy, in nats.

    Padding never reaches the output layer.

    Args:
        model: scores the batch.
        batch: sentence pairs.
        label_smoothing: probability mass that is spread evenly over the vocabulary.
        per: mean over tokens, or over the tokens of each sentence and then over sentences
            (van der Goten 2018).
        estimate: computes both results instead of the full softmax, without label smoothing.
    """
    hidden, target = decode_targets(model, batch)
    if estimate is None:
        losses, plain = smoothed_cross_entropy(model.project(hidden), target, label_smoothing)
    else:
        losses = estimate(model, hidden, target)
        plain = losses.detach()
    return (losses * compute_token_weights(batch, per, losses.dtype)).sum(), plain.sum()


def decode_targets(
    model: Seq2Seq[Any, Any], batch: Batch
) -> tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]:
    """Return the hidden vector and the label of each target position, without padding."""
    memory = model.encode(batch.source, batch.source_padding)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    hidden = hidden.flatten(0, 1).index_select(0, batch.target_places)
    return hidden, batch.target_output.flatten().index_select(0, batch.target_places)


@torch.inference_mode()
def measure_predictions(model: Seq2Seq[Any, Any], batches: Iterable[Batch]) -> tuple[float, float]:
    """Return the cross entropy per target token in nats, and the token accuracy in percent.

    EOS counts as a token. Both are 0 if there is no batch.
    """
    total, correct, tokens = 0.0, 0, 0
    for batch in batches:
        hidden, target = decode_targets(model, batch)
        logits = model.project(hidden)
        _, plain = smoothed_cross_entropy(logits, target, 0.0)
        total += plain.sum().item()
        correct += int((logits.argmax(dim=1) == target).sum())
        tokens += batch.target_tokens
    return total / max(1, tokens), 100 * correct / max(1, tokens)


def compute_token_weights(
    batch: Batch, per: Normalization, dtype: torch.dtype = torch.float32
) -> Float[Tensor, " N"]:
    """Return each target token's weight in the loss; the weights sum to 1."""
    places = batch.target_places
    if per == "token":
        return torch.ones_like(places, dtype=dtype) / len(places)
    is_token = batch.target_output != PAD
    lengths = is_token.sum(dim=1, keepdim=True)
    weights = 1 / (lengths * len(is_token)).to(dtype)
    return weights.expand_as(is_token).flatten().index_select(0, places)


def smoothed_cross_entropy(
    logits: Float[Tensor, "N V"], target: Int[Tensor, " N"], label_smoothing: float
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """Return the smoothed loss and the plain loss (without gradient) per token, in nats."""
    smoothed: Any = _SmoothedCrossEntropy
    return cast("tuple[Tensor, Tensor]", smoothed.apply(logits, target, label_smoothing))


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Compute the gradient in the forward pass; softmax and loss share one N x V array."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        values = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
        labels = target[:, None]
        label_logits, mean = values.gather(1, labels), values.mean(dim=1, keepdim=True)
        maximum = values.amax(dim=1, keepdim=True)
        total = values.sub_(maximum).exp_().sum(dim=1, keepdim=True)
        log_total = total.log() + maximum
        plain = log_total - label_logits
        losses = (1 - label_smoothing) * plain + label_smoothing * (log_total - mean)
        if ctx.needs_input_grad[0]:
            gradient = values.div_(total).sub_(label_smoothing / values.size(1))
            gradient.scatter_add_(1, labels, torch.full_like(label_logits, label_smoothing - 1))
            ctx.save_for_backward(gradient.to(logits.dtype))
        plain = plain.squeeze(1)
        ctx.mark_non_differentiable(plain)
        return losses.squeeze(1), plain

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[0].to(gradient.dtype)[:, None], None, None


def replace_with_predictions(
    model: Seq2Seq[Any, Any], batch: Batch, config: ScheduledSampling, done: float
) -> Batch:
    """Return the batch with some of the decoder's input words replaced by the model's predictions.

    This is scheduled sampling (Bengio et al. 2015). Words are drawn position by position, without
    gradients and with torch's generator, for any architecture. Labels, BOS and padding stay
    unchanged. ``done`` is the share of the training budget that is spent.
    """
    probability = config.probability(done)
    if probability == 0:
        return batch
    tokens = batch.target_input
    replaced = (torch.rand(tokens.shape, device=tokens.device) < probability) & (tokens != PAD)
    positions = torch.arange(tokens.size(1), device=tokens.device)
    last = int((replaced.any(dim=0) * positions).max())
    inputs, training = list(tokens.unbind(dim=1)), model.training
    model.eval()
    try:
        with torch.no_grad():
            memory = model.encode(batch.source, batch.source_padding)
            state = model.start(memory)
            for position in range(1, 1 + last):
                hidden, state = model.decode(inputs[position - 1][:, None], memory, state)
                rows = replaced[:, position].nonzero().squeeze(1)
                words = _choose(model.log_probs(hidden[rows, 0]), config.choose)
                inputs[position] = inputs[position].index_copy(0, rows, words)
    finally:
        model.train(training)
    return replace(batch, target_input=torch.stack(inputs, dim=1))


def _choose(
    log_probs: Float[Tensor, "N V"], choose: Literal["sample", "best"]
) -> Int[Tensor, " N"]:
    """Return a word per row, except the reserved PAD, BOS and EOS."""
    log_probs = log_probs.index_fill(
        1, torch.tensor([PAD, BOS, EOS]).to(log_probs.device), -torch.inf
    )
    if choose == "best" or not len(log_probs):
        return log_probs.argmax(dim=1)
    return torch.multinomial(log_probs.softmax(dim=1), 1).squeeze(1)


@functools.lru_cache(maxsize=4)
def compute_inclusion(words: int, expected: int) -> np.ndarray:
    """Return each word's probability of being drawn, at most 1, with sum ``expected``.

    The probability of word ``n`` is proportional to ``log((n + 2) / (n + 1))``, Zipf's law for
    vocabularies in descending frequency. Another order only makes training noisier.
    """
    if expected >= words:
        return np.ones(words)
    number = np.arange(words)
    share = np.log1p(1 / (number + 1))
    tail_sums = share[::-1].cumsum()[::-1]
    factors = (expected - number) / tail_sums  # factor n: if the first n words are always drawn
    always_drawn = (factors * share <= 1).argmax()
    return np.minimum(1.0, factors[always_drawn] * share)


def estimate_losses(
    model: Seq2Seq[Any, Any],
    hidden: Float[Tensor, "N D"],
    target: Int[Tensor, " N"],
    *,
    words: int,
    seed: int,
    step: int,
) -> Float[Tensor, " N"]:
    """Return an estimate of every token's cross entropy, in nats, for large vocabularies.

    This is sampled softmax (Jean et al. 2015): the softmax sum is estimated from the label and from
    drawn words, ``words`` on average, that the whole batch shares. Each word is drawn independently
    with a probability q and weighted by 1 / q, so the estimate of the sum is unbiased. If all words
    are drawn, the loss is exact.
    """
    vocabulary = model.project(hidden[:1]).size(-1)
    probabilities = compute_inclusion(vocabulary, words)
    draws = make_generator(seed, "sampled softmax", step).random(vocabulary)
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

    ``project`` returns the logits of some words at all N positions. The label of a position counts
    once, drawn or not. ``log_probability`` has the inclusion probability of each drawn word.
    """
    words, place = torch.cat([drawn, target]).unique(return_inverse=True)
    drawn_places, labels = place[: len(drawn)], place[len(drawn) :, None]
    logits = project(words)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    # labels of other positions that were not drawn do not count
    correction = logits.new_full((len(words),), -torch.inf)
    correction[drawn_places] = -log_probability.to(logits.dtype)
    corrected = (logits + correction).scatter(1, labels, logits.gather(1, labels))
    return F.cross_entropy(corrected, labels.squeeze(1), reduction="none")
