"""A comparison as people read it: one table, one picture, and matrices of what is significant.

Writes: reports/comparison/comparison.{json,md,png}; docs/results.md, if asked
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Group
from rich.table import Table
from rich.text import Text

from nmt_core import files
from nmt_core.evaluation.metrics.registered import find_label
from nmt_core.evaluation.pictures import Curve, Interval, draw_comparison
from nmt_core.progress import format_duration
from nmt_core.training.budget import Budget
from stages import paths
from stages.comparison.results import Comparison, Outcome, tabulate
from stages.reporting.markdown import render_pipe_table, replace_part

FOLDER = paths.REPORTS / "comparison"
RESULTS = Path("docs/results.md")
PART = "comparison"
"""Of the results, which the report is."""

SMALLEST_SHOWN = 0.001
"""Smaller p-values say no more."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What systems are called where there is little room."""

COSTS = ("parameters", "updates", "target tokens", "training", "tokens/s", "sentences/s")
UNITS = {"steps": "updates", "tokens": "target tokens"}
"""What the report calls the limits of a budget, where it is not their own name."""


def render_heading(comparison: Comparison) -> list[str]:
    """Return what is above the columns that say how good systems are."""
    return ["system", *map(find_label, comparison.metrics), "perplexity"]


def render_rows(comparison: Comparison) -> Iterator[list[str]]:
    """Yield a row per system, means over its seeds, and below it one per seed if there are more.

    The interval of a mean is the mean of the intervals, which is no narrower than its own.
    """
    runs = tabulate(comparison.runs)
    for letter, (name, seeds) in zip(LETTERS, runs.groupby("system", sort=False), strict=False):
        yield cells(f"{letter}  {name}", comparison, seeds)
        if len(seeds) > 1:
            for number, run in seeds.groupby("seed", sort=False):
                yield cells(f"   seed {number}", comparison, run)


def cells(name: str, comparison: Comparison, runs: pd.DataFrame) -> list[str]:
    """Return a row of the table; what is not known of all runs is not known of their mean."""
    mean = runs.mean(numeric_only=True, skipna=False)
    return [
        name,
        *(
            format_interval(*(mean[f"scores.{metric}.{end}"] for end in ("value", "low", "high")))
            for metric in comparison.metrics
        ),
        format_value(mean["perplexity"], "{:.2f}"),
        format_millions(mean["parameters"]),
        format_value(mean["steps"], "{:,.0f}"),
        format_millions(mean["target_tokens"]),
        "–" if pd.isna(mean["train_seconds"]) else format_duration(mean["train_seconds"]),
        format_value(mean["tokens_per_second"], "{:,.0f}"),
        format_value(mean["sentences_per_second"], "{:,.1f}"),
    ]


def format_interval(value: float, low: float, high: float) -> str:
    """Return a score with its 95 % interval."""
    return f"{value:.1f} ({low:.1f}–{high:.1f})"


def format_value(value: float, form: str) -> str:
    """Return a number, or a dash for one that nobody knows."""
    return "–" if pd.isna(value) else form.format(value)


def format_millions(count: float) -> str:
    """Return a count in millions."""
    return f"{count / 1e6:.2f} M"


