"""``nmt generate``: let a language model write."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_core.cli.lines import decode_argument
from nmt_core.cli.program import Device, Threads, open_language_model


def generate(  # noqa: PLR0913 - one argument per option
    *,
    language_model: Annotated[
        Path, typer.Option(metavar="DIR", help="Language model of nmt learn.")
    ],
    length: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=10**9, help="Tokens to write, ends of lines included."
        ),
    ] = 500,
    temperature: Annotated[
        float,
        typer.Option(metavar="T", min=0, help="Sampling temperature; 0 takes the likeliest token."),
    ] = 1.0,
    top_k: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Sample from the K likeliest tokens only."),
    ] = None,
    top_p: Annotated[
        float, typer.Option(metavar="P", help="Nucleus: the likeliest tokens of probability P.")
    ] = 1.0,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Text to continue.")] = "",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of sampling.")] = 1,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Write a text, each token drawn from what the model expects after those before it.

    **Examples**

        nmt generate --language-model models/plays --length 500 --temperature 0.8

        nmt generate --language-model models/plays --prefix 'My lord,' --seed 7

    The same seed writes the same text. A temperature near 0 repeats what is most common; at 1 the
    text is as varied as the one learnt from; above, it dissolves.
    """
    begin = decode_argument(prefix, name="--prefix")
    text_model = open_language_model(language_model, device, threads)
    from nmt_core.base import config  # noqa: PLC0415 - takes seconds
    from nmt_core.decoding.settings import TokenSampling  # noqa: PLC0415 - takes seconds

    values = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    sampling = config.build(TokenSampling, values, at="generate")
    typer.echo(text_model.generate(length, sampling, seed=seed, prefix=begin))
