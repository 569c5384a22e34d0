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
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn

from benchmarks import describe, run_apart, show
from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.base.random import make_generator
from nmt_core.data.batch import Batch, collate
from nmt_core.data.batching import Lengths, batches_of_epoch
from nmt_core.data.settings import TokenBatching
from nmt_core.models.embedding import sinusoids
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import TransformerConfig, build_model
from nmt_core.text.vocabulary import PAD
from nmt_core.training.loss import batch_loss
from nmt_core.training.optimizer import apply_gradients, build_optimizer
from nmt_core.training.settings import AdamW

WARM_UP, PAIRS = 10, 8000
"""Number of updates that are not timed; number of pairs of random text."""

VOCABULARY, FIRST_WORD = 8000, 4
"""Number of tokens of the random text; ID of the first token that is not special."""

SYSTEMS, LABEL_SMOOTHING = ("ours", "plain"), 0.1

SHAPE = TransformerConfig(
    width=256, heads=4, encoder_layers=3, decoder_layers=3, feed_forward_width=1024, dropout=0.2
)

Model = Seq2Seq[Any, Any]

LossOf = Callable[[Batch], Tensor]
"""Returns the mean loss per token of a batch."""


class Plain(nn.Transformer):
    """nn.Transformer with tied input and output embeddings."""

    def __init__(self) -> None:
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        sizes = SHAPE.width, SHAPE.heads, SHAPE.encoder_layers, SHAPE.decoder_layers
        dense = SHAPE.feed_forward_width
        super().__init__(*sizes, dense, SHAPE.dropout, batch_first=True, norm_first=True)
        self.table = nn.Embedding(VOCABULARY, SHAPE.width)
        nn.init.normal_(self.table.weight, std=SHAPE.width**-0.5)
        self.positions: Tensor
        self.register_buffer("positions", sinusoids(512, SHAPE.width), persistent=False)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return the embeddings of tokens plus positions, (B, T, D)."""
        words = self.table(tokens) * math.sqrt(SHAPE.width) + self.positions[: tokens.size(1)]
        return F.dropout(words, SHAPE.dropout, self.training)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean cross entropy per token."""
        hidden = self(
            self.embed(batch.source),
            self.embed(batch.target_input),
            tgt_mask=self.generate_square_subsequent_mask(batch.target_input.size(1)),
            src_key_padding_mask=batch.source_padding,
            memory_key_padding_mask=batch.source_padding,
            tgt_is_causal=True,
        )
        return F.cross_entropy(
            F.linear(hidden, self.table.weight).flatten(0, 1),
            batch.target_output.flatten(),
            ignore_index=PAD,
            label_smoothing=LABEL_SMOOTHING,
        )


def compute_loss(model: Model, batch: Batch) -> Tensor:
    """Return the mean loss per token of one of our models."""
    return batch_loss(model, batch, label_smoothing=LABEL_SMOOTHING, per="token")[0]


def make_batches(
    lengths: Lengths, max_tokens: int, vocabulary: int = VOCABULARY, multiple: int = 1
) -> list[Batch]:
    """Return batches of random pairs; ``multiple`` leaves room to pad lengths to a multiple."""
    draw = make_generator(1, "sentences")
    pairs = [
        [draw.integers(FIRST_WORD, vocabulary, length).tolist() for length in pair]
        for pair in lengths
    ]
    order = batches_of_epoch(
        -(-(lengths + 1) // multiple) * multiple - 1,  # EOS included
        TokenBatching(max_tokens=max_tokens),
        seed=1,
        epoch=0,
    )
    return [collate([(pairs[n][0], pairs[n][1]) for n in batch]) for batch in order]


def add_gradients(loss_of: LossOf, batch: Batch, compute: Compute) -> None:
    """Run the forward and backward pass of a batch, which adds to the gradients."""
    with compute.autocast():
        loss = loss_of(batch.to(compute.device))
    compute.backward(loss)


def train(
    model: nn.Module, loss_of: LossOf, batches: Iterable[Batch], compute: Compute
) -> Iterator[int]:
    """Train on batches; yield the number of target tokens of each update."""
    weights, optimizer = list(model.parameters()), build_optimizer(model, AdamW())
    for batch in batches:
        add_gradients(loss_of, batch, compute)
        apply_gradients(weights, optimizer, compute=compute, learning_rate=1e-4, max_norm=1.0)
        yield batch.target_tokens


def measure(
    system: str, *, steps: int, batch_tokens: int, precision: str, threads: int
) -> tuple[float, float, int]:
    """Return target tokens per second of CPU time and of wall time, and peak memory in bytes."""
    compute = prepare_compute("cpu", precision=precision, threads=threads)
    torch.manual_seed(1)
    build = partial(build_model, SHAPE, source_size=VOCABULARY, target_size=VOCABULARY)
    model: Plain | Model = Plain() if system == "plain" else build()
    loss_of = model.loss if isinstance(model, Plain) else partial(compute_loss, model)
    draw = np.random.default_rng(1)
    source = np.clip(draw.poisson(14.8, PAIRS), 3, 60)  # as in image captions, in subwords
    target = np.clip(source + draw.integers(-4, 4, PAIRS), 3, 60)
    batches = make_batches(np.stack([source, target], axis=1), batch_tokens)
    updates = train(model, loss_of, itertools.cycle(batches), compute)
    sum(itertools.islice(updates, WARM_UP))
    cpu_start, start = time.process_time(), time.perf_counter()
    tokens = sum(itertools.islice(updates, steps))
    cpu_seconds, seconds = time.process_time() - cpu_start, time.perf_counter() - start
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tokens / cpu_seconds, tokens / seconds, peak_bytes


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
    measured = [[run_apart(partial(work, system)) for system in SYSTEMS] for _ in range(rounds)]
    columns = [[*zip(*speeds, strict=True)] for speeds in zip(*measured, strict=True)]
    rows = [
        [system, describe(cpu, columns[-1][0]), describe(wall, ()), f"{max(peak) / 2**30:.2f}"]
        for system, (cpu, wall, peak) in zip(SYSTEMS, columns, strict=True)
    ]
    title = f"target tokens in {precision}, {threads} threads, {rounds} rounds of {steps} updates"
    show(title, ("system", "per CPU second (ratio to plain)", "per second", "GiB"), rows)


if __name__ == "__main__":
    typer.run(main)
