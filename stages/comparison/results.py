"""Results of trainings on equal terms, and the significance of their differences.

Reads:  experiments that DVC keeps, and the times in their journals in runs/
"""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist, fmean, stdev
from typing import Any

import pandas as pd
from dvc.api import DVCFileSystem

from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.packages import name_program
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.registered import METRICS
from nmt_core.evaluation.statistics.seeds import VarianceSource, compute_t_interval, measure_seeds
from nmt_core.evaluation.statistics.significance import Difference, compare_all
from nmt_core.training.schedule import Budget
from stages import paths
from stages.reporting.evaluation import Evaluation
from stages.runtime.params_file import ParamsLoader
from stages.tracking.evaluation import name_evaluation
from stages.tracking.journal import Journal

NORMAL_95 = NormalDist().inv_cdf(0.975)
"""Standard errors in half of a 95 % interval."""


class ComparisonError(NmtError):
    """Systems cannot be compared."""


class SystemScore(ScoreInterval):
    """The mean over a system's seeds; its interval takes in seeds where there are several."""

    deviation: float | None = None
    """Standard deviation between seeds; none of one seed."""


class Run(Config):
    """The result of one training."""

    system: str
    seed: int
    experiment: str
    fingerprint: str
    scores: dict[str, ScoreInterval]
    """Of the test set, by the name of the metric; the most important one is first."""
    perplexity: float
    """Of the test references, per token of the system's own."""
    parameters: int
    steps: int
    epochs: int
    target_tokens: int
    threads: int
    """Of training; 0 for all."""
    train_seconds: float | None
    """Time spent in updates; unknown without the journal, as is the speed of translation."""
    sentences_per_second: float | None
    """Of translating the test set, as the settings of the evaluation say."""

    @property
    def tokens_per_second(self) -> float | None:
        """Target tokens trained on in a second."""
        return self.target_tokens / self.train_seconds if self.train_seconds else None


@dataclass(frozen=True)
class Outcome:
    """A run with its translations and its learning curve."""

    run: Run
    budget: Budget
    sources: list[str]
    references: list[str]
    hypotheses: list[str]
    signatures: dict[str, str]
    """How each metric was computed."""
    language: str
    """Code of the target language."""
    history: list[dict[str, Any]]
    seconds: dict[int, float]
    """Time spent in updates by the step of each validation, as far as it is known."""


class Comparison(Config):
    """All there is to say about systems trained on equal terms."""

    command: str
    commit: str
    sentences: int
    signatures: dict[str, str]
    """How each metric was computed; systems are in the order of the first."""
    budgets: dict[str, Budget]
    """The budget of each system's training."""
    scores: dict[str, dict[str, SystemScore]]
    """By system and metric; the best system is first."""
    runs: tuple[Run, ...]
    """Seeds of a system stand together, the best system first."""
    differences: tuple[Difference, ...]

    @property
    def metrics(self) -> list[str]:
        """The metrics, the most important first."""
        return list(self.signatures)

    @property
    def systems(self) -> dict[str, list[Run]]:
        """The runs of each system, the best first."""
        return {name: list(runs) for name, runs in groupby(self.runs, key=lambda run: run.system)}

    @property
    def seeds(self) -> list[int]:
        """The seeds of each system."""
        return list(dict.fromkeys(run.seed for run in self.runs))


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
        table = repository.read_text(str(paths.REPORTS / "translations.tsv"))
        settings = ParamsLoader(repository.read_text(str(paths.PARAMS))).get_single_data()
    except OSError:
        raise ComparisonError(
            f"the results of experiment {experiment} are not in DVC's cache any more; run: "
            f"{name_program('dvc')} exp remove {experiment}, and compare again"
        ) from None
    evaluation = Evaluation.parse(scores)
    text = read_translations(table)
    journal = Journal(record["fingerprint"])
    evaluated = Journal(name_evaluation(record["fingerprint"], settings))
    params = record["params"]
    run = Run(
        system=system,
        seed=seed,
        experiment=experiment,
        fingerprint=record["fingerprint"],
        scores={name: score.interval for name, score in evaluation.scores.items()},
        perplexity=evaluation.perplexity,
        **{name: record[name] for name in ("parameters", "steps", "epochs", "target_tokens")},
        threads=params["compute"]["threads"],
        train_seconds=journal.last("train/seconds"),
        sentences_per_second=evaluated.last("test_sentences_per_second"),
    )
    return Outcome(
        run,
        Budget.model_validate(params["budget"]),
        list(text["source"]),
        list(text["reference"]),
        list(text["hypothesis"]),
        {name: score.signature for name, score in evaluation.scores.items()},
        settings["download"]["languages"]["target"],
        record["history"],
        read_validation_times(journal),
    )


