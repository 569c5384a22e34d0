"""``nmt score``: log-likelihoods of texts and translations."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.cli.lines import decode_lines, open_standard_input
from nmt_core.cli.options import Device, Threads, open_translator
from nmt_core.extensions.language_models.commands import open_model
from nmt_core.search.score import LogLikelihood
from nmt_core.translation.likelihood import score_pairs

HEADING = "log-likelihood\tperplexity\ttokens"
"""Of the columns of each line."""


def score(
    *,
    language_model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Language model of nmt learn: score lines."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Exported translator: score lines of source, tab, target."
        ),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Score every line of standard input by its log-likelihood.

    **Examples**

        nmt score --language-model models/plays < scene.txt

        paste test.de test.en | nmt score --model models/export

    **What is written**, a line for each line of input, with tabs between fields: log-likelihood in
    nats, perplexity per token, tokens. The end of the line counts as a token; by a model of
    characters and by a stateful one, each line is read after those before it. Their heading and the
    total are written to standard error, per token and per character, which models of different
    units can be compared by. A translator reads of a line what it translates, 512 tokens if nothing
    else was set, and warns where that is not all.
    """
    if (language_model is None) == (model is None):
        raise ConfigError("say what to score with: either --language-model DIR or --model DIR")
    lines = list(decode_lines(open_standard_input()))
    if model:
        scores = score_pairs(open_translator(model, device, threads), list(split_pairs(lines)))
    else:
        assert language_model is not None
        scores = open_model(language_model, device, threads).score(lines)
    typer.echo(HEADING, err=True)
    for line_score in scores:
        typer.echo(
            f"{line_score.log_likelihood:.4f}\t{line_score.perplexity:.4f}\t{line_score.tokens}"
        )
    typer.echo(summarize(scores), err=True)


def split_pairs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield source and target.

    Raises:
        CorpusError: naming the first line that is no pair.
    """
    for number, line in enumerate(lines, start=1):
        match line.split("\t"):
            case [source, target]:
                yield source, target
            case fields:
                raise CorpusError(
                    f"line {number} of the input has {len(fields)} fields, and needs 2: source, "
                    f"tab, target; make such lines with paste"
                )


def summarize(scores: Sequence[LogLikelihood]) -> str:
    """Return the score of all lines together."""
    total = LogLikelihood()
    for line_score in scores:
        total = total.plus(line_score)
    return (
        f"{len(scores):,} lines, {total.tokens:,} tokens, {total.unknown:,} of them unknown, "
        f"log-likelihood {total.log_likelihood:.2f}; perplexity {total.perplexity:.3f} per token, "
        f"{total.nats_per_character:.4f} nats per character"
    )
