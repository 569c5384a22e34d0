"""Our training step, a plain loop and the floor: programs that tell how many tokens they have seen.

Usage: python -m benchmarks.training.loops {ours,plain,products} --steps N --batch-tokens N
       [--precision float32|bfloat16|auto] [--threads N]

The plain loop is what one would write in an afternoon with PyTorch's own parts: nn.Transformer,
pre-norm, tied embeddings, cross entropy over all positions, AdamW; and it gets the same batches.

The floor is the products of such a model's weights with what they are applied to, there and back,
and nothing else: who multiplies the same cannot be faster.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, astuple
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn

from benchmarks.training.work import SHAPE, VOCABULARY, draw_pairs
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
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.settings import AdamW
from nmt_core.training.step import apply_gradients


class System(StrEnum):
    """What is trained here."""

    OURS = "ours"
    PLAIN = "plain"
    PRODUCTS = "products"


class Plain(nn.Module):
    """nn.Transformer between tied embeddings."""

    def __init__(self) -> None:
        super().__init__()
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        self.table = nn.Embedding(VOCABULARY, SHAPE.width)
        nn.init.normal_(self.table.weight, std=SHAPE.width**-0.5)
        self.transformer = nn.Transformer(*astuple(SHAPE), batch_first=True, norm_first=True)
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


class Products(nn.Module):
    """The weights of the layers, each with what it is applied to."""

    def __init__(self) -> None:
        super().__init__()
        width, within = SHAPE.width, SHAPE.feed_forward_width
        square, inner, outer = (width, width), (within, width), (width, within)
        encoder = [square] * 4 + [inner, outer]
        decoder = [square] * 6 + [inner, outer]  # and two for the source
        self.source = self._draw((encoder + [square] * 2) * SHAPE.encoder_layers)
        self.target = self._draw(decoder * SHAPE.decoder_layers)
        self.output = self._draw([(VOCABULARY, SHAPE.width)])

    def _draw(self, shapes: Iterable[tuple[int, int]]) -> nn.ParameterList:
        return nn.ParameterList(nn.init.xavier_uniform_(torch.empty(shape)) for shape in shapes)

    def loss(self, batch: Batch) -> Tensor:
        """Return a number whose gradient takes all products; the output's of real tokens alone."""
        applied = (
            (self.source, batch.source.numel()),
            (self.target, batch.target_input.numel()),
            (self.output, batch.target_tokens),
        )
        return torch.stack(
            [
                F.linear(torch.ones(rows, weight.size(1), requires_grad=True), weight)[0, 0]
                for weights, rows in applied
                for weight in weights
            ]
        ).sum()


def build(system: System) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Return a model, and what computes its loss."""
    if system is not System.OURS:
        other = Plain() if system is System.PLAIN else Products()
        return other, other.loss
    config = TransformerConfig(
        **asdict(SHAPE),
    )
    ours = build_model(config, source_size=VOCABULARY, target_size=VOCABULARY)
    return ours, partial(compute_loss, ours)


def compute_loss(model: Seq2Seq[Any, Any], batch: Batch) -> Tensor:
    """Return the loss of a model of ours."""
    loss, _ = batch_loss(model, batch, label_smoothing=0.1, per="token")
    return loss


def make_batches(max_tokens: int) -> Iterator[Batch]:
    """Yield the batches of the text over and over."""
    pairs = draw_pairs()
    lengths = np.array([[len(source), len(target)] for source, target in pairs])
    numbers = batches_of_epoch(lengths, TokenBatching(max_tokens=max_tokens), seed=1, epoch=0)
    return itertools.cycle([collate([pairs[int(n)] for n in batch]) for batch in numbers])


def add_gradients(loss_of: Callable[[Batch], Tensor], batch: Batch, compute: Compute) -> None:
    """Read a batch, there and back."""
    with compute.autocast():
        loss = loss_of(batch.to(compute.device))
    compute.backward(loss)


def train(
    model: nn.Module, loss_of: Callable[[Batch], Tensor], batches: Iterator[Batch], compute: Compute
) -> Iterator[int]:
    """Make updates; yield how many target tokens each saw."""
    weights, optimizer = list(model.parameters()), build_optimizer(model, AdamW())
    for batch in batches:
        add_gradients(loss_of, batch, compute)
        if not isinstance(model, Products):
            apply_gradients(weights, optimizer, compute=compute, learning_rate=1e-4, max_norm=1.0)
        yield batch.target_tokens


def main(
    system: System,
    steps: Annotated[int, typer.Option()],
    batch_tokens: Annotated[int, typer.Option()],
    precision: Annotated[str, typer.Option()] = "auto",
    threads: Annotated[int, typer.Option()] = 0,
) -> None:
    """Make some updates and print how many target tokens they saw."""
    compute = prepare_compute("cpu", precision=precision, threads=threads)
    torch.manual_seed(1)
    model, loss_of = build(system)
    updates = train(model, loss_of, make_batches(batch_tokens), compute)
    print(sum(itertools.islice(updates, steps)))


if __name__ == "__main__":
    typer.run(main)
