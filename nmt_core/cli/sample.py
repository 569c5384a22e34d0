"""``nmt sample``: translations drawn at random."""

from functools import partial
from typing import Annotated

import typer

from nmt_core.base import config
from nmt_core.cli.options import (
    Device,
    LineArguments,
    Model,
    Prefix,
    PrefixFile,
    Seed,
    TagName,
    Temperature,
    Threads,
    TopK,
    TopP,
    open_portions,
    open_translator,
)
from nmt_core.cli.records import Prefixes, format_ranks, write_portions
from nmt_core.search.settings import SamplingConfig
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator


def sample_lines(
    *,
    lines: LineArguments = None,
    model: Model,
    samples: Annotated[
        int, typer.Option(metavar="N", min=1, help="Translations per line; some may be equal.")
    ] = 1,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = 1.0,
    seed: Seed = 1,
    prefix: Prefix = None,
    prefix_file: PrefixFile = None,
    tag: TagName = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Sample translations of lines from the model's distribution.

    Each line is one sentence. Its samples depend on its text and the random seed alone.

    **Example**

        nmt sample --samples 3 --temperature 0.8 --top-p 0.9 < in.txt

    **Output**, with tabs between the fields: number of the line, number of the sample, score (mean
    log-probability of its tokens), translation.
    """
    portions, prefixes = open_portions(lines), Prefixes(prefix, prefix_file)
    values = {
        "samples": samples,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    sampling = config.build(SamplingConfig, values, at="sample")
    translator = open_translator(model, device, threads, tag=tag)
    draw = partial(draw_samples, translator, sampling, prefixes)
    write_portions(portions, draw, format_ranks, flag_below=0.0)
    prefixes.end()


def draw_samples(
    translator: Translator, sampling: SamplingConfig, prefixes: Prefixes, lines: list[str]
) -> list[list[Translation]]:
    """Return samples of lines that begin with the next prefixes."""
    return translator.sample(lines, sampling, prefixes=prefixes.take(len(lines)))
