"""Show the pipeline's results: scores, some translations, the model's path and next commands.

Usage: python -m stages.reporting.summary
Reads:  dvc.lock, reports/, models/trained/, models/export/
"""

import shlex
from typing import Any

import yaml
from rich.console import Console, Group
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.corpora.fetch.address import redact_url
from nmt_core.evaluation.registered import find_label, find_metric_names
from stages import paths
from stages.reporting.card import describe_epochs, describe_novel
from stages.reporting.verdict import RunVerdict, read_verdict
from stages.runtime.entry import run_stage
from stages.tracking.tracker import tracking_uri


def score_table(scores: dict[str, Any]) -> Table:
    """Return all scores with their intervals and signatures."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric")
    table.add_column("score", justify="right")
    table.add_column("95 % confidence", justify="center")
    table.add_column("signature", style="dim", overflow="fold")
    for name in find_metric_names(scores):
        table.add_row(
            find_label(name),
            f"[bold green]{scores[name]:.1f}[/]",
            f"{scores[f'{name}_low']:.1f} – {scores[f'{name}_high']:.1f}",
            scores[f"{name}_signature"],
        )
    return table


def render_facts(scores: dict[str, Any], training: dict[str, Any]) -> Text:
    """Return further measurements, a line per topic."""
    measured = [
        f"{scores['sentences']:,} test sentences",
        f"perplexity {scores['perplexity']:.2f}",
        f"length ratio {scores['length_ratio']:.3f}",
        f"unknown source words {scores['source_unknown_rate']:.2%}",
    ]
    trained = [
        f"{training['steps']:,} updates",
        describe_epochs(training["epochs"]),
        f"{training['target_tokens']:,} target tokens",
        f"best at update {training['best_step']:,}",
    ]
    failed = [
        f"{count} {kind.replace('_', ' ')}" for kind, count in scores["failures"].items() if count
    ]
    lines = [", ".join(measured), ", ".join(trained)]
    if scores["novel"]:
        lines.append(describe_novel(scores))
    if failed:
        lines.append(f"unusable translations: {', '.join(failed)}")
    return Text("\n".join(lines), style="dim")


def render_verdict_lines(verdict: RunVerdict | None) -> Text:
    """Return the verdict on the run, and what to do next, a line for each remark."""
    if verdict is None:
        return Text("no verdict: scored by an earlier version; run: make repro", style="dim")
    text = Text(verdict.summary, style="bold green" if verdict.ready else "bold red")
    for remark in verdict.remarks:
        text.append(f"\n- {remark.what} ", style="" if remark.blocks else "not bold default")
        text.append(remark.advice, style="not bold dim")
    return text


def render_examples(examples: list[dict[str, str]]) -> Table:
    """Return translations beside their references."""
    table = Table(show_lines=True, header_style="bold", expand=True)
    for side, style in (("source", ""), ("translation", "green"), ("reference", "dim")):
        table.add_column(side, ratio=1, style=style)
    for example in examples:
        table.add_row(*(Text(example[name]) for name in ("source", "hypothesis", "reference")))
    return table


def render_next_steps(corpus: str, example: str) -> Table:
    """Return commands that a person may want to type now."""
    translate, runs = f".venv/bin/nmt translate --model {paths.EXPORT}", tracking_uri()
    steps = [
        ("translate", f"{translate} {shlex.quote(example)}"),
        ("alternatives", f".venv/bin/nmt explain --n-best 5 {shlex.quote(example)}"),
        ("compare runs", "make mlflow" if runs.startswith("sqlite:") else redact_url(runs)),
        ("see what it looks at", f"{paths.REPORTS}/attention/"),
    ]
    if corpus == "demo":
        steps.append(("your own text", "make repro DATA=files   (conf/data/files.yaml says how)"))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(style="bold cyan", overflow="fold")
    for purpose, command in steps:
        table.add_row(purpose, Text(command))
    return table


def main() -> None:
    """Print the summary of the newest run."""
    try:
        scores = files.read_json(paths.REPORTS / "evaluate.json")
        record = files.read_json(paths.TRAINED / "training.json")
        made = yaml.safe_load(paths.LOCK.read_text(encoding="utf-8"))["stages"]
        examples = files.read_json(paths.REPORTS / "examples.json")
    except FileNotFoundError as error:
        raise NmtError(f"{error.filename} is not there yet; run: make repro") from None
    download = made["download"]["params"][str(paths.SETTINGS)]["download"]
    languages = " → ".join(download["languages"][side] for side in paths.SIDES)
    corpus = ", ".join(download["corpora"])
    example = min((shown["source"] for shown in examples), key=len, default="...")
    size = sum(path.stat().st_size for path in paths.EXPORT.rglob("*") if path.is_file())
    Console().print(
        Panel(
            Group(
                score_table(scores),
                Text(),
                render_facts(scores, record),
                render_examples(examples),
                Text(),
                Text.assemble(
                    "model  ", (str(paths.EXPORT), "bold"), f"  ({size / 1e6:.0f} MB, sealed)"
                ),
                Text.assemble("report  ", (str(paths.REPORTS / "index.html"), "bold")),
                Rule(style="dim"),
                render_next_steps(corpus, example),
                Rule(style="dim"),
                render_verdict_lines(read_verdict(scores)),
            ),
            title=f"[bold]{languages}  {corpus}[/]",
            padding=(1, 2),
        )
    )


if __name__ == "__main__":
    run_stage(main)
