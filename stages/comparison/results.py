"""What trainings on equal terms gave, and which differences between them mean something.

Reads:  experiments that DVC keeps, and what their journals in runs/ say about time
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

import yaml
from dvc.api import DVCFileSystem

from nmt_core.config import Config
from nmt_core.errors import NmtError
from nmt_core.statistics.significance import Difference, differences
from nmt_core.training.budget import Budget
from stages import paths
from stages.tracking.journal import Journal


class ComparisonError(NmtError):
    """Systems cannot be compared."""


class Run(Config):
    """What one training gave."""

    system: str
    seed: int
    experiment: str
    fingerprint: str
    bleu: float
    bleu_low: float
    bleu_high: float
    chrf: float
    chrf_low: float
    chrf_high: float
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
    signatures: tuple[str, str]
    """Of BLEU and chrF."""
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
    bleu_signature: str
    chrf_signature: str
    budgets: dict[str, Budget]
    """What each system was allowed to spend on training."""
    runs: tuple[Run, ...]
    """Seeds of a system stand together, the best system first."""
    differences: tuple[Difference, ...]

    @property
    def systems(self) -> dict[str, list[Run]]:
        """The runs of each system, the best first."""
        return {name: list(runs) for name, runs in groupby(self.runs, key=lambda run: run.system)}


def outcome(system: str, seed: int, experiment: str, commit: str) -> Outcome:
    """Read what an experiment left, at its commit.

    Raises:
        ComparisonError: if DVC does not have it any more.
    """
    kept = DVCFileSystem(str(paths.HOME), rev=commit)
    try:
        scores, record = (
            json.loads(kept.read_text(str(path)))
            for path in (paths.METRICS / "evaluate.json", paths.TRAINED / "training.json")
        )
        table = kept.read_text(str(paths.REPORTS / "translations.tsv"))
        settings = yaml.safe_load(kept.read_text(str(paths.PARAMS)))
    except OSError:
        raise ComparisonError(
            f"the results of experiment {experiment} are not in DVC's cache any more; run: "
            f"dvc exp remove {experiment}, and compare again"
        ) from None
    _, *rows = (line.split("\t") for line in table.rstrip("\n").split("\n"))
    _, sources, references, hypotheses = map(list, zip(*rows, strict=True))
    journal = Journal(record["fingerprint"])
    params = record["params"]
    run = Run(
        system=system,
        seed=seed,
        experiment=experiment,
        fingerprint=record["fingerprint"],
        **{name: scores[name] for name in Run.model_fields if name in scores},
        **{name: record[name] for name in ("parameters", "steps", "epochs", "target_tokens")},
        threads=params["compute"]["threads"],
        train_seconds=journal.last("train/seconds"),
        sentences_per_second=journal.last("test_sentences_per_second"),
    )
    return Outcome(
        run,
        Budget.model_validate(params["budget"]),
        sources,
        references,
        hypotheses,
        (scores["bleu_signature"], scores["chrf_signature"]),
        settings["download"]["languages"]["target"],
        record["history"],
        validated_at(journal),
    )


def validated_at(journal: Journal) -> dict[int, float]:
    """Return the seconds spent in updates before each validation that the journal knows."""
    entries, _ = journal.read() if journal.path.exists() else ([], 0)
    return {
        entry["step"]: entry["values"]["train/seconds"]
        for entry in entries
        if entry["kind"] == "metrics" and {"validation/bleu", "train/seconds"} <= {*entry["values"]}
    }


def compare(outcomes: Sequence[Outcome], *, command: str, commit: str) -> Comparison:
    """Put systems in order and test every two of them.

    Raises:
        ComparisonError: if they were not tested alike.
    """
    check(outcomes)
    first = outcomes[0]
    by_system: dict[str, list[Outcome]] = {}
    for found in outcomes:
        by_system.setdefault(found.run.system, []).append(found)
    best_first = sorted(by_system, key=lambda name: -mean(by_system[name], "bleu"))
    hypotheses = {name: [run.hypotheses for run in by_system[name]] for name in best_first}
    return Comparison(
        command=command,
        commit=commit,
        sentences=len(first.references),
        bleu_signature=first.signatures[0],
        chrf_signature=first.signatures[1],
        budgets={name: by_system[name][0].budget for name in best_first},
        runs=tuple(found.run for name in best_first for found in by_system[name]),
        differences=tuple(differences(hypotheses, first.references, language=first.language)),
    )


def check(outcomes: Sequence[Outcome]) -> None:
    """Refuse numbers that mean nothing beside each other.

    Raises:
        ComparisonError: naming the two runs and what is not the same.
    """
    first, *others = outcomes
    for other in others:
        names = f"{first.run.experiment} and {other.run.experiment}"
        if (first.sources, first.references) != (other.sources, other.references):
            raise ComparisonError(
                f"{names} were tested on different sentences ({len(first.references)} and "
                f"{len(other.references)}); compare systems that share the data settings"
            )
        for one, two in zip(first.signatures, other.signatures, strict=True):
            if one != two:
                raise ComparisonError(
                    f"{names} were scored differently, {one} and {two}; compare systems that "
                    f"share the evaluate settings"
                )


def mean(outcomes: Sequence[Outcome], name: str) -> float:
    """Return the mean of a number over seeds."""
    return fmean(getattr(found.run, name) for found in outcomes)
