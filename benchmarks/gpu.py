"""Training speed of a GPU, and its share of the speed of plain matrix products.

Usage: python -m benchmarks.gpu [--preset NAME] [--batch-tokens N] [--steps N]

Trains a preset of conf/model on made-up sentences of 5 to 60 tokens, in float32 and in bfloat16.
The share is that of Chowdhery et al. 2022, appendix B, model FLOPs utilisation: operations that the
model needs, as PyTorch counts them in one update, by the second, over what a product of two
matrices of 8,192 by 8,192 reaches on the same device in the same type.
"""

import itertools
import time
from collections import deque
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import show
from benchmarks.training import add_gradients, compute_loss, train
from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.base.errors import ConfigError
from nmt_core.base.random import make_generator
from nmt_core.data.batch import Batch, collate
from nmt_core.data.batching import batches_of_epoch
from nmt_core.data.settings import TokenBatching
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import build_model
from stages.configure.compose import compose_groups
from stages.configure.sections import build_all
from stages.params import TrainParams

VOCABULARY = 32_000
"""Tokens of both languages."""

LENGTHS, PAIRS = (5, 61), 20_000
"""Shortest and longest sentence, the latter excluded; number of sentences."""

WARM_UP, LARGE = 5, 8192
"""Number of updates that do not count; size of the matrices of the plain product."""

HEADING = ("preset", "device", "type", "target tokens a second", "share of its speed", "GiB")


def build_preset(name: str, vocabulary: int = VOCABULARY) -> Seq2Seq[Any, Any]:
    """Return the model of a preset, its weights drawn by chance."""
    params = build_all(compose_groups([f"model={name}"]), source="conf/")["train"]
    assert isinstance(params, TrainParams)
    torch.manual_seed(1)
    return build_model(params.model, source_size=vocabulary, target_size=vocabulary)


def make_batches(max_tokens: int, vocabulary: int = VOCABULARY) -> list[Batch]:
    """Return batches of made-up pairs, which are all of the same length on both sides."""
    draw = make_generator(1, "sentences")
    lengths = draw.integers(*LENGTHS, PAIRS)
    order = batches_of_epoch(
        np.stack([lengths, lengths], axis=1), TokenBatching(max_tokens=max_tokens), seed=1, epoch=0
    )
    return [
        collate([(draw.integers(4, vocabulary, lengths[n]).tolist(),) * 2 for n in batch])
        for batch in order
    ]


def count_operations(model: Seq2Seq[Any, Any], batches: list[Batch], compute: Compute) -> float:
    """Return the operations by target token that the model needs, there and back."""
    with FlopCounterMode(display=False) as counter:
        for batch in batches:
            add_gradients(partial(compute_loss, model), batch, compute)
    model.zero_grad()
    return counter.get_total_flops() / sum(batch.target_tokens for batch in batches)


def wait(device: torch.device) -> None:
    """Let a GPU finish what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(
    model: Seq2Seq[Any, Any], batches: list[Batch], compute: Compute, steps: int
) -> tuple[float, float, int]:
    """Return target tokens and operations per second of a training, and bytes of GPU memory."""
    updates = train(model, partial(compute_loss, model), itertools.cycle(batches), compute)
    deque(itertools.islice(updates, WARM_UP), maxlen=0)
    wait(compute.device)
    if on_gpu := compute.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(compute.device)
    began = time.perf_counter()
    tokens = sum(itertools.islice(updates, steps))
    wait(compute.device)
    speed = tokens / (time.perf_counter() - began)
    most_bytes = torch.cuda.max_memory_allocated(compute.device) if on_gpu else 0
    operations = count_operations(model, batches[:WARM_UP], compute)
    return speed, speed * operations, most_bytes


def measure_products(compute: Compute, size: int = LARGE, times: int = 20) -> float:
    """Return the operations by the second of a product of two large matrices.

    Their numbers are drawn by chance: products of equal ones need less power, so a GPU is faster.
    """
    left = torch.randn(size, size, device=compute.device, dtype=compute.dtype)
    product = left @ left
    wait(compute.device)
    began = time.perf_counter()
    for _ in range(times):
        torch.mm(left, left, out=product)
    wait(compute.device)
    return 2 * size**3 * times / (time.perf_counter() - began)


app = typer.Typer(add_completion=False)


@app.command()
def main(
    preset: Annotated[str, typer.Option(help="Of conf/model.")] = "transformer_base",
    batch_tokens: Annotated[int, typer.Option(min=64, help="Padded, of both sides.")] = 25_000,
    steps: Annotated[int, typer.Option(min=1, help="Updates that are timed.")] = 100,
) -> None:
    """Measure how fast a GPU trains a preset."""
    try:
        device = prepare_compute("cuda").device
    except ConfigError:
        raise typer.BadParameter("there is no GPU here; nothing was measured") from None
    name = torch.cuda.get_device_name(device)
    rows = []
    batches = make_batches(batch_tokens)
    for kind in (torch.float32, torch.bfloat16):
        compute = Compute(device, kind)
        model = build_preset(preset).to(device)
        tokens, operations, most_bytes = measure(model, batches, compute, steps)
        share = operations / measure_products(compute)
        rows.append(
            (
                preset,
                name,
                str(kind).removeprefix("torch."),
                f"{tokens:,.0f}",
                f"{share:.0%}",
                f"{most_bytes / 2**30:.1f}",
            )
        )
    show(f"batches of {batch_tokens:,} tokens, {steps} updates", HEADING, rows)


if __name__ == "__main__":
    app()
