"""Metrics and plots that DVC shows for the project's own dvc.yaml."""

import subprocess
import sys

import pytest
import yaml

from nmt_core.base import files
from stages import paths
from stages.reporting.evaluation import Evaluation
from stages.reporting.measures import write_plots
from tests.support.projects import PROJECT
from tests.support.run_pages import MEASURED

pytestmark = pytest.mark.slow

EVALUATED = Evaluation.parse(MEASURED)
TRAINED = {"steps": 100_000, "loss": 1.0964, "perplexity": 2.9934, "token_accuracy": 98.81}


@pytest.fixture
def shown(project):
    """Show the results of evaluations in a checkout."""

    def dvc(*command):
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *command], capture_output=True, text=True, check=True
        )
        return done.stdout.rstrip(), done.stderr

    subprocess.run(["git", "init", "-q"], check=True)
    dvc("init", "-q")
    document = yaml.safe_load((PROJECT / "dvc.yaml").read_text())
    metrics = [one for stage in document["stages"].values() for one in stage.get("metrics", ())]
    paths.PIPELINE.write_text(yaml.safe_dump({"metrics": metrics, "plots": document["plots"]}))
    files.write_json(paths.METRICS / "train.json", TRAINED | {"bleu": 95.19})
    files.write_json(paths.METRICS / "evaluate.json", EVALUATED.summarize())
    write_plots(paths.REPORTS / "scores", EVALUATED)
    return dvc


def test_metrics_fit_in_120_columns(shown):
    table, warnings = shown("metrics", "show")

    assert not warnings
    assert max(map(len, table.splitlines())) <= 120
    assert {"bleu", "chrf", "loss", "perplexity", "steps"} <= {*table.splitlines()[0].split()}


def test_plots_show_slices(shown):
    _, warnings = shown("plots", "show")
    page = (paths.HOME / "dvc_plots/index.html").read_text()

    assert not warnings
    assert '"field": "slice"' in page
