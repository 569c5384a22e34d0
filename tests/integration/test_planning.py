"""A plan predicts the following run."""

import json
import re
import time

import pytest

from tests.support.projects import begin

PLAN = "make --silent --old-file .venv/ready plan"
BUSIER = 2.0
"""Factor by which other tests may slow down or speed up a run after its plan."""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A project planned before its run, without MLflow, which takes longer than its training."""
    shared = tmp_path_factory.mktemp("shared")
    fresh = begin(tmp_path_factory.mktemp("fresh") / "project", shared)
    return fresh.untracked(tmp_path_factory.mktemp("planned") / "project").run(PLAN)


@pytest.mark.slow
def test_planning_leaves_no_files(planned):
    assert [*(planned.folder / "runs").iterdir()] == []
    for folder in ("checkpoints", "models"):
        assert not (planned.folder / folder).exists()


@pytest.mark.slow
def test_planned_run_takes_the_predicted_time(planned):
    log = planned.log
    assert "updates: 240 of about " in log
    [(low, high)] = re.findall(r"^training: (\S+)(?: to (\S+))?, ", log, re.MULTILINE)
    [tokens] = re.findall(r"of about ([\d,]+) target tokens, ", log)
    [gibibytes] = re.findall(r"up to (\S+) GiB", log)
    began = time.monotonic()
    planned.run("dvc repro train")
    took = time.monotonic() - began
    trained = json.loads((planned.folder / "models/trained/training.json").read_text())
    foreseen = 240 * int(tokens.replace(",", ""))
    assert foreseen == pytest.approx(trained["target_tokens"], rel=0.1)
    assert count_seconds(low) / BUSIER < took < count_seconds(high or low) * BUSIER, log
    assert 0.1 < float(gibibytes) < 8


def count_seconds(duration):
    hours, minutes, seconds = map(int, duration.split(":"))
    return 3600 * hours + 60 * minutes + seconds
