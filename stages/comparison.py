"""What trainings on equal terms gave: one table, one picture, and which differences mean something.

Reads:  experiments that DVC keeps, and what their journals in runs/ say about time
Writes: reports/comparison/comparison.{json,md,png}; docs/results.md, if asked
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from dvc.api import DVCFileSystem
from rich.console import Group
from rich.table import Table
from rich.text import Text

from nmt_core import files
from nmt_core.config import Config
from nmt_core.errors import NmtError
from nmt_core.evaluation.pictures import Curve, Interval, draw_comparison
from nmt_core.evaluation.significance import Difference, differences
from nmt_core.training.budget import Budget
from stages import paths
from stages.journal import Journal

FOLDER = paths.REPORTS / "comparison"
RESULTS = Path("docs/results.md")
BEGIN, END = "<!-- comparison: begin -->", "<!-- comparison: end -->"

SMALLEST_SHOWN = 0.001
"""Smaller p-values say no more."""


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
        sentences_per_second=journal.last("test/sentences_per_second"),
    )
    return Outcome(
        run,
        Budget.model_validate(params["budget"]),
        sources,
        references,
        hypotheses,
        (scores["bleu_signature"], scores["chrf_signature"]),
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
        differences=tuple(differences(hypotheses, first.references)),
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


COLUMNS = (
    "system",
    "BLEU",
    "chrF",
    "perplexity",
    "parameters",
    "updates",
    "target tokens",
    "training",
    "tokens/s",
    "sentences/s",
)


def rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a row per system, means over its seeds, and below it one per seed if there are more.

    The interval of a mean is the mean of the intervals, which is no narrower than its own.
    """
    for letter, (name, runs) in zip(LETTERS, comparison.systems.items(), strict=False):
        yield cells(f"{letter}  {name}", runs)
        if len(runs) > 1:
            yield from (cells(f"   seed {run.seed}", [run]) for run in runs)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What systems are called where there is little room."""


def cells(label: str, runs: Sequence[Run]) -> tuple[str, ...]:
    """Return a row of the table."""

    def average(name: str) -> float | None:
        values = [getattr(run, name) for run in runs]
        return None if None in values else fmean(values)

    return (
        label,
        interval(*(average(name) or 0.0 for name in ("bleu", "bleu_low", "bleu_high"))),
        interval(*(average(name) or 0.0 for name in ("chrf", "chrf_low", "chrf_high"))),
        number(average("perplexity"), "{:.2f}"),
        millions(average("parameters")),
        number(average("steps"), "{:,.0f}"),
        millions(average("target_tokens")),
        duration(average("train_seconds")),
        number(average("tokens_per_second"), "{:,.0f}"),
        number(average("sentences_per_second"), "{:,.1f}"),
    )


def interval(value: float, low: float, high: float) -> str:
    """Return a score with its 95 % interval."""
    return f"{value:.1f} ({low:.1f}–{high:.1f})"


def number(value: float | None, form: str) -> str:
    """Return a number, or a dash for one that nobody knows."""
    return "–" if value is None else form.format(value)


def millions(count: float | None) -> str:
    """Return a count in millions."""
    return "–" if count is None else f"{count / 1e6:.2f} M"


def duration(seconds: float | None) -> str:
    """Return minutes and seconds."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def matrix(comparison: Comparison) -> list[list[str]]:
    """Return who is better than whom: BLEU above the diagonal, chrF below it."""
    names = list(comparison.systems)
    found = {(pair.metric, pair.first, pair.second): pair for pair in comparison.differences}
    table = []
    for row, first in enumerate(names):
        line = []
        for column, second in enumerate(names):
            if row == column:
                line.append("")
                continue
            pair = (
                found["BLEU", first, second] if row < column else found["chrF2", second, first]
            )
            sign = 1 if row < column else -1
            line.append(verdict(sign * pair.value, pair.randomization_holm))
        table.append(line)
    return table


def verdict(difference: float, p_value: float) -> str:
    """Return a difference and how probable one as large is by chance."""
    p = f"p = {p_value:.3f}" if p_value >= SMALLEST_SHOWN else f"p < {SMALLEST_SHOWN}"
    return f"{difference:+.1f}, {p}"


def budget_in_words(budgets: dict[str, Budget]) -> str:
    """Return what every system was allowed to spend."""
    words = {
        name: " or ".join(
            f"{limit:,.0f} {unit}"
            for unit, limit in budget.model_dump().items()
            if limit is not None
        )
        for name, budget in budgets.items()
    }
    if len(set(words.values())) == 1:
        return f"equal budgets of {next(iter(words.values()))}"
    return "budgets that are not equal: " + ", ".join(f"{n} {w}" for n, w in words.items())


