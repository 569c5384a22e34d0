"""Comparison of systems trained with equal budgets: results, and tests of their differences.

Reads:  experiments that DVC keeps, and the times in their journals in runs/
Writes: reports/comparison/comparison.{json,md,csv,png}
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import pandas as pd
from dvc.api import DVCFileSystem
from rich.console import Group
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.packages import name_program
from nmt_core.base.progress import format_duration
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.pictures import draw_intervals
from nmt_core.evaluation.registry import METRICS, find_label
from nmt_core.evaluation.significance import (
    Difference,
    compare_systems,
    compute_t_interval,
    estimate_seed_variance,
)
from nmt_core.training.settings import Budget
from stages import paths
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import render_pipe_table, render_template
from stages.runtime.params_file import ParamsLoader
from stages.tracking.journal import Journal
from stages.tracking.run_metadata import name_evaluation

FOLDER = paths.REPORTS / "comparison"

NORMAL_95 = NormalDist().inv_cdf(0.975)
"""Standard errors in half of a 95 % interval."""

SMALLEST_P = 0.001
"""Smallest p-value that is shown."""

UNEVEN = 1.2
"""Ratio of the largest to the smallest amount of training above which it is reported."""


class Run(Config):
    """The result of one training."""

    system: str
    seed: int
    experiment: str
    fingerprint: str
    scores: dict[str, ScoreInterval]
    """On the test set, by metric; the most important one is first."""
    perplexity: float
    """Perplexity of the test references, per token of the system."""
    parameters: int
    steps: int
    epochs: int
    target_tokens: int
    threads: int
    """Processor threads of training; 0 for all."""
    train_seconds: float | None
    """Seconds spent in updates; None without the journal."""
    sentences_per_second: float | None
    """Speed of translating the test set; None without the journal."""

    @property
    def tokens_per_second(self) -> float | None:
        """Target tokens trained on per second."""
        return self.target_tokens / self.train_seconds if self.train_seconds else None


@dataclass(frozen=True)
class Outcome:
    """A run with its translations of the test set."""

    run: Run
    budget: Budget
    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    signatures: dict[str, str]
    """Signature of each metric."""
    language: str
    """Code of the target language."""


class Comparison(Config):
    """Scores of systems trained with equal budgets, and their differences."""

    command: str
    commit: str
    sentences: int
    signatures: dict[str, str]
    """Signature of each metric; systems are ordered by the first metric."""
    budget: Budget
    """The budget of each training."""
    scores: dict[str, dict[str, ScoreInterval]]
    """Means over the seeds by system and metric, the best system first. Intervals include the
    variance between seeds if there are several."""
    runs: tuple[Run, ...]
    """The runs of each system in a row, the best system first."""
    differences: tuple[Difference, ...]

    @property
    def systems(self) -> dict[str, list[Run]]:
        """The runs of each system, the best first."""
        return {name: list(runs) for name, runs in groupby(self.runs, key=lambda run: run.system)}


COSTS: dict[str, tuple[Callable[[Run], float | None], Callable[[float], str]]] = {
    "perplexity": (lambda run: run.perplexity, "{:.2f}".format),
    "parameters": (lambda run: run.parameters / 1e6, "{:.2f} M".format),
    "updates": (lambda run: run.steps, "{:,.0f}".format),
    "target tokens": (lambda run: run.target_tokens / 1e6, "{:.2f} M".format),
    "training": (lambda run: run.train_seconds, format_duration),
    "tokens/s": (lambda run: run.tokens_per_second, "{:,.0f}".format),
    "sentences/s": (lambda run: run.sentences_per_second, "{:,.0f}".format),
}
"""Columns of the table of costs: functions for the value of a run and for its text."""


def read_outcome(system: str, seed: int, experiment: str, commit: str) -> Outcome:
    """Return the outcome of an experiment, read from the outputs at its commit.

    Raises:
        NmtError: if DVC's cache does not have the outputs any more.
    """
    repository = DVCFileSystem(str(paths.HOME), rev=commit)
    try:
        scores, record = (
            json.loads(repository.read_text(str(path)))
            for path in (paths.REPORTS / "evaluate.json", paths.TRAINED / "training.json")
        )
        rows = read_translations(repository.read_text(str(paths.REPORTS / "translations.tsv")))
        settings = ParamsLoader(repository.read_text(str(paths.PARAMS))).get_single_data()
    except OSError:
        raise NmtError(
            f"the results of experiment {experiment} are not in DVC's cache any more; run: "
            f"{name_program('dvc')} exp remove {experiment}, and compare again"
        ) from None
    evaluation, params = Evaluation.parse(scores), record["params"]
    evaluated = Journal(name_evaluation(record["fingerprint"], settings))
    run = Run(
        system=system,
        seed=seed,
        experiment=experiment,
        fingerprint=record["fingerprint"],
        scores={name: score.interval for name, score in evaluation.scores.items()},
        perplexity=evaluation.perplexity,
        **{name: record[name] for name in ("parameters", "steps", "epochs", "target_tokens")},
        threads=params["compute"]["threads"],
        train_seconds=Journal(record["fingerprint"]).last("train/seconds"),
        sentences_per_second=evaluated.last("test_sentences_per_second"),
    )
    sources, references, hypotheses = (
        [row[name] for row in rows] for name in ("source", "reference", "hypothesis")
    )
    return Outcome(
        run=run,
        budget=Budget.model_validate(params["budget"]),
        sources=sources,
        references=references,
        hypotheses=hypotheses,
        signatures={name: score.signature for name, score in evaluation.scores.items()},
        language=settings["download"]["languages"]["target"],
    )


def read_translations(text: str) -> list[dict[str, str]]:
    """Return the rows of ``translations.tsv`` from the evaluate stage, one per sentence."""
    head, *rows = (line.split("\t") for line in text.removesuffix("\n").split("\n"))
    return [dict(zip(head, row, strict=True)) for row in rows]


def compare_outcomes(outcomes: Sequence[Outcome], *, command: str, commit: str) -> Comparison:
    """Return the comparison: systems from best to worst, and a test of each pair of them.

    Raises:
        NmtError: if the systems differ in test set, budget or metrics.
    """
    check_comparable(outcomes)
    first = outcomes[0]
    metric, sentences = next(iter(first.signatures)), len(first.references)
    ranked: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.run.system):
        ranked.setdefault(outcome.run.system, []).append(outcome)
    means = {name: fmean(o.run.scores[metric].value for o in runs) for name, runs in ranked.items()}
    best_first = METRICS.load(metric).higher_is_better
    systems = sorted(means, key=means.__getitem__, reverse=best_first)
    ranked = {name: ranked[name] for name in systems}
    return Comparison(
        command=command,
        commit=commit,
        sentences=sentences,
        signatures=first.signatures,
        budget=first.budget,
        scores={
            name: {
                metric: average_scores([each.run.scores[metric] for each in group], sentences)
                for metric in first.signatures
            }
            for name, group in ranked.items()
        },
        runs=tuple(each.run for group in ranked.values() for each in group),
        differences=tuple(
            compare_systems(
                {name: [each.hypotheses for each in group] for name, group in ranked.items()},
                first.references,
                first.sources,
                metrics=list(first.signatures),
                language=first.language,
            )
        ),
    )


def average_scores(scores: Sequence[ScoreInterval], sentences: int) -> ScoreInterval:
    """Return the mean score over seeds, with its 95 % interval.

    The mean of the sentence variances is an upper bound: seeds may fail on the same sentences.
    """
    if len(scores) == 1:
        return scores[0]
    values = [score.value for score in scores]
    errors = [(score.high - score.low) / 2 / NORMAL_95 for score in scores]
    by_sentences = fmean(error**2 for error in errors), max(1, sentences - 1)
    low, high = compute_t_interval(fmean(values), [by_sentences, estimate_seed_variance(values)])
    return ScoreInterval(value=fmean(values), low=max(0.0, low), high=high)


def check_comparable(outcomes: Sequence[Outcome]) -> None:
    """Raise a ``NmtError`` that names two runs if their test set, budget or metrics differ."""
    first, *others = outcomes
    for other in others:
        names = f"{first.run.experiment} and {other.run.experiment}"
        if (first.sources, first.references) != (other.sources, other.references):
            raise NmtError(
                f"{names} were tested on different sentences ({len(first.references)} and "
                f"{len(other.references)}); use the same data settings for all systems"
            )
        if first.budget != other.budget:
            raise NmtError(f"{names} had different budgets; use the same for all systems")
        if list(first.signatures.items()) != list(other.signatures.items()):
            raise NmtError(
                f"{names} were scored differently, {', '.join(first.signatures.values())} and "
                f"{', '.join(other.signatures.values())}; use the same evaluate settings for all "
                f"systems"
            )


def tabulate(comparison: Comparison) -> list[tuple[list[str], list[list[str]]]]:
    """Return header and rows of the tables of scores, costs and, if there are any, differences."""
    labels = [*map(find_label, comparison.signatures)]
    systems = comparison.systems
    scores = [
        [
            name,
            *(
                format_score(score, [run.scores[metric] for run in systems[name]])
                for metric, score in own.items()
            ),
        ]
        for name, own in comparison.scores.items()
    ]
    costs = [
        [name, *(average(map(read, runs), form) for read, form in COSTS.values())]
        for name, runs in systems.items()
    ]
    pairs: dict[str, dict[str, str]] = {}
    for pair in comparison.differences:
        p = f"p = {pair.p_value:.3f}" if pair.p_value >= SMALLEST_P else f"p < {SMALLEST_P}"
        names = f"{pair.first} – {pair.second}"
        pairs.setdefault(names, {})[pair.metric] = f"{pair.value:+.1f}, {p}"
    differences = [
        [name, *(own.get(metric, "–") for metric in comparison.signatures)]
        for name, own in pairs.items()
    ]
    tables = [(["system", *labels], scores), (["system", *COSTS], costs)]
    return [*tables, (["difference", *labels], differences)] if pairs else tables


def format_score(mean: ScoreInterval, seeds: Sequence[ScoreInterval]) -> str:
    """Return a score with its 95 % interval, and the standard deviation between seeds."""
    spread = f" ± {stdev(seed.value for seed in seeds):.1f}" if len(seeds) > 1 else ""
    return f"{mean.value:.1f}{spread} ({mean.low:.1f}–{mean.high:.1f})"


def average(costs: Iterable[float | None], form: Callable[[float], str]) -> str:
    """Return the mean of a cost over seeds as text; a dash if it is unknown for a seed."""
    values = [math.nan if cost is None else cost for cost in costs]
    return "–" if math.isnan(sum(values)) else form(fmean(values))


def list_unequal(comparison: Comparison) -> Iterator[str]:
    """Yield a message for each amount of training that differs by more than ``UNEVEN``."""
    for what, field in (("updates", "steps"), ("target tokens", "target_tokens")):
        work = {f"{run.system}, seed {run.seed}": getattr(run, field) for run in comparison.runs}
        least, most = min(work, key=work.__getitem__), max(work, key=work.__getitem__)
        if work[most] > UNEVEN * work[least]:
            yield f"{what}: from {work[least]:,} of {least} to {work[most]:,} of {most}"


def render_notes(comparison: Comparison) -> str:
    """Return notes on the tables, in Markdown."""
    return render_template(
        "comparison.md",
        comparison=comparison,
        budget=comparison.budget.model_dump(exclude_none=True),
        threads=sorted({str(run.threads or "all") for run in comparison.runs}),
        seeds=[*dict.fromkeys(run.seed for run in comparison.runs)],
        unequal=[*list_unequal(comparison)],
    )


def render_markdown(comparison: Comparison) -> str:
    """Return the report in Markdown."""
    lines = ["```", comparison.command, "```", "", f"At commit {comparison.commit}.", ""]
    for head, rows in tabulate(comparison):
        lines += [*render_pipe_table(head, rows), ""]
    return "\n".join([*lines, render_notes(comparison), "![scores](comparison.png)", ""])


def render_report(comparison: Comparison) -> Group:
    """Return the report for a terminal; narrow terminals wrap the cells."""
    tables: list[Table | Text] = []
    for head, rows in tabulate(comparison):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for number, column in enumerate(head):
            table.add_column(column, justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        tables += [table, Text()]
    return Group(*tables, Markdown(render_notes(comparison)))


def write_report(comparison: Comparison, folder: Path = FOLDER) -> None:
    """Write the report as JSON, Markdown, CSV and a picture."""
    files.write_json(folder / "comparison.json", comparison.model_dump(mode="json"))
    files.write_text(folder / "comparison.md", render_markdown(comparison))
    runs = pd.json_normalize([run.model_dump(mode="json") for run in comparison.runs])
    files.write_text(folder / "comparison.csv", runs.to_csv(index=False))
    first = find_label(next(iter(comparison.signatures)))
    scores = {name: next(iter(own.values())) for name, own in comparison.scores.items()}
    draw_intervals(folder / "comparison.png", scores, label=f"{first}, 95 % interval")
