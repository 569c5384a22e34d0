"""The command pins a budget once, and refuses what it cannot plan."""

import sys

import pytest
import yaml

from nmt_core.base.errors import ConfigError, CorpusError
from stages.configure.compose import apply_changes
from stages.planning import __main__ as program
from stages.planning.calibration import Range
from tests.unit.stages.planning.test_prediction import CALIBRATION, SETTINGS, set_budget


@pytest.fixture
def run(project, monkeypatch):
    """Run the command in an empty project, with settings changed; return params.yaml."""

    def run(arguments, *changes, calibration=None):
        if calibration:
            monkeypatch.setattr(program, "calibrate", lambda *_: calibration)
        params = project / "params.yaml"
        params.write_text(yaml.safe_dump(apply_changes(SETTINGS, list(changes))))
        monkeypatch.setattr(sys, "argv", ["planning", *arguments])
        program.main()
        return yaml.safe_load(params.read_text())

    return run


@pytest.mark.parametrize(
    ("arguments", "change", "message"),
    [
        (["compare"], "train.seed=1", r"takes no argument or 'pin', got 'compare'"),
        ([], "train.seed=1", r"data/corpus holds no train "),
        (["pin"], "train.seed=1", r"data/corpus holds no train "),
        ([], "train.budget.steps=0", r"train\.budget\.steps"),
    ],
)
def test_impossible_plans_are_refused(run, arguments, change, message):
    with pytest.raises((ConfigError, CorpusError), match=message):
        run(arguments, change)


def test_plan_is_printed_with_its_warnings(run, capsys):
    run([], set_budget(steps=600), calibration=CALIBRATION)
    printed = capsys.readouterr().out
    assert "other stages: 0:03:20 to 0:07:30" in printed
    assert "the budget is too small for the text, of which it reads about 50 %" in printed


def test_time_becomes_tokens_once(run, capsys):
    hour = set_budget(seconds=3600.0)
    pinned = run(["pin"], hour, calibration=CALIBRATION)
    budget = pinned["train"]["budget"]
    assert [name for name, limit in budget.items() if limit] == ["tokens"]
    assert f"1:00:00 are worth {budget['tokens']:,} target tokens" in capsys.readouterr().err
    faster = CALIBRATION._replace(tokens_per_second=Range(9_000, 9_000))
    assert run(["pin"], hour, calibration=faster) == pinned
    assert run(["pin"], hour, "evaluate.seed=2")["train"]["budget"] == budget
    assert run(["pin"], hour, "train.seed=2")["train"]["budget"] != budget


@pytest.mark.parametrize(("share", "busy"), [(0.3, True), (0.9, False)])
def test_pinning_reports_a_busy_machine(run, capsys, share, busy):
    run(["pin"], set_budget(seconds=3600.0), calibration=CALIBRATION._replace(share=share))
    assert ("other programs take 70% of this machine's" in capsys.readouterr().err) is busy
