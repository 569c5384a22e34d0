"""A comparison's table for papers and for other programs: LaTeX with booktabs, and CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from statistics import fmean

from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.registered import find_label
from stages.comparison.results import Comparison, Run

MEASURES = (
    "perplexity",
    "parameters",
    "steps",
    "target_tokens",
    "train_seconds",
    "tokens_per_second",
    "sentences_per_second",
)
"""Of a run, beside its scores."""

ESCAPES = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {character: rf"\{character}" for character in "#$%&_{}"}
)
"""Special characters of LaTeX."""


def render_csv(comparison: Comparison) -> str:
    """Return a row per system, means over its seeds, and one per seed; unknown values are empty."""
    ends = ("", "_low", "_high", "_sd")
    names = [f"{metric}{end}" for metric in comparison.metrics for end in ends]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["system", "seeds", "seed", *names, *MEASURES])
    for name, runs in comparison.systems.items():
        scores = comparison.scores[name]
        spread = {metric: score.deviation for metric, score in scores.items()}
        means = [average([getattr(run, measure) for run in runs]) for measure in MEASURES]
        table.writerow([name, len(runs), "", *list_cells(scores.items(), spread), *means])
        for run in runs:
            own = [getattr(run, measure) for measure in MEASURES]
            table.writerow([name, 1, run.seed, *list_cells(run.scores.items(), {}), *own])
    return text.getvalue()


def list_cells(
    scores: Iterable[tuple[str, ScoreInterval]], spread: dict[str, float | None]
) -> Iterator[float | None]:
    """Yield score, both ends of its interval, and the standard deviation between seeds."""
    for metric, score in scores:
        yield from (score.value, score.low, score.high, spread.get(metric))


def average(values: list[float | None]) -> float | None:
    """Return the mean; None if a value is unknown."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def render_latex(comparison: Comparison) -> str:
    r"""Return a row per system, for ``\usepackage{booktabs}``; comments say what it shows."""
    several = len(comparison.seeds) > 1
    over = "seeds and sentences" if several else "sentences, of one seed"
    kinds = ["", "95 \\%"] + ["sd"] * several
    heads = [
        f"{find_label(metric)} {kind}".strip() for metric in comparison.metrics for kind in kinds
    ]
    lines = [
        f"% {comparison.command}".replace("\n", " "),
        f"% {comparison.sentences:,} test sentences; intervals over {over}",
        *(f"% {signature}" for signature in comparison.signatures.values()),
        rf"\begin{{tabular}}{{l{'r' * (len(heads) + 2)}}}",
        r"\toprule",
        render_line(["system", *heads, "perplexity", "parameters"]),
        r"\midrule",
        *(
            render_line(render_cells(name, runs, comparison, several=several))
            for name, runs in comparison.systems.items()
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*lines, ""])


def render_cells(
    name: str, runs: list[Run], comparison: Comparison, *, several: bool
) -> Iterator[str]:
    """Yield the cells of a system."""
    yield name.translate(ESCAPES)
    for score in comparison.scores[name].values():
        yield f"{score.value:.1f}"
        yield f"{score.low:.1f}--{score.high:.1f}"
        if several:
            yield f"{score.deviation:.1f}"
    yield f"{fmean(run.perplexity for run in runs):.2f}"
    yield f"{fmean(run.parameters for run in runs) / 1e6:.2f}\\,M"


def render_line(cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return " & ".join(cells) + r" \\"
