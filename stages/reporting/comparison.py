"""Comparison of systems trained on equal terms: their results, and tests of their differences.

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
from rich.table import Table
from rich.text import Text

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.packages import name_program
from nmt_core.base.progress import format_duration
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.pictures import draw_intervals
from nmt_core.evaluation.registered import METRICS, find_label
from nmt_core.evaluation.significance import (
    Difference,
    VarianceSource,
    compare_all,
    compute_t_interval,
    measure_seeds,
)
from nmt_core.training.settings import Budget
from stages import paths
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import render_pipe_table
from stages.runtime.params_file import ParamsLoader
from stages.tracking.journal import Journal
from stages.tracking.run_metadata import name_evaluation

FOLDER = paths.REPORTS / "comparison"

NORMAL_95 = NormalDist().inv_cdf(0.975)
"""Standard errors in half of a 95 % interval."""

UNEVEN = 1.2
"""Ratio of the largest to the smallest amount of training above which it is reported."""


class ComparisonError(NmtError):
    """Systems cannot be compared."""


class SystemScore(ScoreInterval):
    """The mean over a system's seeds; its interval includes their variance if there are several."""

    deviation: float | None = None
    """Standard deviation between seeds; None for one seed."""


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
    """Time spent in updates; None without the journal, as is the speed of translation."""
    sentences_per_second: float | None
    """Speed of translating the test set, by the settings of the evaluation."""

    @property
    def tokens_per_second(self) -> float | None:
        """Target tokens trained on in a second."""
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
    """Scores of systems trained on equal terms, and their differences."""

    command: str
    commit: str
    sentences: int
    signatures: dict[str, str]
    """Signature of each metric; systems are in the order of the first."""
    budgets: dict[str, Budget]
    """The budget of each system's training."""
    scores: dict[str, dict[str, SystemScore]]
    """Scores by system and metric, best system first."""
    runs: tuple[Run, ...]
    """Seeds of a system stand together, the best system first."""
    differences: tuple[Difference, ...]

    @property
    def systems(self) -> dict[str, list[Run]]:
        """The runs of each system, the best first."""
        return {name: list(runs) for name, runs in groupby(self.runs, key=lambda run: run.system)}

    @property
    def seeds(self) -> list[int]:
        """The seeds of each system."""
        return list(dict.fromkeys(run.seed for run in self.runs))


COSTS: dict[str, tuple[Callable[[Run], float | None], Callable[[float], str]]] = {
    "perplexity": (lambda run: run.perplexity, "{:.2f}".format),
    "parameters": (lambda run: run.parameters / 1e6, "{:.2f} M".format),
    "updates": (lambda run: run.steps, "{:,.0f}".format),
    "target tokens": (lambda run: run.target_tokens / 1e6, "{:.2f} M".format),
    "training": (lambda run: run.train_seconds, format_duration),
    "tokens/s": (lambda run: run.tokens_per_second, "{:,.0f}".format),
    "sentences/s": (lambda run: run.sentences_per_second, "{:,.0f}".format),
}
"""Columns of the table of costs: the value of a run, and how it is written."""


