"""``nmt evaluate``: score exported models on your own test set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from nmt_core.base.errors import ConfigError
from nmt_core.cli import options
from nmt_core.cli.lines import read_columns
from nmt_core.evaluation.metric import Reference
from nmt_core.evaluation.registry import (
    DEFAULT_METRICS,
    METRICS,
    check_references,
    find_label,
    load_metric,
)
from nmt_core.evaluation.significance import Difference, compare_systems

RESAMPLES = 1000
"""Number of bootstrap samples of each interval."""


def evaluate(
    *,
    model: Annotated[
        list[Path],
        typer.Option(metavar="DIR", help="Exported model; repeatable, to compare several."),
    ],
    source: Annotated[Path, typer.Option(metavar="FILE", help="Lines to translate, UTF-8.")],
    reference: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="References, one per line, UTF-8; repeat for several references per line.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"Metric; repeatable. \\[default: {', '.join(DEFAULT_METRICS)}]"
        ),
    ] = None,
    source_language: options.SourceLanguage = None,
    target_language: options.TargetLanguage = None,
    tag: options.TagName = None,
    engine: options.EngineName = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Score models on a test set.

    Scores are sacreBLEU's on raw text, with 95 % bootstrap intervals and the signature that another
    program needs to compute the same score.

    Several models are compared pairwise by approximate randomization, with p-values corrected for
    the number of pairs. A difference with a large p-value may be due to chance.

    **Examples**

        nmt evaluate --model models/export --source test.de --reference test.en

        nmt evaluate --model models/export --source test.de --reference a.en --reference b.en

        nmt evaluate --model models/new --model models/old --source test.de --reference test.en
    """
    try:
        metrics = [METRICS.check(name) for name in metric or DEFAULT_METRICS]
    except ValueError as error:
        raise ConfigError(f"--metric {error}") from None
    for option, option_paths in (("--model", model), ("--reference", reference)):
        if len({path.resolve() for path in option_paths}) != len(option_paths):
            raise ConfigError(f"{option} has the same path twice; give each path once")
    sources, *columns = read_columns(source, *reference)
    several = len(columns) > 1
    references: Sequence[Reference] = [*zip(*columns, strict=True)] if several else columns[0]
    check_references(metrics, references)
    direction = source_language, target_language
    translators = {
        str(folder): options.open_translator(
            folder, device, threads, engine=engine, tag=tag, direction=direction
        )
        for folder in model
    }
    codes = {model.languages.target for model in translators.values() if model.languages}
    if len(codes) != 1:
        written = " and ".join(sorted(codes)) or "no known language"
        raise ConfigError(f"the models write {written}; give models of one target language")
    [code] = codes
    systems = {name: model.translate_sentences(sources) for name, model in translators.items()}
    console = Console()
    console.print(render_scores(systems, references, sources, metrics, code))
    if len(systems) > 1:
        seeds = {name: [lines] for name, lines in systems.items()}
        differences = compare_systems(seeds, references, sources, metrics=metrics, language=code)
        console.print(render_differences(differences))


def render_scores(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Reference],
    sources: Sequence[str],
    metrics: Sequence[str],
    language: str,
) -> Table:
    """Return a table of all scores with their intervals and signatures."""
    table = Table(
        "model",
        "metric",
        Column("score", justify="right"),
        "95 % confidence",
        Column("signature", overflow="fold"),
        title=f"{len(sources):,} sentences",
    )
    for name, lines in systems.items():
        for metric in metrics:
            score = load_metric(metric, language).score(
                lines, references, sources, resamples=RESAMPLES
            )
            interval = f"{score.low:.1f} to {score.high:.1f}"
            cells = (name, find_label(metric), f"{score.value:.1f}", interval, score.signature)
            table.add_row(*(Text(cell) for cell in cells))
    return table


def render_differences(differences: Sequence[Difference]) -> Table:
    """Return a table of the differences between systems, with their p-values."""
    table = Table(
        "pair",
        "metric",
        Column("difference", justify="right"),
        Column("p", justify="right"),
        title="Differences",
    )
    for difference in differences:
        table.add_row(
            Text(f"{difference.first} - {difference.second}"),
            find_label(difference.metric),
            f"{difference.value:+.2f}",
            f"{difference.p_value:.4f}",
        )
    return table