def read_translations(text: str) -> pd.DataFrame:
    """Parse ``translations.tsv`` of ``evaluate``, a row per sentence."""
    return pd.read_csv(
        io.StringIO(text),
        sep="\t",
        dtype=str,
        keep_default_na=False,
        quoting=csv.QUOTE_NONE,
        skip_blank_lines=False,
        lineterminator="\n",
    )


def read_validation_times(journal: Journal) -> dict[int, float]:
    """Return the seconds spent in updates before each validation that the journal knows."""
    entries, _ = journal.read() if journal.path.exists() else ([], 0)
    return {
        entry["step"]: entry["values"]["train/seconds"]
        for entry in entries
        if entry["kind"] == "metrics" and {"validation/loss", "train/seconds"} <= {*entry["values"]}
    }


def compare_outcomes(outcomes: Sequence[Outcome], *, command: str, commit: str) -> Comparison:
    """Put systems in order and test every two of them.

    Raises:
        ComparisonError: if they were not tested alike.
    """
    check_comparable(outcomes)
    first = outcomes[0]
    by_system: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_system.setdefault(outcome.run.system, []).append(outcome)
    best_first = find_best(outcomes)
    hypotheses = {name: [run.hypotheses for run in by_system[name]] for name in best_first}
    return Comparison(
        command=command,
        commit=commit,
        sentences=len(first.references),
        signatures=first.signatures,
        budgets={name: by_system[name][0].budget for name in best_first},
        scores={
            name: summarize_scores(
                [outcome.run for outcome in by_system[name]], len(first.references)
            )
            for name in best_first
        },
        runs=tuple(outcome.run for name in best_first for outcome in by_system[name]),
        differences=tuple(
            compare_all(
                hypotheses,
                first.references,
                first.sources,
                metrics=list(first.signatures),
                language=first.language,
            )
        ),
    )


def summarize_scores(runs: Sequence[Run], sentences: int) -> dict[str, SystemScore]:
    """Return a system's scores, means over its seeds, by metric.

    The part of sentences in a mean's variance is taken as the mean of their part in each seed's
    variance, an upper bound: as if all seeds failed on the same sentences.

    Args:
        runs: of the system, a seed each.
        sentences: of the test set.
    """
    return {
        metric: average_scores([run.scores[metric] for run in runs], sentences)
        for metric in runs[0].scores
    }


def average_scores(scores: Sequence[ScoreInterval], sentences: int) -> SystemScore:
    """Return the mean of the scores of seeds, with its interval."""
    if len(scores) == 1:
        return SystemScore(**scores[0].model_dump())
    values = [score.value for score in scores]
    errors = [(score.high - score.low) / 2 / NORMAL_95 for score in scores]
    by_sentences = VarianceSource(fmean(error**2 for error in errors), max(1, sentences - 1))
    low, high = compute_t_interval(fmean(values), [by_sentences, measure_seeds(values)])
    return SystemScore(value=fmean(values), low=max(0.0, low), high=high, deviation=stdev(values))


def check_comparable(outcomes: Sequence[Outcome]) -> None:
    """Refuse runs that cannot be compared.

    Raises:
        ComparisonError: naming the two runs and the difference.
    """
    first, *others = outcomes
    for other in others:
        names = f"{first.run.experiment} and {other.run.experiment}"
        if (first.sources, first.references) != (other.sources, other.references):
            raise ComparisonError(
                f"{names} were tested on different sentences ({len(first.references)} and "
                f"{len(other.references)}); compare systems that share the data settings"
            )
        if list(first.signatures.items()) != list(other.signatures.items()):
            ours, theirs = (", ".join(outcome.signatures.values()) for outcome in (first, other))
            raise ComparisonError(
                f"{names} were scored differently, {ours} and {theirs}; compare systems that share "
                f"the evaluate settings"
            )


def tabulate(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row per run; the columns of scores are called as in ``scores.bleu.low``."""
    rows = [run.model_dump() | {"tokens_per_second": run.tokens_per_second} for run in runs]
    unknown = dict.fromkeys(["train_seconds", "tokens_per_second", "sentences_per_second"], float)
    return pd.json_normalize(rows).astype(unknown)


def find_best(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the systems, the best first: by the mean over seeds in the first metric."""
    metric = next(iter(outcomes[0].signatures))
    scores = tabulate([outcome.run for outcome in outcomes])
    means = scores.groupby("system", sort=False)[f"scores.{metric}.value"].mean()
    lowest_first = not METRICS.load(metric).higher_is_better
    return list(means.sort_values(ascending=lowest_first, kind="stable").index)