def notes(comparison: Comparison) -> list[str]:
    """Return what one must know to read the tables."""
    threads = sorted({run.threads for run in comparison.runs})
    said = ", ".join(str(count or "all") for count in threads)
    return [
        (
            f"{comparison.sentences:,} test sentences; {budget_in_words(comparison.budgets)}; "
            f"{said} processor threads each; parentheses hold 95 % intervals."
        ),
        (
            "Training is the time spent in updates. Perplexity is per token, and comparable only "
            "between systems with the same tokens."
        ),
        f"Signatures: {comparison.bleu_signature}, {comparison.chrf_signature}.",
    ]


MATRIX_TITLE = (
    "Row minus column, BLEU above the diagonal and chrF below it; p-values by paired approximate "
    "randomisation, corrected by Holm for the number of pairs"
)


def markdown(comparison: Comparison) -> str:
    """Return the report as a page."""
    lines = ["```", comparison.command, "```", "", f"At commit {comparison.commit}.", ""]
    lines += pipe_table(COLUMNS, rows(comparison))
    lines += ["", *(line for note in notes(comparison) for line in (note, "")), ""][:-1]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        labels = [cell for cell, *_ in rows(comparison) if not cell.startswith(" ")]
        table = ([label, *line] for label, line in zip(labels, matrix(comparison), strict=True))
        lines += [f"{MATRIX_TITLE}:", "", *pipe_table(["", *letters], table), ""]
    return "\n".join([*lines, "![BLEU and learning curves](comparison.png)", ""])


def pipe_table(head: Sequence[str], body: Iterator[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown, numbers to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]


def shown(comparison: Comparison) -> Group:
    """Return the report as a terminal shows it."""
    table = Table(box=None, pad_edge=False, header_style="bold", title="Systems on equal terms")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "system" else "right")
    for cells in rows(comparison):
        broken = (cell.replace(" (", "\n(") for cell in cells)
        table.add_row(*broken, style="dim" if cells[0].startswith(" ") else "")
    parts: list[Table | Text] = [table, *(Text(note, style="dim") for note in notes(comparison))]
    if len(comparison.systems) > 1:
        chances = Table(box=None, pad_edge=False, header_style="bold", title=MATRIX_TITLE)
        chances.add_column("")
        for letter in LETTERS[: len(comparison.systems)]:
            chances.add_column(letter, justify="right")
        for letter, line in zip(LETTERS, matrix(comparison), strict=False):
            chances.add_row(letter, *(cell.replace(", ", "\n") for cell in line))
        parts += [Text(), chances]
    return Group(*parts)


def write(comparison: Comparison, outcomes: Sequence[Outcome], folder: Path = FOLDER) -> None:
    """Write the report for people, for programs, and as a picture."""
    files.write_json(folder / "comparison.json", comparison.model_dump(mode="json"))
    files.write_text(folder / "comparison.md", markdown(comparison))
    draw(comparison, outcomes, folder / "comparison.png")


def draw(comparison: Comparison, outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw scores with their intervals, and how they were come by."""
    by_time = all(
        point["step"] in found.seconds for found in outcomes for point in found.history
    ) and all(budget.seconds is not None for budget in comparison.budgets.values())
    systems = comparison.systems
    intervals = [
        Interval(
            label=name,
            value=fmean(run.bleu for run in runs),
            low=fmean(run.bleu_low for run in runs),
            high=fmean(run.bleu_high for run in runs),
            points=[run.bleu for run in runs],
        )
        for name, runs in systems.items()
    ]
    curves = [
        Curve(
            label=found.run.system,
            x=[
                found.seconds[point["step"]] / 60 if by_time else point["target_tokens"] / 1e6
                for point in found.history
            ],
            y=[point["validation_bleu"] for point in found.history],
        )
        for found in outcomes
    ]
    unit = "minutes spent in updates" if by_time else "million target tokens trained on"
    draw_comparison(path, intervals, curves, unit=unit)


def record(comparison: Comparison, *, results: Path = RESULTS, folder: Path = FOLDER) -> None:
    """Put the report between its markers in the results, at the end if there are none yet."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    before, _, rest = text.partition(BEGIN)
    _, marked, after = rest.partition(END)
    heading = "" if marked else "\n## Architectures on equal terms\n\n"
    between = markdown(comparison)
    files.write_text(results, f"{before}{heading}{BEGIN}\n{between}{END}{after or chr(10)}")
    with files.whole_file(results.parent / "comparison.png") as part:
        part.write_bytes((folder / "comparison.png").read_bytes())
