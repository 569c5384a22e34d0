"""Report of a comparison: a table, a picture, and matrices of significance.

Writes: reports/comparison/comparison.{json,md,png,csv,tex}; `--record` also docs/experiments
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from statistics import fmean

import pandas as pd
from rich.console import Group
from rich.table import Table
from rich.text import Text

from nmt_core.base import files
from nmt_core.base.progress import format_duration
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.pictures import Curve, Interval, draw_comparison
from nmt_core.evaluation.registered import find_label
from nmt_core.training.schedule import Budget
from stages import paths
from stages.comparison.results import Comparison, Outcome, Run, tabulate
from stages.reporting.markdown import render_pipe_table, replace_part

FOLDER = paths.REPORTS / "comparison"
RESULTS = Path("docs/experiments/architectures.md")
PART = "comparison"
"""The format of the report's results."""

UNEVEN = 1.2
"""Ratio of the largest to the smallest amount of training above which it is reported."""

WIDEST = 6
"""Columns of a matrix that a terminal shows side by side."""

SMALLEST_SHOWN = 0.001
"""Smaller p-values say no more."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Short names of systems."""

COSTS = ("parameters", "updates", "target tokens", "training", "tokens/s", "sentences/s")
UNITS = {"steps": "updates", "tokens": "target tokens"}
"""Labels of the limits of a budget, where they differ from the names."""


def render_heading(comparison: Comparison) -> list[str]:
    """Return the headings of the score columns."""
    return ["system", *map(find_label, comparison.metrics), "perplexity"]


def render_rows(comparison: Comparison) -> Iterator[list[str]]:
    """Yield a row per system, means over its seeds.

    Where there are several, a row per seed follows, and one with their standard deviations.
    """
    for letter, (name, runs) in zip(LETTERS, comparison.systems.items(), strict=False):
        scores = comparison.scores[name]
        yield [f"{letter}  {name}", *render_scores(scores), *render_measures(runs)]
        if len(runs) == 1:
            continue
        for run in runs:
            yield [f"   seed {run.seed}", *render_scores(run.scores), *render_measures([run])]
        spread = [format_value(score.deviation, "{:.1f}") for score in scores.values()]
        yield [f"   sd of {len(runs)} seeds", *spread, "", *("" for _ in COSTS)]


def render_scores(scores: Mapping[str, ScoreInterval]) -> list[str]:
    """Return scores with their 95 % intervals."""
    return [f"{score.value:.1f} ({score.low:.1f}–{score.high:.1f})" for score in scores.values()]


def render_measures(runs: Sequence[Run]) -> list[str]:
    """Return means of perplexity and costs; unknown if they are for any run."""
    mean = tabulate(runs).mean(numeric_only=True, skipna=False)
    return [
        format_value(mean["perplexity"], "{:.2f}"),
        format_millions(mean["parameters"]),
        format_value(mean["steps"], "{:,.0f}"),
        format_millions(mean["target_tokens"]),
        "–" if pd.isna(mean["train_seconds"]) else format_duration(mean["train_seconds"]),
        format_value(mean["tokens_per_second"], "{:,.0f}"),
        format_value(mean["sentences_per_second"], "{:,.1f}"),
    ]


def format_value(value: float | None, form: str) -> str:
    """Return a number, or a dash for an unknown one."""
    return "–" if pd.isna(value) else form.format(value)


def format_millions(count: float) -> str:
    """Return a count in millions."""
    return f"{count / 1e6:.2f} M"


