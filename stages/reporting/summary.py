"""Print the pipeline's results: scores, some translations, the model's path and next commands.

Usage: python -m stages.reporting.summary
Reads:  dvc.lock, reports/, models/trained/, models/export/
"""

import shlex

import yaml
from rich.console import Console
from rich.markdown import Markdown

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.corpora.fetch.address import redact_url
from stages import paths
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import render_template
from stages.runtime.entry import run_stage
from stages.tracking.tracker import tracking_uri


def main() -> None:
    """Print the summary of the newest run; the verdict comes last."""
    try:
        evaluation = Evaluation.read(paths.REPORTS / "evaluate.json")
        record = files.read_json(paths.TRAINED / "training.json")
        locked_stages = yaml.safe_load(paths.LOCK.read_text(encoding="utf-8"))["stages"]
        examples = files.read_json(paths.REPORTS / "examples.json")
    except FileNotFoundError as error:
        raise NmtError(f"{error.filename} is missing; run: make repro") from None
    download = locked_stages["download"]["params"][str(paths.SETTINGS)]["download"]
    runs = tracking_uri()
    text = render_template(
        "summary.md",
        evaluation=evaluation,
        record=record,
        examples=examples,
        languages=", ".join(evaluation.directions)
        or " → ".join(download["languages"][side] for side in paths.SIDES),
        corpora=[*download["corpora"]],
        export=paths.EXPORT,
        reports=paths.REPORTS,
        bytes=sum(path.stat().st_size for path in paths.EXPORT.rglob("*") if path.is_file()),
        example=shlex.quote(min((shown["source"] for shown in examples), key=len, default="...")),
        runs="make mlflow" if runs.startswith("sqlite:") else redact_url(runs),
    )
    console = Console()
    console.print(Markdown(text))
    if verdict := evaluation.verdict:
        console.print(verdict.summary, style="bold green" if verdict.ready else "bold red")


if __name__ == "__main__":
    run_stage(main)
