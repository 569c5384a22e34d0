"""The commands of language models: ``nmt learn``, ``generate`` and ``score``."""

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base import compute, config
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.seal import LANGUAGE_MODEL, require_replaceable
from nmt_core.cli import options
from nmt_core.cli.lines import decode_argument, decode_lines, open_standard_input
from nmt_core.extensions.language_models.reading import UnitConfig, Units, hold_out_end, learn_units
from nmt_core.extensions.language_models.training import (
    LearningConfig,
    load_language_model,
    train_language_model,
    write_language_model,
)
from nmt_core.extensions.learning import (
    Out,
    change_settings,
    explain_settings,
    keep_checkpoints,
    read_text,
    show_training,
)
from nmt_core.search.engine import LogLikelihood
from nmt_core.search.settings import TokenSampling
from nmt_core.translation.forced_decoding import score_pairs
from nmt_core.translation.translator import Translator


@explain_settings("**Settings** with defaults; the first kind is the default:", LearningConfig())
def learn(
    *,
    text: Annotated[list[Path], typer.Option(metavar="FILE", help="Text, UTF-8; repeatable.")],
    out: Out,
    validation: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Text to validate on. \\[default: the end of --text]"),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="ngram, feed_forward, rnn or transformer.")
    ] = "ngram",
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="character, word or subword.")
    ] = "character",
    tokens_of: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Exported translator whose target subwords to use."),
    ] = None,
    settings: options.Changes = None,
    threads: options.Threads = None,
) -> None:
    """Train a language model on text.

    After Ctrl-C, the same command continues where training stopped; after a crash, it continues
    from the last complete epoch.

    **Examples**

        nmt learn --text plays.txt --kind rnn --unit character --out models/plays

        nmt learn --text train.en --validation val.en --unit word --out models/words

        nmt learn --text train.en --unit subword --tokens-of models/export --out models/english

    **Kinds**: `ngram` counts n-grams (Kneser-Ney smoothing), `feed_forward` reads the last few
    tokens, `rnn` all tokens, `transformer` half to all of the last `model.context` tokens.

    **Units**: a text of characters is one stream, with line ends; words and subwords form lines.
    """
    changes = [f'model.kind="{kind}"', f'unit.kind="{unit}"', *(settings or [])]
    chosen = change_settings(LearningConfig(), changes, at="learn", threads=threads)
    require_replaceable(out, by=LANGUAGE_MODEL)
    if validation:
        training, held_out = read_text(*text), read_text(*validation)
    else:
        document, share = chosen.unit.kind == "character", chosen.held_out
        training, held_out = hold_out_end(read_text(*text), share, document=document)
    units = choose_units(chosen.unit, training, tokens_of)
    raw_texts = {"training": training, "validation": held_out}
    texts = {name: units.encode(raw, name=f"{name} text") for name, raw in raw_texts.items()}
    typer.echo(
        f"{len(texts['training']):,} training tokens, {len(texts['validation']):,} validation "
        f"tokens, {len(units.vocabulary):,} tokens in the vocabulary",
        err=True,
    )
    values = chosen.model_dump(mode="json")
    with keep_checkpoints(out, values, units.vocabulary.tokens, *texts.values()) as checkpoints:
        model, points = train_language_model(
            chosen, units, **texts, checkpoints=checkpoints, display=show_training
        )
        learning = values | {"points": [point.row() for point in points]}
        write_language_model(out, model, units, learning=learning)
    best = min(point.validation_loss for point in points)
    typer.echo(f"validation loss {best:.4f} nats per token; the model is in {out}", err=True)


def choose_units(unit: UnitConfig, text: str, tokens_of: Path | None) -> Units:
    """Return the units of a text: learnt from it, or the target subwords of a translator."""
    if unit.kind != "subword":
        if tokens_of:
            raise ConfigError(f"--tokens-of requires --unit subword, got {unit.kind}")
        return learn_units(unit, text)
    if tokens_of is None:
        raise ConfigError("--unit subword requires a translator; add --tokens-of models/export")
    target = Translator.load(tokens_of).target
    return Units(unit, target.tokenizer, target.vocabulary)


def generate(
    *,
    language_model: Annotated[
        Path, typer.Option(metavar="DIR", help="Language model of nmt learn.")
    ],
    length: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=10**9, help="Number of tokens, line ends included."),
    ] = 500,
    temperature: options.Temperature = 1.0,
    top_k: options.TopK = None,
    top_p: options.TopP = 1.0,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Text to continue.")] = "",
    seed: options.Seed = 1,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Generate text by sampling from a language model.

    **Examples**

        nmt generate --language-model models/plays --length 500 --temperature 0.8

        nmt generate --language-model models/plays --prefix 'My lord,' --seed 7

    The same seed gives the same text. A temperature near 0 repeats the most common phrases, 1 is
    as varied as the training text, and higher temperatures give incoherent text.
    """
    beginning = decode_argument(prefix, name="--prefix")
    compute.set_threads(threads)
    text_model = load_language_model(language_model, device=device)
    values = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    sampling = config.build(TokenSampling, values, at="generate")
    typer.echo(text_model.generate(length, sampling, seed=seed, prefix=beginning))


def score(
    *,
    language_model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Language model of nmt learn: score lines.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Exported translator: score lines of source, tab, target."
        ),
    ] = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Score every line of standard input by its log-likelihood.

    **Examples**

        nmt score --language-model models/plays < scene.txt

        paste test.de test.en | nmt score --model models/export

    **Output**, a line for each line of input, with tabs between fields: log-likelihood in nats,
    perplexity per token, number of tokens. The line end counts as a token. Models of characters and
    stateful models score each line after the previous lines. The heading and the total are written
    to standard error. Use the nats per character to compare models of different units. A
    translator truncates lines at its maximum length, 512 tokens by default, with a warning.
    """
    if (language_model is None) == (model is None):
        raise ConfigError("score requires either --language-model DIR or --model DIR")
    lines = list(decode_lines(open_standard_input()))
    if model:
        translator = options.open_translator(model, device, threads)
        scores = score_pairs(translator, list(split_pairs(lines)))
    else:
        assert language_model is not None
        compute.set_threads(threads)
        scores = load_language_model(language_model, device=device).score(lines)
    typer.echo("log-likelihood\tperplexity\ttokens", err=True)
    for line in scores:
        typer.echo(f"{line.log_likelihood:.4f}\t{line.perplexity:.4f}\t{line.tokens}")
    typer.echo(summarize(scores), err=True)


def split_pairs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield source and target of each line.

    Raises:
        CorpusError: naming the first line that does not have two fields.
    """
    for number, line in enumerate(lines, start=1):
        source, *targets = line.split("\t")
        if len(targets) != 1:
            raise CorpusError(
                f"line {number} of the input has {len(targets) + 1} fields instead of 2; write "
                f"source, tab, target, for example with paste"
            )
        yield source, targets[0]


def summarize(scores: Sequence[LogLikelihood]) -> str:
    """Return a line with the total of all scores."""
    total = reduce(LogLikelihood.plus, scores, LogLikelihood())
    return (
        f"{len(scores):,} lines, {total.tokens:,} tokens, {total.unknown:,} of them unknown, "
        f"log-likelihood {total.log_likelihood:.2f}; perplexity {total.perplexity:.3f} per token, "
        f"{total.nats_per_character:.4f} nats per character"
    )