def render_matrices(comparison: Comparison) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield significance matrices, of two metrics each, with titles."""
    tested = list(dict.fromkeys(pair.metric for pair in comparison.differences))
    for first in range(0, len(tested), 2):
        metrics = tested[first : first + 2]
        places = zip(metrics, ("above", "below"), strict=False)
        where = " and ".join(f"{find_label(metric)} {side} the diagonal" for metric, side in places)
        title = f"Row minus column, {where}; {describe_test(comparison)}"
        yield title, render_matrix(comparison, *metrics)


def describe_test(comparison: Comparison) -> str:
    """Describe the p-values."""
    test = (
        "Welch's t-test over seeds and sentences"
        if len(comparison.seeds) > 1
        else "paired approximate randomisation of sentences"
    )
    return f"two-sided p-values by {test}, corrected by Holm for the number of pairs"


def render_matrix(comparison: Comparison, above: str, below: str | None = None) -> list[list[str]]:
    """Return the differences between systems in one metric above the diagonal, another below it."""
    names = list(comparison.systems)
    cells = [["" for _ in names] for _ in names]
    for pair in comparison.differences:
        row, column = names.index(pair.first), names.index(pair.second)
        if pair.metric == above:
            cells[row][column] = render_difference(pair.value, pair.p_value)
        elif pair.metric == below:
            cells[column][row] = render_difference(-pair.value, pair.p_value)
    return cells


def render_difference(difference: float, p_value: float) -> str:
    """Return a difference and its p-value."""
    p = f"p = {p_value:.3f}" if p_value >= SMALLEST_SHOWN else f"p < {SMALLEST_SHOWN}"
    return f"{difference:+.1f}, {p}"


def describe_budget(budgets: dict[str, Budget]) -> str:
    """Describe the budget of every system."""
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
    """Return notes on the tables."""
    threads = sorted({run.threads for run in comparison.runs})
    said = ", ".join(str(count or "all") for count in threads)
    return [
        (
            f"{comparison.sentences:,} test sentences; {describe_budget(comparison.budgets)}; "
            f"processor threads each: {said}; parentheses hold 95 % intervals."
        ),
        describe_seeds(comparison.seeds),
        *list_unequal(comparison),
        (
            "Training is the time spent in updates. Perplexity is per token, and comparable only "
            "between systems with the same tokens."
        ),
        f"Signatures: {', '.join(comparison.signatures.values())}.",
    ]


def describe_seeds(seeds: Sequence[int]) -> str:
    """Describe the share of seeds in intervals and p-values."""
    if len(seeds) == 1:
        return (
            f"One seed ({seeds[0]}): intervals and p-values are of the choice of test sentences "
            f"alone and say nothing of other seeds, which often differ by more; SEEDS=3 would tell."
        )
    return (
        f"Means of {len(seeds)} seeds ({', '.join(map(str, seeds))}), and sd, the standard "
        f"deviation between them; intervals and p-values of systems take in the choice of seeds "
        f"and of test sentences, intervals of a seed that of sentences alone."
    )


def list_unequal(comparison: Comparison) -> Iterator[str]:
    """Yield differences in spite of equal budgets, between seeds and between systems."""
    for name, runs in comparison.systems.items():
        for what, counts in count_work(runs).items():
            if is_uneven(counts):
                yield (
                    f"UNEQUAL: seeds of {name} got from {min(counts):,} to {max(counts):,} {what}, "
                    f"so that their scores differ by that, too; other programs took the processor, "
                    f"or the text ended: STEPS or TOKENS gives all the same."
                )
                break
    for what, means in compute_mean_work(comparison).items():
        if is_uneven(means.values()):
            (least, few), (most, many) = (
                end(means.items(), key=itemgetter(1)) for end in (min, max)
            )
            yield f"UNEQUAL {what}: from {few:,.0f} of {least} to {many:,.0f} of {most}."


def count_work(runs: Sequence[Run]) -> dict[str, list[int]]:
    """Return the amounts of training of each run."""
    return {
        "updates": [run.steps for run in runs],
        "target tokens": [run.target_tokens for run in runs],
    }


def compute_mean_work(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Return the amounts of training of each system, means over its seeds."""
    work = {name: count_work(runs) for name, runs in comparison.systems.items()}
    return {
        what: {name: fmean(counts[what]) for name, counts in work.items()}
        for what in ("updates", "target tokens")
    }


