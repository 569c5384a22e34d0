"""Show the pipeline's results: scores, some translations, the model's path and next commands.

Usage: python -m stages.reporting.summary
Reads:  dvc.lock, reports/, models/trained/, models/export/
"""

import shlex
from collections.abc import Mapping, Sequence
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
from nmt_core.evaluation.registered import find_label
from stages import paths
from stages.reporting.card import describe_epochs, describe_novel
from stages.reporting.evaluation import Evaluation, RunVerdict
from stages.reporting.pages import write_words
from stages.runtime.entry import run_stage
from stages.tracking.tracker import tracking_uri


def score_table(evaluation: Evaluation) -> Table:
    """Return all scores with their intervals and signatures."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric")
    table.add_column("score", justify="right", style="bold green")
    table.add_column("95 % confidence", justify="center")
    table.add_column("signature", style="dim", overflow="fold")
    for name, score in evaluation.scores.items():
        interval = f"{score.low:.1f} – {score.high:.1f}"
        table.add_row(find_label(name), f"{score.value:.1f}", interval, score.signature)
    return table


def render_facts(evaluation: Evaluation, training: Mapping[str, Any]) -> Text:
    """Return further measurements, a line per topic."""
    failed = ", ".join(
        f"{count} {write_words(kind)}" for kind, count in evaluation.failures.items() if count
    )
    measured = (
        f"{evaluation.sentences:,} test sentences, perplexity {evaluation.perplexity:.2f}, "
        f"length ratio {evaluation.length_ratio:.3f}, "
        f"unknown source words {evaluation.source_unknown_rate:.2%}"
    )
    trained = (
        f"{training['steps']:,} updates, {describe_epochs(training['epochs'])}, "
        f"{training['target_tokens']:,} target tokens, best at update {training['best_step']:,}"
    )
    unusable = f"unusable translations: {failed}" if failed else ""
    lines = filter(None, [measured, trained, describe_novel(evaluation), unusable])
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


def render_examples(examples: Sequence[Mapping[str, str]]) -> Table:
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
    steps = {
        "translate": f"{translate} {shlex.quote(example)}",
        "alternatives": f".venv/bin/nmt explain --n-best 5 {shlex.quote(example)}",
        "compare runs": "make mlflow" if runs.startswith("sqlite:") else redact_url(runs),
        "see what it looks at": f"{paths.REPORTS}/attention/",
    }
    if corpus == "demo":
        steps["your own text"] = "make repro DATA=files   (conf/data/files.yaml says how)"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(style="bold cyan", overflow="fold")
    for purpose, command in steps.items():
        table.add_row(purpose, Text(command))
    return table


def main() -> None:
    """Print the summary of the newest run."""
    try:
        evaluation = Evaluation.read(paths.REPORTS / "evaluate.json")
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
    model = Text.assemble(
        "model  ", (str(paths.EXPORT), "bold"), f"  ({size / 1e6:.0f} MB, sealed)"
    )
    parts = (
        score_table(evaluation),
        Text(),
        render_facts(evaluation, record),
        render_examples(examples),
        Text(),
        model,
        Text.assemble("report  ", (str(paths.REPORTS / "index.html"), "bold")),
        Rule(style="dim"),
        render_next_steps(corpus, example),
        Rule(style="dim"),
        render_verdict_lines(evaluation.verdict),
    )
    title = f"[bold]{languages}  {corpus}[/]"
    Console().print(Panel(Group(*parts), title=title, padding=(1, 2)))


if __name__ == "__main__":
    run_stage(main)
