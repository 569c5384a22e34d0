"""A comparison as people read it: one table, one picture, and a matrix of what is significant.

Writes: reports/comparison/comparison.{json,md,png}; docs/results.md, if asked
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Group
from rich.table import Table
from rich.text import Text

from nmt_core import files
from nmt_core.evaluation.pictures import Curve, Interval, draw_comparison
from nmt_core.training.budget import Budget
from stages import paths
from stages.comparison.results import Comparison, Outcome, Run

FOLDER = paths.REPORTS / "comparison"
RESULTS = Path("docs/results.md")
BEGIN, END = "<!-- comparison: begin -->", "<!-- comparison: end -->"

SMALLEST_SHOWN = 0.001
"""Smaller p-values say no more."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What systems are called where there is little room."""

SCORES = ("system", "BLEU", "chrF", "perplexity")
COSTS = ("parameters", "updates", "target tokens", "training", "tokens/s", "sentences/s")
UNITS = {"steps": "updates", "tokens": "target tokens"}
"""What the report calls the limits of a budget, where it is not their own name."""


def rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a row per system, means over its seeds, and below it one per seed if there are more.

    The interval of a mean is the mean of the intervals, which is no narrower than its own.
    """
    for letter, (name, runs) in zip(LETTERS, comparison.systems.items(), strict=False):
        yield cells(f"{letter}  {name}", runs)
        if len(runs) > 1:
            yield from (cells(f"   seed {run.seed}", [run]) for run in runs)


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
            pair = found["BLEU", first, second] if row < column else found["chrF2", second, first]
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
            f"{limit:,.0f} {UNITS.get(unit, unit)}"
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
            f"processor threads each: {said}; parentheses hold 95 % intervals."
        ),
        (
            "Training is the time spent in updates. Perplexity is per token, and comparable only "
            "between systems with the same tokens."
        ),
        f"Signatures: {comparison.bleu_signature}, {comparison.chrf_signature}.",
    ]


MATRIX_TITLE = (
    "Row minus column, BLEU above the diagonal and chrF below it; two-sided p-values by paired "
    "approximate randomisation, corrected by Holm for the number of pairs"
)


def markdown(comparison: Comparison) -> str:
    """Return the report as a page."""
    lines = ["```", comparison.command, "```", "", f"At commit {comparison.commit}.", ""]
    lines += pipe_table((*SCORES, *COSTS), rows(comparison))
    lines += ["", *(line for note in notes(comparison) for line in (note, ""))]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        labels = [cell for cell, *_ in rows(comparison) if not cell.startswith(" ")]
        table = ([label, *line] for label, line in zip(labels, matrix(comparison), strict=True))
        lines += [f"{MATRIX_TITLE}:", "", *pipe_table(["", *letters], table), ""]
    return "\n".join([*lines, "![BLEU and learning curves](comparison.png)", ""])


def pipe_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown, numbers to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]


def shown(comparison: Comparison) -> Group:
    """Return the report as a terminal of 80 columns shows it."""
    body = list(rows(comparison))
    systems = [line for line in body if not line[0].startswith(" ")]
    parts: list[Table | Text] = [
        plain_table(SCORES, (line[: len(SCORES)] for line in body)),
        Text(),
        plain_table(("", *COSTS), ((line[0][0], *line[len(SCORES) :]) for line in systems)),
        Text(),
        *(Text(note, style="dim") for note in notes(comparison)),
    ]
    if len(comparison.systems) > 1:
        letters = LETTERS[: len(comparison.systems)]
        lines = [[cell.replace(", ", "\n") for cell in line] for line in matrix(comparison)]
        table = plain_table(
            ["", *letters], ([name, *line] for name, line in zip(letters, lines, strict=True))
        )
        parts += [Text(), table, Text(), Text(f"{MATRIX_TITLE}.", style="dim")]
    return Group(*parts)


def plain_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> Table:
    """Return a table without lines, numbers to the right, seeds less prominent."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(head):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for line in body:
        table.add_row(*line, style="dim" if line[0].startswith(" ") else "")
    return table


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
