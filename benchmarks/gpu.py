"""Training speed on a GPU, and its share of the speed of large matrix products.

Usage: python -m benchmarks.gpu [--preset NAME] [--batch-tokens N] [--steps N]

Trains a preset of conf/model on random sentences of 5 to 60 tokens, in float32 and in bfloat16. The
share follows model FLOPs utilization (Chowdhery et al. 2022, appendix B): the model's operations
per second, as PyTorch counts them in an update, divided by the operations per second of a product
of two 8,192 by 8,192 matrices on the same device in the same type.
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
"""Number of tokens in the vocabulary of each language."""

LENGTHS, PAIRS = (5, 61), 20_000
"""Range of sentence lengths in tokens, without its end; number of pairs."""

WARM_UP, MATRIX_SIZE = 5, 8192
"""Number of updates that are not timed; rows and columns of the reference matrices."""

HEADING = ("preset", "device", "type", "target tokens per second", "share of its speed", "GiB")


def build_preset(name: str, vocabulary: int = VOCABULARY) -> Seq2Seq[Any, Any]:
    """Return the model of a preset with random weights."""
    params = build_all(compose_groups([f"model={name}"]), source="conf/")["train"]
    assert isinstance(params, TrainParams)
    torch.manual_seed(1)
    return build_model(params.model, source_size=vocabulary, target_size=vocabulary)


def make_batches(max_tokens: int, vocabulary: int = VOCABULARY) -> list[Batch]:
    """Return batches of random pairs; both sides of a pair have the same length."""
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
    """Return the number of operations per target token, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        for batch in batches:
            add_gradients(partial(compute_loss, model), batch, compute)
    model.zero_grad()
    return counter.get_total_flops() / sum(batch.target_tokens for batch in batches)


def wait(device: torch.device) -> None:
    """Wait until a GPU has finished its queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(
    model: Seq2Seq[Any, Any], batches: list[Batch], compute: Compute, steps: int
) -> tuple[float, float, int]:
    """Return target tokens per second, operations per second, and peak bytes of GPU memory."""
    updates = train(model, partial(compute_loss, model), itertools.cycle(batches), compute)
    deque(itertools.islice(updates, WARM_UP), maxlen=0)
    wait(compute.device)
    if on_gpu := compute.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(compute.device)
    start = time.perf_counter()
    tokens = sum(itertools.islice(updates, steps))
    wait(compute.device)
    speed = tokens / (time.perf_counter() - start)
    peak_bytes = torch.cuda.max_memory_allocated(compute.device) if on_gpu else 0
    operations = count_operations(model, batches[:WARM_UP], compute)
    return speed, speed * operations, peak_bytes


def measure_products(compute: Compute, size: int = MATRIX_SIZE, times: int = 20) -> float:
    """Return the operations per second of a product of two large random matrices.

    Products of equal numbers need less power, so a GPU would be faster.
    """
    left = torch.randn(size, size, device=compute.device, dtype=compute.dtype)
    product = left @ left
    wait(compute.device)
    start = time.perf_counter()
    for _ in range(times):
        torch.mm(left, left, out=product)
    wait(compute.device)
    return 2 * size**3 * times / (time.perf_counter() - start)


app = typer.Typer(add_completion=False)


@app.command()
def main(
    preset: Annotated[str, typer.Option(help="Preset of conf/model.")] = "transformer_base",
    batch_tokens: Annotated[int, typer.Option(min=64, help="Padded, both sides.")] = 25_000,
    steps: Annotated[int, typer.Option(min=1, help="Number of timed updates.")] = 100,
) -> None:
    """Measure the training speed of a preset on a GPU, and print a table."""
    try:
        device = prepare_compute("cuda").device
    except ConfigError:
        raise typer.BadParameter("this machine has no GPU that PyTorch can use") from None
    name = torch.cuda.get_device_name(device)
    rows = []
    batches = make_batches(batch_tokens)
    for kind in (torch.float32, torch.bfloat16):
        compute = Compute(device, kind)
        model = build_preset(preset).to(device)
        tokens, operations, peak_bytes = measure(model, batches, compute, steps)
        share = operations / measure_products(compute)
        rows.append(
            (
                preset,
                name,
                str(kind).removeprefix("torch."),
                f"{tokens:,.0f}",
                f"{share:.0%}",
                f"{peak_bytes / 2**30:.1f}",
            )
        )
    show(f"batches of {batch_tokens:,} tokens, {steps} updates", HEADING, rows)


if __name__ == "__main__":
    app()
