"""Cross entropy with label smoothing (Szegedy et al. 2016, section 7).

Dimension letters: N positions that are no padding, V target vocabulary, B sentences.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.data.batch import Batch
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.vocabulary import PAD
from nmt_core.training.settings import Normalization

TokenLoss = Callable[[Seq2Seq[Any, Any], Tensor, Tensor], Tensor]
"""Estimates each token's cross entropy from what to predict from (N, D) and what is right (N)."""


def batch_loss(
    model: Seq2Seq[Any, Any],
    batch: Batch,
    *,
    label_smoothing: float,
    per: Normalization,
    estimate: TokenLoss | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the loss to minimise, and the plain cross entropy summed over tokens, in nats.

    Logits are made for real tokens alone; padding never reaches the output layer.

    Args:
        model: scores the batch.
        batch: pairs.
        label_smoothing: probability mass spread evenly over the vocabulary.
        per: mean over tokens, or over the tokens of each sentence and then over sentences
            (van der Goten 2018).
        estimate: replaces the loss over the whole vocabulary, without label smoothing; the plain
            cross entropy is then this estimate as well.
    """
    hidden, target = read_targets(model, batch)
    if estimate is None:
        losses, plain = smoothed_cross_entropy(model.project(hidden), target, label_smoothing)
    else:
        losses = estimate(model, hidden, target)
        plain = losses.detach()
    return (losses * compute_token_weights(batch, per, losses.dtype)).sum(), plain.sum()


def read_targets(
    model: Seq2Seq[Any, Any], batch: Batch
) -> tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]:
    """Return what to predict each real target token from, and which it is."""
    memory = model.encode(batch.source, batch.source_padding)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    hidden = hidden.flatten(0, 1).index_select(0, batch.target_places)
    return hidden, batch.target_output.flatten().index_select(0, batch.target_places)


class Predicted(NamedTuple):
    """How well target tokens are predicted from those before them, ends of sentences included."""

    cross_entropy: float
    """Plain, per token, in nats."""
    accuracy: float
    """Share of tokens that no other was likelier than, in percent."""


@torch.inference_mode()
def measure_predictions(model: Seq2Seq[Any, Any], batches: Iterable[Batch]) -> Predicted:
    """Return how well a model predicts the targets of all batches; zeros if there is none."""
    total, right, tokens = 0.0, 0, 0
    for batch in batches:
        hidden, target = read_targets(model, batch)
        logits = model.project(hidden)
        _, plain = smoothed_cross_entropy(logits, target, 0.0)
        total += plain.sum().item()
        right += int((logits.argmax(dim=1) == target).sum())
        tokens += batch.target_tokens
    return Predicted(total / max(1, tokens), 100 * right / max(1, tokens))


def compute_token_weights(
    batch: Batch, per: Normalization, dtype: torch.dtype = torch.float32
) -> Float[Tensor, " N"]:
    """Return each target token's share in the loss; the shares sum to one."""
    places = batch.target_places
    if per == "token":
        return torch.ones_like(places, dtype=dtype) / len(places)
    real = batch.target_output != PAD
    lengths = real.sum(dim=1, keepdim=True)
    shares = 1 / (lengths * len(real)).to(dtype)
    return shares.expand_as(real).flatten().index_select(0, places)


def smoothed_cross_entropy(
    logits: Float[Tensor, "N V"], target: Int[Tensor, " N"], label_smoothing: float
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """Return the smoothed loss (differentiable) and the plain one (not), per token, in nats."""
    smoothed: Any = _SmoothedCrossEntropy
    return cast("tuple[Tensor, Tensor]", smoothed.apply(logits, target, label_smoothing))


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Makes the gradient while the logits are at hand; softmax and loss share one N x V array."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        values = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
        at_target = target[:, None]
        right, mean = values.gather(1, at_target), values.mean(dim=1, keepdim=True)
        peak = values.amax(dim=1, keepdim=True)
        total = values.sub_(peak).exp_().sum(dim=1, keepdim=True)
        log_total = total.log() + peak
        plain = log_total - right
        losses = (1 - label_smoothing) * plain + label_smoothing * (log_total - mean)
        if ctx.needs_input_grad[0]:
            gradient = values.div_(total).sub_(label_smoothing / values.size(1))
            gradient.scatter_add_(1, at_target, torch.full_like(right, label_smoothing - 1))
            ctx.save_for_backward(gradient.to(logits.dtype))
        plain = plain.squeeze(1)
        ctx.mark_non_differentiable(plain)
        return losses.squeeze(1), plain

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[0].to(gradient.dtype)[:, None], None, None
