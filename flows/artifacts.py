"""Artifacts of a run in Prefect's UI: its verdict, scores and translations."""

from collections.abc import Iterable, Mapping
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from nmt_core.base import files
from nmt_core.evaluation.registered import find_label
from stages import paths
from stages.reporting.evaluation import Evaluation, RunVerdict
from stages.reporting.pages import render_pipe_table

SCORES = paths.REPORTS / "evaluate.json"
EXAMPLES = paths.REPORTS / "examples.json"


def publish() -> None:
    """Publish the outputs of stages so far as artifacts of the flow run."""
    if SCORES.exists():
        evaluation = Evaluation.read(SCORES)
        signatures = (
            f"- {find_label(name)}: `{score.signature}`"
            for name, score in evaluation.scores.items()
        )
        create_table_artifact(
            render_scores(evaluation),
            key="scores",
            description="\n".join([f"{evaluation.sentences:,} test sentences", "", *signatures]),
        )
        if evaluation.verdict:
            create_markdown_artifact(
                render_report(evaluation.verdict), key="report", description="Ready or not, and why"
            )
    if EXAMPLES.exists():
        create_markdown_artifact(
            render_translations(files.read_json(EXAMPLES)),
            key="translations",
            description="Translations of test sentences, drawn at random",
        )


def render_scores(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a row for each score, with its interval, and for invalid translations."""
    rows = [
        {
            "score": find_label(name),
            "value": round(score.value, 1),
            "95 %": f"{score.low:.1f} to {score.high:.1f}",
        }
        for name, score in evaluation.scores.items()
    ]
    failed = evaluation.failures
    kinds = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in failed.items())
    return [
        *rows,
        {"score": "perplexity", "value": round(evaluation.perplexity, 2), "95 %": ""},
        {"score": f"unusable translations: {kinds}", "value": sum(failed.values()), "95 %": ""},
    ]


def render_report(verdict: RunVerdict) -> str:
    """Return the verdict in Markdown; the report itself is with the run in MLflow."""
    remarks = (
        f"- **{escape_cell(remark.what)}** {escape_cell(remark.advice)}"
        for remark in verdict.remarks
    )
    page = f"All of it: `{paths.REPORTS / 'index.html'}`, and index.html of the run in MLflow."
    return "\n".join([f"**{escape_cell(verdict.summary)}**", "", *remarks, "", page])


def render_translations(examples: Iterable[Mapping[str, str]]) -> str:
    """Return translations beside their references as a table in Markdown."""
    names = ("source", "hypothesis", "reference")
    rows = ([escape_cell(example[name]) for name in names] for example in examples)
    return "\n".join(render_pipe_table([*names], rows, numbers="---"))


def escape_cell(text: str) -> str:
    """Return text that Markdown and HTML take as it is."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\")
    return escaped.replace("|", "\\|").replace("\n", " ")