def is_uneven(counts: Collection[float]) -> bool:
    """Tell whether the largest is more than a fifth above the smallest."""
    return max(counts) > UNEVEN * min(counts)


def render_markdown(comparison: Comparison) -> str:
    """Return the report as a page."""
    lines = ["```", comparison.command, "```", "", f"At commit {comparison.commit}.", ""]
    lines += render_pipe_table([*render_heading(comparison), *COSTS], render_rows(comparison))
    lines += ["", *(line for note in render_notes(comparison) for line in (note, ""))]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        names = [cell for cell, *_ in render_rows(comparison) if not cell.startswith(" ")]
        for title, matrix in render_matrices(comparison):
            body = ([name, *line] for name, line in zip(names, matrix, strict=True))
            lines += [f"{title}:", "", *render_pipe_table(["", *letters], body), ""]
    return "\n".join([*lines, "![scores and learning curves](comparison.png)", ""])


def render_report(comparison: Comparison) -> Group:
    """Return the report as a terminal of 80 columns shows it."""
    body, head = list(render_rows(comparison)), render_heading(comparison)
    systems = [line for line in body if not line[0].startswith(" ")]
    notes = render_notes(comparison)
    parts: list[Table | Text] = [
        render_plain_table(head, (line[: len(head)] for line in body)),
        Text(),
        render_plain_table(["", *COSTS], ([line[0][0], *line[len(head) :]] for line in systems)),
        Text(),
        *(Text(note, style="yellow" if note.startswith("UNEQUAL") else "dim") for note in notes),
    ]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        for title, matrix in render_matrices(comparison):
            for first in range(0, len(letters), WIDEST):
                columns = slice(first, first + WIDEST)
                named = (
                    [name, *(cell.replace(", ", "\n") for cell in line[columns])]
                    for name, line in zip(letters, matrix, strict=True)
                )
                parts += [Text(), render_plain_table(["", *letters[columns]], named)]
            parts += [Text(), Text(f"{title}.", style="dim")]
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
    files.write_text(folder / "comparison.csv", tabulate(comparison.runs).to_csv(index=False))
    table = pd.DataFrame(render_rows(comparison), columns=[*render_heading(comparison), *COSTS])
    files.write_text(folder / "comparison.tex", table.to_latex(index=False, escape=True))
    draw_results(comparison, outcomes, folder / "comparison.png")


def draw_results(comparison: Comparison, outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw scores with their intervals, and their course in training."""
    by_time = all(
        point["step"] in outcome.seconds for outcome in outcomes for point in outcome.history
    ) and all(budget.seconds is not None for budget in comparison.budgets.values())
    metric, validated_by = comparison.metrics[0], find_validation_metric(outcomes[0])
    intervals = [
        Interval(
            label=name,
            **comparison.scores[name][metric].model_dump(include={"value", "low", "high"}),
            points=[run.scores[metric].value for run in runs],
        )
        for name, runs in comparison.systems.items()
    ]
    curves = [
        Curve(
            label=outcome.run.system,
            x=[
                outcome.seconds[point["step"]] / 60 if by_time else point["target_tokens"] / 1e6
                for point in outcome.history
            ],
            y=[point["validation_scores"][validated_by] for point in outcome.history],
        )
        for outcome in outcomes
        if find_validation_metric(outcome) == validated_by
    ]
    unit = "minutes spent in updates" if by_time else "million target tokens trained on"
    over = "seeds and sentences" if len(comparison.seeds) > 1 else "sentences, of one seed"
    metrics = find_label(metric), find_label(validated_by)
    draw_comparison(path, intervals, curves, unit=unit, metrics=metrics, over=over)


def find_validation_metric(outcome: Outcome) -> str:
    """Return the metric of validation during training."""
    return next(reversed(outcome.history[0]["validation_scores"]))


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