def read_outcome(system: str, seed: int, experiment: str, commit: str) -> Outcome:
    """Read the outputs of an experiment, at its commit.

    Raises:
        ComparisonError: if DVC does not have it any more.
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
        raise ComparisonError(
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
        run,
        Budget.model_validate(params["budget"]),
        sources,
        references,
        hypotheses,
        {name: score.signature for name, score in evaluation.scores.items()},
        settings["download"]["languages"]["target"],
    )


def read_translations(text: str) -> list[dict[str, str]]:
    """Parse ``translations.tsv`` of the evaluate stage, a row per sentence."""
    head, *rows = (line.split("\t") for line in text.removesuffix("\n").split("\n"))
    return [dict(zip(head, row, strict=True)) for row in rows]


def compare_outcomes(outcomes: Sequence[Outcome], *, command: str, commit: str) -> Comparison:
    """Put systems in order, the best first, and test every two of them.

    Raises:
        ComparisonError: if they were not tested alike.
    """
    check_comparable(outcomes)
    first = outcomes[0]
    by_system: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_system.setdefault(outcome.run.system, []).append(outcome)
    metric = next(iter(first.signatures))
    by_system = dict(
        sorted(
            by_system.items(),
            key=lambda item: fmean(outcome.run.scores[metric].value for outcome in item[1]),
            reverse=METRICS.load(metric).higher_is_better,
        )
    )
    runs = {name: [outcome.run for outcome in own] for name, own in by_system.items()}
    return Comparison(
        command=command,
        commit=commit,
        sentences=len(first.references),
        signatures=first.signatures,
        budgets={name: own[0].budget for name, own in by_system.items()},
        scores={
            name: {
                metric: average_scores([run.scores[metric] for run in own], len(first.references))
                for metric in own[0].scores
            }
            for name, own in runs.items()
        },
        runs=tuple(run for own in runs.values() for run in own),
        differences=tuple(
            compare_all(
                {name: [outcome.hypotheses for outcome in own] for name, own in by_system.items()},
                first.references,
                first.sources,
                metrics=list(first.signatures),
                language=first.language,
            )
        ),
    )


def average_scores(scores: Sequence[ScoreInterval], sentences: int) -> SystemScore:
    """Return the mean of the scores of seeds, with its interval.

    The mean of the variances by sentences is an upper bound: as if all seeds failed on the same.
    """
    if len(scores) == 1:
        return SystemScore(**scores[0].model_dump())
    values = [score.value for score in scores]
    errors = [(score.high - score.low) / 2 / NORMAL_95 for score in scores]
    by_sentences = VarianceSource(fmean(error**2 for error in errors), max(1, sentences - 1))
    low, high = compute_t_interval(fmean(values), [by_sentences, measure_seeds(values)])
    return SystemScore(value=fmean(values), low=max(0.0, low), high=high, deviation=stdev(values))


def check_comparable(outcomes: Sequence[Outcome]) -> None:
    """Raise a :class:`ComparisonError` if two runs cannot be compared, naming the difference."""
    first, *others = outcomes
    for other in others:
        names = f"{first.run.experiment} and {other.run.experiment}"
        if (first.sources, first.references) != (other.sources, other.references):
            raise ComparisonError(
                f"{names} were tested on different sentences ({len(first.references)} and "
                f"{len(other.references)}); compare systems that share the data settings"
            )
        if list(first.signatures.items()) != list(other.signatures.items()):
            raise ComparisonError(
                f"{names} were scored differently, {', '.join(first.signatures.values())} and "
                f"{', '.join(other.signatures.values())}; compare systems that share the evaluate "
                f"settings"
            )


def list_tables(comparison: Comparison) -> list[tuple[list[str], list[list[str]]]]:
    """Return head and rows of the tables of scores, of costs and, if any, of differences."""
    labels = [*map(find_label, comparison.signatures)]
    scores = [[name, *map(format_score, own.values())] for name, own in comparison.scores.items()]
    costs = [
        [name, *(average(map(read, runs), form) for read, form in COSTS.values())]
        for name, runs in comparison.systems.items()
    ]
    pairs: dict[str, dict[str, str]] = {}
    for pair in comparison.differences:
        names = f"{pair.first} – {pair.second}"
        pairs.setdefault(names, {})[pair.metric] = format_difference(pair.value, pair.p_value)
    differences = [
        [name, *(own.get(metric, "–") for metric in comparison.signatures)]
        for name, own in pairs.items()
    ]
    tables = [(["system", *labels], scores), (["system", *COSTS], costs)]
    return [*tables, (["difference", *labels], differences)] if pairs else tables


def format_score(score: SystemScore) -> str:
    """Return a score with its 95 % interval, and the standard deviation between seeds."""
    spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
    return f"{score.value:.1f}{spread} ({score.low:.1f}–{score.high:.1f})"


def average(costs: Iterable[float | None], form: Callable[[float], str]) -> str:
    """Return the mean of a cost over seeds; a dash if it is unknown for any."""
    values = [math.nan if cost is None else cost for cost in costs]
    return "–" if math.isnan(sum(values)) else form(fmean(values))


def format_difference(difference: float, p_value: float) -> str:
    """Return a difference and its p-value."""
    smallest = 0.001
    p = f"p = {p_value:.3f}" if p_value >= smallest else f"p < {smallest}"
    return f"{difference:+.1f}, {p}"


def describe_budget(budgets: dict[str, Budget]) -> str:
    """Describe the budget of every system."""
    words = {}
    for name, budget in budgets.items():
        limits = {unit: limit for unit, limit in budget.model_dump().items() if limit is not None}
        words[name] = " or ".join(f"{limit:,.0f} {unit}" for unit, limit in limits.items())
    if len({*words.values()}) == 1:
        return f"equal budgets of {next(iter(words.values()))}"
    return "UNEQUAL budgets: " + ", ".join(f"{name} {limit}" for name, limit in words.items())


def list_notes(comparison: Comparison) -> list[str]:
    """Return notes on the tables."""
    threads = sorted({str(run.threads or "all") for run in comparison.runs})
    several = len(comparison.seeds) > 1
    test = "Welch's t-test over seeds and sentences" if several else "approximate randomization"
    seeds = (
        f"Means over {len(comparison.seeds)} seeds ± their standard deviation; intervals and "
        f"p-values include the choice of seeds."
        if several
        else f"One seed ({comparison.seeds[0]}): intervals and p-values say nothing of other "
        f"seeds, which often differ by more; SEEDS=3 would tell."
    )
    return [
        (
            f"{comparison.sentences:,} test sentences; {describe_budget(comparison.budgets)}; "
            f"processor threads each: {', '.join(threads)}; parentheses hold 95 % intervals."
        ),
        seeds,
        *list_unequal(comparison),
        (
            f"p-values are two-sided, by {test}, corrected by Holm for the number of pairs. "
            f"Training is the time spent in updates. Perplexity is comparable only between systems "
            f"with the same tokens."
        ),
        f"Signatures: {', '.join(comparison.signatures.values())}.",
    ]


def list_unequal(comparison: Comparison) -> Iterator[str]:
    """Yield amounts of training that differ by more than a fifth in spite of equal budgets."""
    for what, field in (("updates", "steps"), ("target tokens", "target_tokens")):
        work = {f"{run.system}, seed {run.seed}": getattr(run, field) for run in comparison.runs}
        least, most = min(work, key=work.__getitem__), max(work, key=work.__getitem__)
        if work[most] > UNEVEN * work[least]:
            yield (
                f"UNEQUAL {what}: from {work[least]:,} of {least} to {work[most]:,} of {most}; "
                f"STEPS or TOKENS in place of SECONDS gives all runs the same."
            )


def render_markdown(comparison: Comparison) -> str:
    """Return the report as a page."""
    lines = ["```", comparison.command, "```", "", f"At commit {comparison.commit}.", ""]
    for head, rows in list_tables(comparison):
        lines += [*render_pipe_table(head, rows), ""]
    lines += [f"{note}\n" for note in list_notes(comparison)]
    return "\n".join([*lines, "![scores](comparison.png)", ""])


def render_report(comparison: Comparison) -> Group:
    """Return the report for a terminal."""
    parts: list[Table | Text] = []
    for head, rows in list_tables(comparison):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for number, column in enumerate(head):
            table.add_column(column, justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        parts += [table, Text()]
    for note in list_notes(comparison):
        parts.append(Text(note, style="yellow" if note.startswith("UNEQUAL") else "dim"))
    return Group(*parts)


def write_report(comparison: Comparison, folder: Path = FOLDER) -> None:
    """Write the report for people, for programs and as a picture."""
    files.write_json(folder / "comparison.json", comparison.model_dump(mode="json"))
    files.write_text(folder / "comparison.md", render_markdown(comparison))
    runs = pd.json_normalize([run.model_dump(mode="json") for run in comparison.runs])
    files.write_text(folder / "comparison.csv", runs.to_csv(index=False))
    first = find_label(next(iter(comparison.signatures)))
    scores = {name: next(iter(own.values())) for name, own in comparison.scores.items()}
    draw_intervals(folder / "comparison.png", scores, label=f"{first}, 95 % interval")
