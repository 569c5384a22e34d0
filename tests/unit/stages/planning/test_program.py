"""What the command says of itself, and what it refuses, before anything is measured."""

import sys
from dataclasses import replace

import pytest
import yaml

from nmt_core.base.errors import ConfigError, CorpusError
from stages.configure.compose import compose_settings
from stages.planning import __main__ as program
from stages.planning.prediction import Range
from stages.planning.scratch import change_settings
from tests.support.projects import PROJECT
from tests.unit.stages.planning.test_prediction import CALIBRATION
from tests.unit.stages.planning.test_report import make_plan


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


@pytest.mark.parametrize(
    ("asked", "changes", "told"),
    [
        (["comparison"], {}, r"takes 'compare' or 'pin', got 'comparison'"),
        (["compare"], {}, r"runs/plan\.json holds no plan; run: make plan$"),
        ([], {}, r"data/corpus holds no train "),
        (["pin"], {}, r"data/corpus holds no train "),
        ([], {"train.budget.steps": 0}, r"train\.budget\.steps"),
    ],
)
def test_what_cannot_be_planned_or_compared_is_refused(run, asked, changes, told):
    with pytest.raises((ConfigError, CorpusError), match=told):
        run(*asked, **changes)


def test_a_plan_is_kept_to_be_compared_with_a_run_of_its_settings_alone(run, monkeypatch, capsys):
    monkeypatch.setattr(program, "calibrate", lambda *_: CALIBRATION)
    run()
    shown = capsys.readouterr().out
    run("compare")

    assert capsys.readouterr().out == shown
    with pytest.raises(ConfigError, match=r"^runs/plan\.json is of other settings"):
        run("compare", **{"train.seed": 2})


@pytest.mark.parametrize("chosen", [True, False])
def test_a_model_that_fits_is_advised_where_it_is_not_the_one(run, monkeypatch, capsys, chosen):
    plan = make_plan(passes=Range(low=0.5, high=0.5))
    monkeypatch.setattr(program, "read_plan", lambda _: plan)
    monkeypatch.setattr(program, "is_chosen", lambda _: chosen)
    run("compare")
    shown = capsys.readouterr().out

    assert "50 %" in shown
    assert ("MODEL=auto" in shown) is not chosen


HOUR = {"train.budget": {"steps": None, "epochs": None, "tokens": None, "seconds": 3600.0}}


def test_a_time_becomes_tokens_once_so_that_a_training_goes_on(run, monkeypatch, capsys, project):
    monkeypatch.setattr(program, "calibrate", lambda *_: CALIBRATION)
    run("pin", **HOUR)
    first = (project / "params.yaml").read_text()
    budget = yaml.safe_load(first)["train"]["budget"]
    assert {"steps": None, "epochs": None, "seconds": None}.items() <= budget.items()
    assert f"1:00:00 are worth {budget['tokens']:,} target tokens" in capsys.readouterr().err
    faster = replace(CALIBRATION.training, tokens_per_second=9_000.0)
    monkeypatch.setattr(program, "calibrate", lambda *_: replace(CALIBRATION, training=faster))
    run("pin", **HOUR)
    assert (project / "params.yaml").read_text() == first
    run("pin", **HOUR, **{"evaluate.seed": 2})
    assert yaml.safe_load((project / "params.yaml").read_text())["train"]["budget"] == budget
    run("pin", **HOUR, **{"train.seed": 2})
    assert yaml.safe_load((project / "params.yaml").read_text())["train"]["budget"] != budget
