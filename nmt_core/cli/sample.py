"""``nmt sample``, ``next`` and ``tokenize``: samples, next tokens, and tokens of lines."""

from itertools import chain
from typing import Annotated, Literal

import typer

from nmt_core.base import config
from nmt_core.base.seal import MANIFEST, verify_bundle
from nmt_core.cli import options
from nmt_core.cli.lines import decode_argument, format_ranks, open_portions, write_portions
from nmt_core.search.settings import SamplingConfig
from nmt_core.text.vocabulary import UNK
from nmt_core.translation.loading import load_side


def sample_lines(
    *,
    lines: options.LineArguments = None,
    model: options.Model,
    samples: Annotated[
        int, typer.Option(metavar="N", min=1, help="Translations per line; some may be equal.")
    ] = 1,
    temperature: options.Temperature = 1.0,
    top_k: options.TopK = None,
    top_p: options.TopP = 1.0,
    seed: options.Seed = 1,
    prefix: options.Prefix = "",
    source: options.SourceLanguage = None,
    target: options.TargetLanguage = None,
    tag: options.TagName = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Sample translations of lines.

    Samples are drawn from the model's distribution. Each line is one sentence; its samples depend
    only on its text and the random seed.

    **Example**

        nmt sample --samples 3 --temperature 0.8 --top-p 0.9 < in.txt

    **Output**, with tabs between the fields: line number, sample number, score (mean
    log-probability of its tokens), translation.
    """
    portions, beginning = open_portions(lines), decode_argument(prefix, name="--prefix")
    values = {
        "samples": samples,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    sampling = config.build(SamplingConfig, values, at="sample")
    direction = source, target
    translator = options.open_translator(model, device, threads, tag=tag, direction=direction)
    write_portions(
        portions,
        lambda lines: translator.sample(lines, sampling, prefixes=[beginning] * len(lines)),
        format_ranks,
        flag_below=0.0,
    )


def next_tokens(
    *,
    lines: options.LineArguments = None,
    model: options.Model,
    prefix: options.Prefix = "",
    count: Annotated[
        int, typer.Option("--count", "-k", metavar="K", min=1, help="Tokens to show.")
    ] = 10,
    source: options.SourceLanguage = None,
    target: options.TargetLanguage = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Show the most likely next tokens.

    The tokens follow a prefix of the translation. Each record has a token, a tab and the token's
    probability. `</s>` is the end of the sentence; `▁` marks the start of a word.

    **Example**

        nmt next --model models/export 'Das Haus ist alt.' --prefix 'The house' -k 5
    """
    beginning, portions = decode_argument(prefix, name="--prefix"), open_portions(lines)
    translator = options.open_translator(model, device, threads, direction=(source, target))
    for portion in portions:
        for line in portion:
            for token, probability in translator.next_tokens(line, beginning, count):
                typer.echo(f"{token}\t{probability:.4f}")


def tokenize_lines(
    *,
    lines: options.LineArguments = None,
    model: options.Model,
    side: Annotated[
        Literal["source", "target"], typer.Option(help="Side whose tokenizer to use.")
    ] = "source",
) -> None:
    """Show the tokens of lines.

    DIR is an exported model, or a folder that holds `tokenizer/source` and `vocabulary/source.txt`,
    as `data` does after `make repro`.

    **Example**

        nmt tokenize --model data --side target 'The owl reads.'

    **Output**, with tabs between the fields: line number, tokens, their IDs, and the tokens that
    are not in the vocabulary. `▁` marks the start of a word; `<0xE2>` is a byte.
    """
    portions = open_portions(lines)
    if (model / MANIFEST).exists():
        verify_bundle(model)
    own = load_side(model, side)
    for number, line in enumerate(chain.from_iterable(portions), start=1):
        tokens, ids = own.tokens(line), own.ids(line)
        unknown = [token for token, each in zip(tokens, ids, strict=True) if each == UNK]
        typer.echo(f"{number}\t{' '.join(tokens)}\t{' '.join(map(str, ids))}\t{' '.join(unknown)}")
