"""A plan extrapolates measurements of a short training; a time becomes tokens once."""

import json
import re
import sys

import pytest
import yaml

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, NmtError
from stages import paths
from stages.configure.compose import apply_changes
from stages.configure.request import compose_settings
from stages.configure.sections import build_all, read_settings
from stages.planning import __main__ as planning
from stages.planning.__main__ import Calibration, describe, describe_plan, find_budget, predict
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")
CALIBRATION = Calibration(
    start_seconds=10.0,
    validation_seconds=6.0,
    tokens_per_second=(800.0, 1250.0),
    tokens_per_update=500.0,
    tokens_per_pass=600_000,
    memory_bytes=2**30,
)


def train(*changes):
    return build_all(apply_changes(SETTINGS, [*changes]), source="test")["train"]


def test_memory_counts_every_process():
    plan = describe_plan(CALIBRATION, train("train.compute.processes=4"))
    assert "up to 6.4 GiB" in plan


@pytest.mark.parametrize(
    ("budget", "every", "updates", "seconds"),
    [
        ("steps:600", 300, 600, 10 + 600 / 2 + 2 * 6),
        ("steps:601", 300, 601, 10 + 601 / 2 + 3 * 6),
        ("epochs:3,steps:99999", 10**6, 3600, 10 + 3600 / 2 + 6),
        ("tokens:50001", 10**6, 101, 10 + 101 / 2 + 6),
        ("seconds:240.0", 10**6, 480, 10 + 480 / 2 + 12 * 6),
        ("tokens:1", 10**6, 1, 10 + 1 / 2 + 6),
        ("steps:600,epochs:1,tokens:10000", 300, 20, 10 + 20 / 2 + 6),
    ],
)
def test_the_first_limit_ends_training(budget, every, updates, seconds):
    params = train(f"train.budget={{{budget}}}", f"train.training.validate_every={every}")
    count, taken = predict(CALIBRATION, params, 1000.0)

    assert (count, taken) == (updates, pytest.approx(seconds))


def test_a_plan_gives_ranges():
    plan = describe_plan(CALIBRATION, train("train.budget={seconds:960.0}"))

    assert re.search(
        r"training: 0:1\d:\d\d.*, 800 to 1,200 target tokens a second, up to 1.6", plan
    )
    assert "updates: 1,500 to 2,400 of about 500 target tokens, 1.3 to 2 passes" in plan
    assert "budget covers" not in plan


@pytest.mark.parametrize(("steps", "warned"), [(1199, True), (1200, False)])
def test_less_than_a_pass_is_reported(steps, warned):
    plan = describe_plan(CALIBRATION, train(f"train.budget={{steps:{steps}}}"))
    assert warned is ("one pass takes about 0:12:30" in plan)


@pytest.mark.parametrize(
    ("ends", "words"),
    [((1234, 1234), "1,234"), ((2345, 1234), "1,200 to 2,300"), ((1234, 1240), "1,200")],
)
def test_ranges_have_two_digits(ends, words):
    assert describe(ends) == words


@pytest.mark.parametrize("seconds", [600.0, 7200.0])
def test_a_time_is_converted_to_tokens(seconds):
    tokens, every = find_budget(CALIBRATION, seconds)
    params = train(f"train.budget={{tokens:{tokens}}}", f"train.training.validate_every={every}")
    _, taken = predict(CALIBRATION, params, 1000.0)

    assert 0.88 * seconds < taken < 1.02 * seconds
    assert 11 <= tokens / 500 // every <= 13


@pytest.mark.parametrize(("seconds", "message"), [(None, "null"), (120.0, "0:02:00 is too short")])
def test_a_time_too_short_to_train_is_refused(seconds, message):
    with pytest.raises(ConfigError, match=message):
        find_budget(CALIBRATION, seconds)


@pytest.fixture
def run(project, monkeypatch):
    """Run the command in a project with changed settings; return those in params.yaml."""

    def run(arguments, *changes, calibration=None):
        if calibration:
            monkeypatch.setattr(planning, "calibrate", lambda _: calibration)
        (project / "params.yaml").write_text(yaml.safe_dump(apply_changes(SETTINGS, [*changes])))
        monkeypatch.setattr(sys, "argv", ["planning", *arguments])
        planning.main()
        return read_settings()

    return run


@pytest.mark.parametrize(
    ("arguments", "change", "message"),
    [
        (["compare"], "train.seed=1", "or 'pin', got 'compare'"),
        ([], "train.seed=1", r"reports/shard\.json is missing"),
        (["pin"], "train.seed=1", r"reports/shard\.json is missing"),
        ([], "train.budget.steps=0", r"train\.budget\.steps"),
    ],
)
def test_impossible_plans_are_refused(run, arguments, change, message):
    with pytest.raises(NmtError, match=message):
        run(arguments, change)


def test_time_becomes_tokens_once(run, capsys):
    hour = "train.budget={seconds:3600.0}"
    pinned = run(["pin"], hour, calibration=CALIBRATION)["train"]
    faster = CALIBRATION._replace(tokens_per_second=(9e3, 9e3))

    assert f"{pinned['budget']['tokens']:,} target tokens" in capsys.readouterr().err
    assert run(["pin"], hour, calibration=faster)["train"] == pinned
    assert run(["pin"], hour, "evaluate.seed=2")["train"] == pinned
    assert run(["pin"], hour, "train.seed=2")["train"]["budget"] != pinned["budget"]


def test_measurements_are_extrapolated_to_the_text(project, monkeypatch):
    """A start takes 4 s, every validation 15 s, after updates of 5 s at 900 to 1,100 tokens."""
    journal, tokens = [{"kind": "run", "milliseconds": 0}], 0
    for n, speed in enumerate((500, 900, 1100), start=1):
        tokens += 5 * speed
        values = {"validation/loss": 1.0, "train/target_tokens": tokens, "train/seconds": 5.0 * n}
        journal.append({"step": 10 * n, "milliseconds": 20_000 * n, "values": values})
    (project / "data").mkdir()

    def run_training(folder):
        assert (folder / "data").resolve() == project / "data"
        files.write_lines(folder / "runs/a-b/journal.jsonl", map(json.dumps, journal))
        return 64.0, 9

    shards = {"train_target_tokens": 180, "train_pairs": 20, "validation_pairs": 256}
    files.write_json(paths.REPORTS / "shard.json", shards)
    monkeypatch.setattr(planning, "run_training", run_training)
    assert planning.calibrate(SETTINGS) == Calibration(4.0, 30.0, (900, 1100), tokens / 30, 200, 9)
    assert [*paths.RUNS.iterdir()] == []


PROBE = """
import os, sys
from pathlib import Path
Path("seen.txt").write_text("\\n".join(os.environ))
if Path("broken").exists():
    sys.exit("first\\nit is broken")
held = bytes(range(256)) * 4096 * 600
"""


def test_short_training_belongs_to_no_run(project, monkeypatch):
    for name, code in (("__init__", ""), ("train", PROBE)):
        files.write_text(project / f"stages/{name}.py", code)
    canaries = {"MLFLOW_TRACKING_URI", "DVC_EXP_NAME", "NMT_COMPARISON", "LANGUAGE_OF_MINE"}
    for name in canaries:
        monkeypatch.setenv(name, "canary")

    seconds, memory = planning.run_training(project)
    assert 0 < seconds < 60
    assert 600 * 2**20 < memory < 8 * 2**30
    assert canaries & {*(project / "seen.txt").read_text().split()} == {"LANGUAGE_OF_MINE"}
    files.write_text(project / "broken", "")
    with pytest.raises(NmtError, match="training failed: it is broken"):
        planning.run_training(project)
