"""What the command says of itself, and what it refuses, before anything is measured."""

import subprocess
import sys

import pytest
import yaml

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from stages.configure.compose import compose_settings
from stages.planning import __main__ as program
from stages.planning.prediction import Plan, PredictedTraining, Prediction
from stages.planning.scratch import change_settings
from tests.support.projects import PROJECT


@pytest.fixture(scope="module")
def settings():
    return compose_settings(["data=demo"], conf=PROJECT / "conf")


@pytest.fixture
def run(project, settings, monkeypatch):
    """Run the command in an empty project, with settings changed."""

    def run(*arguments, **changes):
        (project / "params.yaml").write_text(yaml.safe_dump(change_settings(settings, changes)))
        monkeypatch.setattr(sys, "argv", ["planning", *arguments])
        program.main()

    return run


def test_help_says_what_it_reads_and_writes():
    done = subprocess.run(
        [sys.executable, "-m", "stages.planning", "--help"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: python -m stages.planning [compare]" in done.stdout
    assert "Writes: runs/plan.json" in done.stdout


def test_what_it_does_not_know_is_refused(run):
    with pytest.raises(
        ConfigError, match=r"^python -m stages\.planning knows 'compare' alone, got 'comparison'$"
    ):
        run("comparison")


def test_without_a_plan_nothing_is_compared(run):
    with pytest.raises(ConfigError, match=r"^runs/plan\.json holds no plan; run: make plan$"):
        run("compare")


def test_without_a_corpus_nothing_is_planned(run):
    with pytest.raises(
        CorpusError, match=r"^data/corpus holds no corpus, .*; bring it by: dvc repro download$"
    ):
        run()


def test_an_empty_corpus_is_named(run, project):
    pairs = {"train": 0, "validation": 5, "test": 5}
    files.write_json(project / "data/corpus/corpus.json", {"pairs": pairs})

    with pytest.raises(CorpusError, match=r"^data/corpus holds no train pairs; give more text"):
        run()


def test_a_budget_of_nothing_is_refused(run):
    with pytest.raises(
        ConfigError, match=r"^params\.yaml: train\.budget\.steps must be greater than or equal to 1"
    ):
        run(**{"train.budget.steps": 0})


@pytest.mark.parametrize("chosen", [True, False])
def test_a_model_that_fits_is_advised_where_it_is_not_the_one(run, monkeypatch, capsys, chosen):
    small = Prediction(seconds=1.0, processor_seconds=1.0, memory_bytes=1, disk_bytes=1)
    training = PredictedTraining(
        updates=10,
        target_tokens=9000,
        passes=0.5,
        limit="steps",
        tokens_per_second=1000.0,
        tokens_per_pass=18_000,
        validations=1,
    )
    plan = Plan(settings="", stages={"train": small}, training=training)
    monkeypatch.setattr(program, "read_plan", lambda _: plan)
    monkeypatch.setattr(program, "is_chosen", lambda _: chosen)
    run("compare")
    shown = capsys.readouterr().out

    assert "of which it reads 50 %" in shown
    assert ("MODEL=auto" in shown) is not chosen
