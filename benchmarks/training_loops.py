"""Programs that train for some updates and print the number of target tokens they have seen.

Usage: python -m benchmarks.training_loops {ours,plain} --steps N --batch-tokens N
       [--precision float32|bfloat16|auto] [--threads N]

The plain loop uses PyTorch's own parts: nn.Transformer, pre-norm, tied embeddings, cross entropy
over all positions, AdamW. Both read the same batches.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn

from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.data.batch import Batch, collate
from nmt_core.data.batching import batches_of_epoch
from nmt_core.data.settings import TokenBatching
from nmt_core.models.architectures import build_model
from nmt_core.models.embedding import sinusoids
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import TransformerConfig
from nmt_core.text.vocabulary import PAD
from nmt_core.training.loss import batch_loss
from nmt_core.training.optimizer import apply_gradients, build_optimizer
from nmt_core.training.settings import AdamW

VOCABULARY = 8000
"""Tokens of the random text."""

FIRST_WORD = 4
"""Number of the first token that is not special."""

SHAPE = TransformerConfig(
    width=256, heads=4, encoder_layers=3, decoder_layers=3, feed_forward_width=1024, dropout=0.2
)


class System(StrEnum):
    """The loops that can be measured."""

    OURS = "ours"
    PLAIN = "plain"


class Plain(nn.Module):
    """nn.Transformer between tied embeddings."""

    def __init__(self) -> None:
        super().__init__()
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        self.table = nn.Embedding(VOCABULARY, SHAPE.width)
        nn.init.normal_(self.table.weight, std=SHAPE.width**-0.5)
        self.transformer = nn.Transformer(
            SHAPE.width,
            SHAPE.heads,
            SHAPE.encoder_layers,
            SHAPE.decoder_layers,
            SHAPE.feed_forward_width,
            SHAPE.dropout,
            batch_first=True,
            norm_first=True,
        )
        self.positions: Tensor
        self.register_buffer("positions", sinusoids(512, SHAPE.width), persistent=False)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return words plus positions."""
        words = self.table(tokens) * math.sqrt(SHAPE.width)
        return F.dropout(words + self.positions[: tokens.size(1)], SHAPE.dropout, self.training)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean cross entropy per token."""
        hidden = self.transformer(
            self.embed(batch.source),
            self.embed(batch.target_input),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(batch.target_input.size(1)),
            src_key_padding_mask=batch.source_padding,
            memory_key_padding_mask=batch.source_padding,
            tgt_is_causal=True,
        )
        logits = F.linear(hidden, self.table.weight)
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.target_output.flatten(),
            ignore_index=PAD,
            label_smoothing=0.1,
        )


def build(system: System) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Return a model, and the function that computes its loss."""
    if system is System.PLAIN:
        plain = Plain()
        return plain, plain.loss
    ours = build_model(SHAPE, source_size=VOCABULARY, target_size=VOCABULARY)
    return ours, partial(compute_loss, ours)


def compute_loss(model: Seq2Seq[Any, Any], batch: Batch) -> Tensor:
    """Return the loss of a model of ours."""
    loss, _ = batch_loss(model, batch, label_smoothing=0.1, per="token")
    return loss


def draw_pairs(count: int = 8000) -> list[tuple[list[int], list[int]]]:
    """Return random pairs with lengths like those of image captions in subwords."""
    draw = np.random.default_rng(1)
    source = np.clip(draw.poisson(14.8, count), 3, 60)
    target = np.clip(source + draw.integers(-4, 4, count), 3, 60)
    return [
        (
            draw.integers(FIRST_WORD, VOCABULARY, s).tolist(),
            draw.integers(FIRST_WORD, VOCABULARY, t).tolist(),
        )
        for s, t in zip(source, target, strict=True)
    ]


def make_batches(max_tokens: int) -> Iterator[Batch]:
    """Yield the batches of the text over and over."""
    pairs = draw_pairs()
    lengths = np.array([[len(source), len(target)] for source, target in pairs])
    numbers = batches_of_epoch(lengths, TokenBatching(max_tokens=max_tokens), seed=1, epoch=0)
    return itertools.cycle([collate([pairs[int(n)] for n in batch]) for batch in numbers])


def add_gradients(loss_of: Callable[[Batch], Tensor], batch: Batch, compute: Compute) -> None:
    """Run forward and backward on a batch."""
    with compute.autocast():
        loss = loss_of(batch.to(compute.device))
    compute.backward(loss)


def train(
    model: nn.Module, loss_of: Callable[[Batch], Tensor], batches: Iterator[Batch], compute: Compute
) -> Iterator[int]:
    """Make updates; yield the number of target tokens of each."""
    weights, optimizer = list(model.parameters()), build_optimizer(model, AdamW())
    for batch in batches:
        add_gradients(loss_of, batch, compute)
        apply_gradients(weights, optimizer, compute=compute, learning_rate=1e-4, max_norm=1.0)
        yield batch.target_tokens


def main(
    system: System,
    steps: Annotated[int, typer.Option()],
    batch_tokens: Annotated[int, typer.Option()],
    precision: Annotated[str, typer.Option()] = "auto",
    threads: Annotated[int, typer.Option()] = 0,
) -> None:
    """Make some updates and print the number of their target tokens."""
    compute = prepare_compute("cpu", precision=precision, threads=threads)
    torch.manual_seed(1)
    model, loss_of = build(system)
    updates = train(model, loss_of, make_batches(batch_tokens), compute)
    print(sum(itertools.islice(updates, steps)))


if __name__ == "__main__":
    typer.run(main)
