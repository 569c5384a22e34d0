"""Training speed compared with a plain nn.Transformer loop, measured alternately.

Usage: python -m benchmarks.training [--rounds N] [--steps N] [--threads N] [--batch-tokens N]
       [--precision float32|bfloat16|auto]

Both train a pre-norm Transformer of 3 + 3 layers, width 256, 4 heads, feed-forward width 1,024,
dropout 0.2 and 8,000 tied tokens, by AdamW, on the same batches. The plain loop uses PyTorch's own
parts: nn.Transformer, tied embeddings, cross entropy over all positions.

Each round runs each system in a new process, whose first updates are not timed. The unit is target
tokens without padding per second of CPU time. Ratios compare systems within a round.
"""

import itertools
import math
import resource
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn

from benchmarks import show
from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.data.batch import Batch, collate
from nmt_core.data.batching import batches_of_epoch
from nmt_core.data.settings import TokenBatching
from nmt_core.models.embedding import sinusoids
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import TransformerConfig, build_model
from nmt_core.text.vocabulary import PAD
from nmt_core.training.loss import batch_loss
from nmt_core.training.optimizer import apply_gradients, build_optimizer
from nmt_core.training.settings import AdamW

WARM_UP = 10
"""Number of updates that are not timed."""

VOCABULARY = 8000
"""Number of tokens of the random text."""

FIRST_WORD = 4
"""Id of the first token that is not special."""

SHAPE = TransformerConfig(
    width=256, heads=4, encoder_layers=3, decoder_layers=3, feed_forward_width=1024, dropout=0.2
)


class System(StrEnum):
    """The training loops to measure."""

    OURS = "ours"
    PLAIN = "plain"


class Plain(nn.Module):
    """nn.Transformer with tied input and output embeddings."""

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
        """Return the embeddings of tokens plus positions, (B, T, D)."""
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
        return F.cross_entropy(
            F.linear(hidden, self.table.weight).flatten(0, 1),
            batch.target_output.flatten(),
            ignore_index=PAD,
            label_smoothing=0.1,
        )


def compute_loss(model: Seq2Seq[Any, Any], batch: Batch) -> Tensor:
    """Return the mean loss per token of one of our models."""
    loss, _ = batch_loss(model, batch, label_smoothing=0.1, per="token")
    return loss


def make_batches(max_tokens: int, count: int = 8000) -> Iterator[Batch]:
    """Yield batches of random pairs forever, with the lengths of image captions in subwords."""
    draw = np.random.default_rng(1)
    source = np.clip(draw.poisson(14.8, count), 3, 60)
    target = np.clip(source + draw.integers(-4, 4, count), 3, 60)
    lengths = np.stack([source, target], axis=1)
    pairs = [
        (
            draw.integers(FIRST_WORD, VOCABULARY, s).tolist(),
            draw.integers(FIRST_WORD, VOCABULARY, t).tolist(),
        )
        for s, t in lengths.tolist()
    ]
    numbers = batches_of_epoch(lengths, TokenBatching(max_tokens=max_tokens), seed=1, epoch=0)
    return itertools.cycle([collate([pairs[int(n)] for n in batch]) for batch in numbers])


def add_gradients(loss_of: Callable[[Batch], Tensor], batch: Batch, compute: Compute) -> None:
    """Run the forward and backward pass of a batch, which adds to the gradients."""
    with compute.autocast():
        loss = loss_of(batch.to(compute.device))
    compute.backward(loss)


def train(
    model: nn.Module, loss_of: Callable[[Batch], Tensor], batches: Iterator[Batch], compute: Compute
) -> Iterator[int]:
    """Train on batches; yield the number of target tokens of each update."""
    weights, optimizer = list(model.parameters()), build_optimizer(model, AdamW())
    for batch in batches:
        add_gradients(loss_of, batch, compute)
        apply_gradients(weights, optimizer, compute=compute, learning_rate=1e-4, max_norm=1.0)
        yield batch.target_tokens


def train_system(
    system: System, *, batch_tokens: int, precision: str, threads: int
) -> Iterator[int]:
    """Train a system in this process; return an iterator over the target tokens per update."""
    compute = prepare_compute("cpu", precision=precision, threads=threads)
    torch.manual_seed(1)
    model: nn.Module
    if system is System.PLAIN:
        model = plain = Plain()
        loss_of = plain.loss
    else:
        model = ours = build_model(SHAPE, source_size=VOCABULARY, target_size=VOCABULARY)
        loss_of = partial(compute_loss, ours)
    return train(model, loss_of, make_batches(batch_tokens), compute)


class Speed(NamedTuple):
    """Target tokens per second of CPU time and of wall time, and peak memory in bytes."""

    per_processor_second: float
    per_second: float
    peak_bytes: int


def measure(
    system: System, *, steps: int, batch_tokens: int, precision: str, threads: int
) -> Speed:
    """Return the speed of a system in this process, after a warm-up."""
    updates = train_system(system, batch_tokens=batch_tokens, precision=precision, threads=threads)
    deque(itertools.islice(updates, WARM_UP), maxlen=0)
    cpu_start, start = time.process_time(), time.perf_counter()
    tokens = sum(itertools.islice(updates, steps))
    cpu_seconds, seconds = time.process_time() - cpu_start, time.perf_counter() - start
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Speed(tokens / cpu_seconds, tokens / seconds, peak_bytes)


def tabulate(rounds: Sequence[dict[System, Speed]]) -> list[list[str]]:
    """Return a row of medians for each system, with the ratio of our speed to its speed."""
    rows = []
    for system in rounds[0]:
        measured = [speeds[system] for speeds in rounds]
        ratios = sorted(
            speeds[System.OURS].per_processor_second / speeds[system].per_processor_second
            for speeds in rounds
        )
        rows.append(
            [
                system,
                f"{median(speed.per_processor_second for speed in measured):,.0f}",
                f"{median(speed.per_second for speed in measured):,.0f}",
                f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                f"{max(speed.peak_bytes for speed in measured) / 2**30:.2f}",
            ]
        )
    return rows


def main(
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    steps: Annotated[int, typer.Option(min=1, help="Number of timed updates per round.")] = 60,
    threads: Annotated[int, typer.Option(min=1)] = 1,
    batch_tokens: Annotated[int, typer.Option(min=64)] = 1024,
    precision: Annotated[str, typer.Option()] = "auto",
) -> None:
    """Train both systems alternately, and print a table of medians."""
    work = partial(
        measure, steps=steps, batch_tokens=batch_tokens, precision=precision, threads=threads
    )
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        measured = [
            {system: fresh.submit(work, system).result() for system in System}
            for _ in range(rounds)
        ]
    title = f"target tokens in {precision}, {threads} threads, {rounds} rounds of {steps} updates"
    head = ("system", "per processor second", "per second", "speed of ours / this", "GiB")
    show(title, head, tabulate(measured))


if __name__ == "__main__":
    typer.run(main)
