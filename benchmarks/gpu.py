"""Training speed on a GPU, its share of the speed of large matrix products, and its kernels.

Usage: python -m benchmarks.gpu [--preset NAME] [--batch-tokens N] [--steps N]
       [--variants NAME]... [--limit SECONDS] [--profile]

Trains a preset of conf/model on random sentences of 5 to 60 tokens. The share follows model FLOPs
utilization (Chowdhery et al. 2022, appendix B): the model's operations per second, as PyTorch
counts them in an update, divided by the operations per second of a product of two 8,192 by 8,192
matrices on the same device in the same type. Each variant of benchmarks/variants.py runs in a new
process, and its row is printed when it ends.
"""

import itertools
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated

import torch
import typer
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import T, run_apart, show
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

Kernel = tuple[float, float, str]
"""Start and end of a kernel in microseconds, and its name."""

DEFAULT_VARIANTS = ["float32", "eager"]

NOISE = re.compile(r"void |at::(native::)?|\(anonymous namespace\)::|std::|c10::")
"""Parts of a kernel's name that its table omits."""


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


def trace_kernels(work: Callable[[], object], device: torch.device) -> list[Kernel]:
    """Return the kernels that a GPU runs for some work, or the operations that a CPU runs."""
    kind = device.type.upper()
    with profile(activities=[getattr(ProfilerActivity, kind)]) as trace:
        time_work(work, device)
    return [
        (event.time_range.start, event.time_range.end, event.name)
        for event in trace.events() or ()
        if event.device_type.name == kind and not (event.cpu_parent or event.is_user_annotation)
    ]


def tabulate_kernels(kernels: Sequence[Kernel], updates: int) -> tuple[str, list[list[str]]]:
    """Return a title with the number of kernels and the idle time, and a row per slow kernel."""
    times: dict[str, list[float]] = defaultdict(list)
    idle, begin = 0.0, min(kernels)[0]
    end = begin
    for first, last, name in sorted(kernels):
        times[NOISE.sub("", name)[:70]].append(last - first)
        idle, end = idle + max(0.0, first - end), max(end, last)
    scale, whole = 1e-3 / updates, end - begin
    title = f"{len(kernels) / updates:,.0f} kernels per update; "
    title += f"none runs in {idle * scale:.1f} of {whole * scale:.1f} ms"
    slowest = sorted(times.items(), key=lambda item: -sum(item[1]))[:12]
    return title, [
        [name, f"{len(t) / updates:.0f}", f"{sum(t) * scale:.2f}", f"{sum(t) / whole:.0%}"]
        for name, t in slowest
    ]


def measure_variant(
    name: str, preset: str, batch_tokens: int, steps: int, *, profiled: bool
) -> tuple[list[str], list[Kernel]]:
    """Return a row of the table, and the kernels of some updates if ``profiled``."""
    variant = VARIANTS[name]
    kind = torch.float32 if name == "float32" else torch.bfloat16
    compute = Compute(prepare_compute("cuda").device, kind)
    model = build_preset(preset).to(compute.device)
    make = partial(make_batches, draw_lengths(), batch_tokens, VOCABULARY)
    operations = count_operations(model, make()[:UPDATES], compute)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(compute.device)
    batches = [pad_shape(batch, variant.multiple, batch_tokens) for batch in make(variant.multiple)]
    shapes = {(batch.source.shape, batch.target_output.shape): batch for batch in batches}
    warm_up = [*shapes.values()] * 2
    endless = itertools.chain(warm_up, itertools.cycle(batches))
    updates = train(model, variant.build(model), endless, compute)
    speed, first_seconds = measure(updates, len(warm_up) - 1, steps, compute.device)
    row = [
        name,
        f"{speed:,.0f}",
        f"{torch.cuda.max_memory_reserved(compute.device) / 2**30:.1f}",
        f"{speed * operations / measure_products(compute):.0%}",
        f"{first_seconds:.1f}",
        f"{len(shapes)}",
    ]
    work = partial(sum, itertools.islice(updates, UPDATES))
    return row, trace_kernels(work, compute.device) if profiled else []


app = typer.Typer(add_completion=False)


@app.command()
def main(
    *,
    preset: Annotated[str, typer.Option(help="Preset of conf/model.")] = "transformer_base",
    batch_tokens: Annotated[int, typer.Option(min=64, help="Padded, longer side.")] = 25_000,
    steps: Annotated[int, typer.Option(min=1, help="Number of timed updates.")] = 50,
    variants: Annotated[
        list[str], typer.Option(help=f"Repeatable: {', '.join(VARIANTS)}, or all.")
    ] = DEFAULT_VARIANTS,
    limit: Annotated[float, typer.Option(help="Maximum seconds per variant.")] = 120,
    kernels: Annotated[bool, typer.Option("--profile", help="List the slowest kernels.")] = False,
) -> None:
    """Measure the training speed of a preset on a GPU, and print a row per variant."""
    try:
        device = prepare_compute("cuda").device
    except ConfigError:
        raise typer.BadParameter("this machine has no GPU that PyTorch can use") from None
    names = list(VARIANTS) if "all" in variants else variants
    if unknown := {*names} - {*VARIANTS}:
        raise typer.BadParameter(f"unknown variant {min(unknown)}; --help lists the variants")
    print(f"{preset}, {torch.cuda.get_device_name(device)}, {batch_tokens:,} tokens in a batch\n")
    print("variant | target tokens a second | GiB | share | first update, s | shapes")
    print(" | ".join(["---", *["---:"] * 5]), flush=True)
    for name in names:
        work = partial(measure_variant, name, preset, batch_tokens, steps, profiled=kernels)
        try:
            row, traced = run_apart(work, limit)
        except (RuntimeError, TimeoutError) as error:
            row, traced = [name, " ".join(str(error).split())[:300]], []
        print(*row, sep=" | ", flush=True)
        if traced:
            title, rows = tabulate_kernels(traced, UPDATES)
            show(title, ("kernel", "calls per update", "ms per update", "share"), rows)


if __name__ == "__main__":
    app()
