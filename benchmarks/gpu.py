"""Training speed on a GPU, its share of the speed of large matrix products, and its kernels.

Usage: python -m benchmarks.gpu [--preset NAME] [--batch-tokens N] [--steps N] [--variant NAME]
       [--profile]

Trains a preset of conf/model on random sentences of 5 to 60 tokens. The share follows model FLOPs
utilization (Chowdhery et al. 2022, appendix B): the model's operations per second, as PyTorch
counts them in an update, divided by the operations per second of a product of two 8,192 by 8,192
matrices on the same device in the same type. benchmarks/variants.py has the variants.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

import torch
import typer
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import T, show
from benchmarks.training import Model, add_gradients, compute_loss, make_batches, train
from benchmarks.variants import VARIANTS, pad_shape
from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.base.errors import ConfigError
from nmt_core.base.random import make_generator
from nmt_core.data.batch import Batch
from nmt_core.data.batching import Lengths
from nmt_core.models.settings import build_model
from stages.configure.compose import compose_groups
from stages.configure.sections import build_all
from stages.params import TrainParams

VOCABULARY = 32_000
"""Number of tokens in the vocabulary of each language."""

LENGTHS, PAIRS = (5, 61), 20_000
"""Range of sentence lengths in tokens, without its end; number of pairs."""

UPDATES, MATRIX_SIZE = 5, 8192
"""Number of updates whose operations are counted and whose kernels are listed; rows and columns of
the reference matrices."""


def build_preset(name: str, vocabulary: int = VOCABULARY) -> Model:
    """Return the model of a preset with random weights."""
    params = build_all(compose_groups([f"model={name}"]), source="conf/")["train"]
    assert isinstance(params, TrainParams)
    torch.manual_seed(1)
    return build_model(params.model, source_size=vocabulary, target_size=vocabulary)


def draw_lengths() -> Lengths:
    """Return lengths of random pairs; both sides of a pair have the same length."""
    return make_generator(1, "lengths").integers(*LENGTHS, (PAIRS, 1)).repeat(2, axis=1)


def count_operations(model: Model, batches: list[Batch], compute: Compute) -> float:
    """Return the number of operations per target token, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        for batch in batches:
            add_gradients(partial(compute_loss, model), batch, compute)
    model.zero_grad()
    return counter.get_total_flops() / sum(batch.target_tokens for batch in batches)


def time_work(work: Callable[[], T], device: torch.device) -> tuple[float, T]:
    """Return the seconds until a device has finished some work, and the result."""
    start = time.perf_counter()
    result = work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start, result


def measure(
    updates: Iterator[int], warm_up: int, steps: int, device: torch.device
) -> tuple[float, float]:
    """Return target tokens per second after a warm-up, and the seconds of the first update."""
    first_seconds, _ = time_work(partial(next, updates), device)
    time_work(lambda: sum(itertools.islice(updates, warm_up)), device)
    seconds, tokens = time_work(lambda: sum(itertools.islice(updates, steps)), device)
    return tokens / seconds, first_seconds


def measure_products(compute: Compute, size: int = MATRIX_SIZE, times: int = 20) -> float:
    """Return the operations per second of a product of two large random matrices.

    Products of equal numbers need less power, so a GPU would be faster.
    """
    left = torch.randn(size, size, device=compute.device, dtype=compute.dtype)
    multiply = partial(torch.mm, left, left, out=left @ left)
    time_work(multiply, compute.device)
    seconds, _ = time_work(lambda: [multiply() for _ in range(times)], compute.device)
    return 2 * size**3 * times / seconds


def list_kernels(work: Callable[[], object], device: torch.device) -> str:
    """Return a table of the slowest kernels of some work, and its duration."""
    kind = device.type
    with profile(activities=[getattr(ProfilerActivity, kind.upper())]) as trace:
        seconds, _ = time_work(work, device)
    table = trace.key_averages().table(
        sort_by=f"self_{kind}_time_total", row_limit=12, max_name_column_width=70
    )
    return f"{table}Duration: {1000 * seconds:.1f} ms"


def main(
    *,
    preset: Annotated[str, typer.Option(help="Preset of conf/model.")] = "transformer_base",
    batch_tokens: Annotated[int, typer.Option(min=64, help="Padded, longer side.")] = 25_000,
    steps: Annotated[int, typer.Option(min=1, help="Number of timed updates.")] = 50,
    variant: Annotated[str, typer.Option(help=f"One of {', '.join(VARIANTS)}.")] = "eager",
    kernels: Annotated[bool, typer.Option("--profile", help="List the slowest kernels.")] = False,
) -> None:
    """Measure the training speed of a preset on a GPU."""
    try:
        device = prepare_compute("cuda").device
    except ConfigError:
        raise typer.BadParameter("this machine has no GPU that PyTorch can use") from None
    if variant not in VARIANTS:
        raise typer.BadParameter(f"unknown variant {variant}; --help lists the variants")
    chosen = VARIANTS[variant]
    compute = Compute(device, torch.float32 if variant == "float32" else torch.bfloat16)
    model = build_preset(preset).to(device)
    make = partial(make_batches, draw_lengths(), batch_tokens, VOCABULARY)
    operations = count_operations(model, make()[:UPDATES], compute)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    batches = [pad_shape(batch, chosen.multiple, batch_tokens) for batch in make(chosen.multiple)]
    shapes = {(batch.source.shape, batch.target_output.shape): batch for batch in batches}
    warm_up = [*shapes.values()] * 2
    endless = itertools.chain(warm_up, itertools.cycle(batches))
    updates = train(model, chosen.build(model), endless, compute)
    speed, first_seconds = measure(updates, len(warm_up) - 1, steps, device)
    row = [
        variant,
        f"{speed:,.0f}",
        f"{torch.cuda.max_memory_reserved(device) / 2**30:.1f}",
        f"{speed * operations / measure_products(compute):.0%}",
        f"{first_seconds:.1f}",
        f"{len(shapes)}",
    ]
    title = f"{preset}, {torch.cuda.get_device_name(device)}, {batch_tokens:,} tokens in a batch"
    head = ("variant", "target tokens/s", "GiB", "share", "first update, s", "shapes")
    show(title, head, [row])
    if kernels:
        print(f"{UPDATES} updates:")
        print(list_kernels(lambda: sum(itertools.islice(updates, UPDATES)), device))


if __name__ == "__main__":
    typer.run(main)
