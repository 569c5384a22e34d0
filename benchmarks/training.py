"""Training speed beside a plain loop, in turns, so that a noisy machine is noisy to both.

Usage: python -m benchmarks.training [--rounds N] [--steps N] [--threads N]

The peer is what one would write in an afternoon with PyTorch's own parts: nn.Transformer,
pre-norm, tied embeddings, cross entropy over all positions, autocast to bfloat16, AdamW; and it
gets the same batches. Both have 3 + 3 layers, width 256, 4 heads, 1024 inside, dropout 0.2 and 8000
tokens. What is counted is target tokens that are no padding.
"""

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from nmt_core.compute import prepare_compute, set_threads
from nmt_core.data.batch import Batch, collate
from nmt_core.data.batching import batches_of_epoch
from nmt_core.data.settings import TokenBatching
from nmt_core.models.architectures import build_model
from nmt_core.models.embedding import sinusoids
from nmt_core.models.settings import TransformerConfig
from nmt_core.text.vocabulary import PAD
from nmt_core.training.loss import batch_loss
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.settings import AdamW
from nmt_core.training.step import apply_gradients

VOCABULARY, WIDTH, HEADS, LAYERS, INNER, DROPOUT = 8000, 256, 4, 3, 1024, 0.2


class Plain(nn.Module):
    """nn.Transformer between tied embeddings."""

    def __init__(self) -> None:
        super().__init__()
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        nn.init.normal_(self.table.weight, std=WIDTH**-0.5)
        self.transformer = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, INNER, DROPOUT, batch_first=True, norm_first=True
        )
        self.register_buffer("positions", sinusoids(512, WIDTH), persistent=False)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return words plus positions."""
        words = self.table(tokens) * math.sqrt(WIDTH)
        return F.dropout(words + self.positions[: tokens.size(1)], DROPOUT, self.training)

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


def pairs_like_captions(count: int) -> list[tuple[list[int], list[int]]]:
    """Return random pairs with lengths like those of image captions in subwords."""
    draw = np.random.default_rng(1)
    source = np.clip(draw.poisson(14.8, count), 3, 60)
    target = np.clip(source + draw.integers(-4, 4, count), 3, 60)
    return [
        (draw.integers(4, VOCABULARY, s).tolist(), draw.integers(4, VOCABULARY, t).tolist())
        for s, t in zip(source, target, strict=True)
    ]


def endless(batches: list[Batch]) -> Iterator[Batch]:
    """Yield the batches over and over."""
    return itertools.cycle(batches)


def trainer(
    model: nn.Module, loss_of: Callable[[Batch], Tensor], batches: list[Batch]
) -> Callable[[], int]:
    """Return a function that makes one update and says how many target tokens it saw."""
    optimizer = build_optimizer(model, AdamW())
    stream = endless(batches)
    compute = prepare_compute()

    def update() -> int:
        batch = next(stream)
        with compute.autocast():
            loss = loss_of(batch)
        loss.backward()
        apply_gradients(list(model.parameters()), optimizer, learning_rate=1e-4, max_norm=1.0)
        return batch.target_tokens

    return update


def measure(update: Callable[[], int], steps: int) -> tuple[float, float]:
    """Return target tokens per second of wall time and per second of processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = sum(update() for _ in range(steps))
    return tokens / (time.perf_counter() - wall), tokens / (time.process_time() - cpu)


def main(rounds: int = 5, steps: int = 20, threads: int = 0) -> None:
    """Measure both in turns and print medians."""
    set_threads(threads)
    torch.manual_seed(1)
    pairs = pairs_like_captions(8000)
    lengths = np.array([[len(source), len(target)] for source, target in pairs])
    numbers = batches_of_epoch(lengths, TokenBatching(max_tokens=1024), seed=1, epoch=0)
    batches = [collate([pairs[int(n)] for n in batch]) for batch in numbers]
    ours = build_model(
        TransformerConfig(dropout=DROPOUT), source_size=VOCABULARY, target_size=VOCABULARY
    )
    plain = Plain()
    systems = {
        "this project": trainer(
            ours, lambda b: batch_loss(ours, b, label_smoothing=0.1, per="token")[0], batches
        ),
        "plain nn.Transformer": trainer(plain, plain.loss, batches),
    }
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    for update in systems.values():
        measure(update, 3)
    for _ in range(rounds):
        for name, update in systems.items():
            speeds[name].append(measure(update, steps))
    table = Table(
        title=f"target tokens per second, {torch.get_num_threads()} threads, {rounds} rounds"
    )
    for column in ("system", "wall: median", "min", "max", "per processor second: median"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for name, found in speeds.items():
        wall, cpu = (sorted(values) for values in zip(*found, strict=True))
        middle = len(wall) // 2
        table.add_row(name, *(f"{v:,.0f}" for v in (wall[middle], wall[0], wall[-1], cpu[middle])))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