def render_matrices(comparison: Comparison) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield who is better than whom, two metrics at a time, each with its title."""
    tested = list(dict.fromkeys(pair.metric for pair in comparison.differences))
    for first in range(0, len(tested), 2):
        metrics = tested[first : first + 2]
        places = zip(metrics, ("above", "below"), strict=False)
        where = " and ".join(
            f"{find_label(metric)} {place} the diagonal" for metric, place in places
        )
        yield f"Row minus column, {where}; {TESTED}", render_matrix(comparison, *metrics)


def render_matrix(comparison: Comparison, above: str, below: str | None = None) -> list[list[str]]:
    """Return the differences between systems in one metric above the diagonal, another below it."""
    names = list(comparison.systems)
    cells = [["" for _ in names] for _ in names]
    for pair in comparison.differences:
        row, column = names.index(pair.first), names.index(pair.second)
        if pair.metric == above:
            cells[row][column] = render_difference(pair.value, pair.randomization_holm)
        elif pair.metric == below:
            cells[column][row] = render_difference(-pair.value, pair.randomization_holm)
    return cells


def render_difference(difference: float, p_value: float) -> str:
    """Return a difference and how probable one as large is by chance."""
    p = f"p = {p_value:.3f}" if p_value >= SMALLEST_SHOWN else f"p < {SMALLEST_SHOWN}"
    return f"{difference:+.1f}, {p}"


def describe_budget(budgets: dict[str, Budget]) -> str:
    """Return what every system was allowed to spend."""
    words = {
        name: " or ".join(
            f"{limit:,.0f} {UNITS.get(unit, unit)}"
            for unit, limit in budget.model_dump().items()
            if limit is not None
        )
        for name, budget in budgets.items()
    }
    if len(set(words.values())) == 1:
        return f"equal budgets of {next(iter(words.values()))}"
    return "budgets that are not equal: " + ", ".join(f"{n} {w}" for n, w in words.items())


def render_notes(comparison: Comparison) -> list[str]:
    """Return what one must know to read the tables."""
    threads = sorted({run.threads for run in comparison.runs})
    said = ", ".join(str(count or "all") for count in threads)
    return [
        (
            f"{comparison.sentences:,} test sentences; {describe_budget(comparison.budgets)}; "
            f"processor threads each: {said}; parentheses hold 95 % intervals."
        ),
        (
            "Training is the time spent in updates. Perplexity is per token, and comparable only "
            "between systems with the same tokens."
        ),
        f"Signatures: {', '.join(comparison.signatures.values())}.",
    ]


TESTED = (
    "two-sided p-values by paired approximate randomisation, corrected by Holm for the number of "
    "pairs"
)


def render_markdown(comparison: Comparison) -> str:
    """Return the report as a page."""
    lines = ["```", comparison.command, "```", "", f"At commit {comparison.commit}.", ""]
    lines += render_pipe_table([*render_heading(comparison), *COSTS], render_rows(comparison))
    lines += ["", *(line for note in render_notes(comparison) for line in (note, ""))]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        names = [cell for cell, *_ in render_rows(comparison) if not cell.startswith(" ")]
        for title, found in render_matrices(comparison):
            body = ([name, *line] for name, line in zip(names, found, strict=True))
            lines += [f"{title}:", "", *render_pipe_table(["", *letters], body), ""]
    return "\n".join([*lines, "![scores and learning curves](comparison.png)", ""])


def render_report(comparison: Comparison) -> Group:
    """Return the report as a terminal of 80 columns shows it."""
    body, head = list(render_rows(comparison)), render_heading(comparison)
    systems = [line for line in body if not line[0].startswith(" ")]
    parts: list[Table | Text] = [
        render_plain_table(head, (line[: len(head)] for line in body)),
        Text(),
        render_plain_table(["", *COSTS], ([line[0][0], *line[len(head) :]] for line in systems)),
        Text(),
        *(Text(note, style="dim") for note in render_notes(comparison)),
    ]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        for title, found in render_matrices(comparison):
            lines = [[cell.replace(", ", "\n") for cell in line] for line in found]
            named = ([name, *line] for name, line in zip(letters, lines, strict=True))
            matrix_table = render_plain_table(["", *letters], named)
            parts += [Text(), matrix_table, Text(), Text(f"{title}.", style="dim")]
    return Group(*parts)


def render_plain_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> Table:
    """Return a table without lines, numbers to the right, seeds less prominent."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(head):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for line in body:
        table.add_row(*line, style="dim" if line[0].startswith(" ") else "")
    return table


def write_report(
    comparison: Comparison, outcomes: Sequence[Outcome], folder: Path = FOLDER
) -> None:
    """Write the report for people, for programs, and as a picture."""
    files.write_json(folder / "comparison.json", comparison.model_dump(mode="json"))
    files.write_text(folder / "comparison.md", render_markdown(comparison))
    draw_results(comparison, outcomes, folder / "comparison.png")


def draw_results(comparison: Comparison, outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw scores with their intervals, and how they were come by."""
    by_time = all(
        point["step"] in found.seconds for found in outcomes for point in found.history
    ) and all(budget.seconds is not None for budget in comparison.budgets.values())
    metric, validated_by = comparison.metrics[0], find_validation_metric(outcomes[0])
    places = {end: f"scores.{metric}.{end}" for end in ("value", "low", "high")}
    intervals = [
        Interval(
            label=str(name),
            **{end: runs[place].mean() for end, place in places.items()},
            points=runs[places["value"]].to_list(),
        )
        for name, runs in tabulate(comparison.runs).groupby("system", sort=False)
    ]
    curves = [
        Curve(
            label=found.run.system,
            x=[
                found.seconds[point["step"]] / 60 if by_time else point["target_tokens"] / 1e6
                for point in found.history
            ],
            y=[point["validation_scores"][validated_by] for point in found.history],
        )
        for found in outcomes
        if find_validation_metric(found) == validated_by
    ]
    unit = "minutes spent in updates" if by_time else "million target tokens trained on"
    draw_comparison(
        path, intervals, curves, unit=unit, metrics=(find_label(metric), find_label(validated_by))
    )


def find_validation_metric(outcome: Outcome) -> str:
    """Return by which metric translations were scored while a model was trained."""
    return next(iter(outcome.history[0]["validation_scores"]))


def record_results(
    comparison: Comparison, *, results: Path = RESULTS, folder: Path = FOLDER
) -> None:
    """Put the report between its markers in the results, at the end if there are none yet."""
    page = results.read_text(encoding="utf-8") if results.exists() else ""
    heading = "\n## Architectures on equal terms\n\n"
    part = render_markdown(comparison)
    files.write_text(results, replace_part(page, PART, part, heading=heading))
    with files.whole_file(results.parent / "comparison.png") as picture:
        picture.write_bytes((folder / "comparison.png").read_bytes())
