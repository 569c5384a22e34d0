"""What is planned before anything is trained."""

import shutil
import subprocess
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from flows import compare, dvc_program, experiments
from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from stages.comparison import report, results
from stages.tracking.journal import Journal
from stages.tracking.tracker import TrackingError
from tests.support.commands import invoke
from tests.support.outcomes import REFERENCES, outcome

SETTINGS = ["data=demo", *experiments.list_budget_settings(60.0, None, None)]


def plan(*settings, models=("transformer", "convs2s"), seeds=(1, 2)):
    return experiments.plan_experiments(models, [*SETTINGS, *settings], seeds=seeds)


@pytest.fixture(scope="module", autouse=True)
def _digested():
    """Read all code once: it is the same for all plans."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "hash_code", cache(experiments.hash_code))
        yield


@pytest.fixture(scope="module")
def planned():
    return plan()


def test_every_model_is_trained_with_every_seed_on_the_same_budget(planned):
    found = planned

    assert [(one.model, one.seed) for one in found] == [
        ("transformer", 1),
        ("convs2s", 1),
        ("transformer", 2),
        ("convs2s", 2),
    ]
    assert len({one.name for one in found}) == 4
    for one in found:
        assert {"train.budget.seconds=60.0", "train.budget.epochs=null"} <= {*one.settings}


@pytest.mark.parametrize(
    ("models", "seeds", "told"),
    [
        (["convs2s", "transformer", "convs2s"], [1], "the model convs2s is named twice"),
        (["convs2s"], [4, 4], "the seed 4 is named twice"),
    ],
)
def test_one_training_does_not_count_as_two(models, seeds, told):
    with pytest.raises(ConfigError, match=told):
        plan(models=models, seeds=seeds)


@pytest.mark.parametrize(
    ("words", "planned", "asked"),
    [
        ([], (["rnn"], ["train.budget.seconds=300.0"], [1]), [None, None, None, [1]]),
        (
            ["a", "data=x", "~b", "b", "--steps", "5", "--tokens=6", "--seconds=7"],
            (["a", "b"], ["data=x", "~b", "train.budget.steps=5"], [1]),
            [7.0, 5, 6, [1]],
        ),
        (
            ["--seeds", "2", "--record"],
            (["rnn"], [], [1, 2]),
            [None, None, None, [1, 2]],
        ),
    ],
)
def test_what_is_typed_is_checked_before_any_server_is_asked(monkeypatch, words, planned, asked):
    """And then all of it is compared, in a process that leaves nothing behind."""
    noted = []
    for name, value in {
        "read": lambda path: {"models": ["rnn"]} if path == compare.PRESETS else None,
        "schedule_experiments": lambda *words, **numbers: noted.append((*words, numbers)),
        "check_server": lambda: noted.append("check"),
        "leave_nothing_behind": lambda: nullcontext(noted.append("leave")),
        "compare": lambda *given: noted.append(given) or "result",
    }.items():
        monkeypatch.setattr(compare, name, value)
    monkeypatch.setattr(report, "record_results", lambda result: noted.append(f"{result} kept"))
    monkeypatch.setattr(report, "render_report", lambda result: f"the {result}")
    ran = invoke(compare.main, *words)

    assert ran.exit_code == 0, ran.output
    (models, settings, numbers), *checked, given = noted[:4]
    assert (models, numbers) == (planned[0], {"seeds": planned[2]})
    assert {*planned[1]} <= {*settings}
    assert checked == ["check", "leave"]
    assert given == (models, [one for one in words if one in {"data=x", "~b"}], *asked)
    assert noted[4:] == (["result kept"] if "--record" in words else [])
    assert ran.stdout.splitlines() == ["the result", f"written to {report.FOLDER}"]


def test_the_scores_of_the_best_system_are_those_of_the_comparison(tmp_path, monkeypatch):
    """Under the names by which MLflow lists runs; a tracker that is away stops nobody."""
    monkeypatch.chdir(tmp_path)
    scores = [("a", 1, 21.0), ("a", 2, 22.0), ("b", 1, 31.0), ("b", 2, 32.0)]
    found = [outcome(name, seed, REFERENCES, bleu) for name, seed, bleu in scores]
    tracker, send = Mock(), Mock(side_effect=TrackingError("away"))
    monkeypatch.setattr(compare, "send", send)
    journal = Journal(found[0].run.fingerprint).path
    journal.parent.mkdir(parents=True)
    journal.touch()
    compare.track(results.compare_outcomes(found, command="", commit=""), tracker)

    told = {}
    for one in tracker.metrics.call_args_list:
        told |= one.args[0]
    bleu = {"test_bleu": 31.5, "test_bleu/a": 21.5, "test_bleu/b": 31.5}
    chrf = {"test_chrf": 41.5, "test_chrf/a": 31.5, "test_chrf/b": 41.5}
    assert told == bleu | chrf
    tracker.artifact.assert_called_once_with(report.FOLDER)
    assert {one.args[0].path for one in send.call_args_list} == {journal}


def test_the_same_plan_has_the_same_names_and_another_setting_others(planned):
    first, again = planned[:1], plan(models=["transformer"], seeds=[1])
    [other] = plan("train.model.dropout=0.25", models=["transformer"], seeds=[1])

    assert first == again
    assert first[0].name.startswith("transformer-seed1-")
    assert first[0].name != other.name


@pytest.mark.parametrize(
    ("numbers", "left"),
    [
        ((1, 4, 0, 0.1), ""),  # it had been run before
        ((2, 4, 1, 90.0), ", about 0:03:00 left"),
        ((3, 4, 2, 90.4), ", about 0:00:45 left"),
        ((4, 4, 3, 120.0), ""),
    ],
)
def test_the_time_left_is_told_once_a_run_has_been_timed(numbers, left):
    assert compare.describe_progress(*numbers) == f"{numbers[0]} of 4 runs are done{left}"


@pytest.mark.parametrize(
    ("budget", "setting"),
    [((None, None, None), "seconds=300.0"), ((None, 10, None), "seconds=null")],
)
def test_a_budget_is_given_even_if_nobody_asks(budget, setting):
    assert f"train.budget.{setting}" in [*experiments.list_budget_settings(*budget)]


@pytest.mark.parametrize(
    ("setting", "how"),
    [
        ("train.budget.steps=20", "--steps"),
        ("+train.budget={steps:20}", "--steps"),
        ("train.seed=7", "--seeds"),
        ("model=convs2s", "name the models"),
    ],
)
def test_a_setting_that_would_not_hold_is_refused(setting, how):
    with pytest.raises(ConfigError, match=f"would not hold.*{how}"):
        experiments.add_budget(["data=demo", setting], None, None, None)
    ran = invoke(compare.main, "convs2s", setting)
    assert ran.exit_code == 1
    assert "would not hold" in ran.stderr
    with pytest.raises(ConfigError, match="would not hold"):
        compare.compare.fn(["convs2s"], [setting])
    assert experiments.add_budget(["train.model.dropout=0"], 1.0, None, None)


@pytest.mark.slow
def test_own_files_are_found_from_anywhere_and_a_change_is_noticed(tmp_path, monkeypatch):
    folder = tmp_path / "a folder's, own"
    folder.mkdir()
    for name in ("train.de", "train.en"):
        (folder / name).write_text("Eine Eule.\n")
    given = [
        "data=files",
        f"download.corpora.files.train.source={experiments.quote(folder / 'train.de')}",
        f"download.corpora.files.train.target={experiments.quote(folder / 'train.en')}",
        "download.corpora.files.validation=null",
        "download.corpora.files.test=null",
    ]
    [before] = plan(*given, models=["transformer"], seeds=[1])
    parsed = OverridesParser.create().parse_overrides([*before.settings])
    values = {override.key_or_group: override.value() for override in parsed}
    (folder / "train.en").write_text("An owl.\n")
    [after] = plan(*given, models=["transformer"], seeds=[1])

    assert values["download.corpora.files.train.source"] == str(folder / "train.de")
    assert len(values["download.corpora.files.train.sha256"]) == 64
    assert before.name != after.name
    (folder / "train.en").unlink()
    with pytest.raises(CorpusError, match="train"):
        plan(*given)


@pytest.mark.parametrize(
    ("words", "seeds"),
    [("1", [1]), ("3", [1, 2, 3]), ("1,22", [1, 22]), ("7,", [7]), ("0,5,", [0, 5])],
)
def test_one_number_is_how_many_seeds_and_a_list_which(words, seeds):
    assert experiments.parse_seeds(words) == seeds


@pytest.mark.parametrize("words", ["1,x", "", "0", "-2", "-1,2", "1,1", "2,1,2", "1,,2", ","])
def test_what_are_no_seeds_is_refused(words):
    """Above all one that stands there twice: runs that are copies would seem to agree."""
    with pytest.raises(ConfigError, match=f"got {words!r}"):
        experiments.parse_seeds(words)


@pytest.mark.parametrize("there", [False, True])
def test_experiment_runs_once_up_to_its_evaluation(monkeypatch, there):
    calls = []
    chosen = experiments.Experiment("rnn", 1, ("model=rnn",), "digest")
    logger = SimpleNamespace(info=lambda *_: None)
    monkeypatch.setattr(compare, "get_run_logger", lambda: logger)
    monkeypatch.setattr(dvc_program, "list_experiments", lambda: {chosen.name} if there else {})
    monkeypatch.setattr(
        dvc_program, "run_experiment", lambda *given, **named: calls.append((given, named))
    )
    compare.run.fn(chosen, parent="p")

    named = {
        "target": "evaluate",
        "environment": {compare.COMPARISON_VARIABLE: "p"},
        "log": logger.info,
    }
    assert calls == ([] if there else [((chosen.name, chosen.settings), named)])


def test_failed_experiment_does_not_stop_others(patch):
    lines, run = [], Mock()
    several = [experiments.Experiment("rnn", seed, (), "") for seed in range(3)]
    states = [Mock(), Mock(), Mock()]
    states[0].result.side_effect = NmtError("out of memory")
    run.with_options.return_value.side_effect = states
    patch(compare, run=run, get_run_logger=lambda: SimpleNamespace(info=lines.append))
    patch(dvc_program, list_experiments=lambda: [several[0].name])
    with pytest.raises(NmtError, match="out of memory"):
        compare.run_experiments.fn(several, parent="parent")

    assert run.with_options.return_value.call_args_list == [
        call(one, parent="parent", return_state=True) for one in several
    ]
    names = [one.kwargs["task_run_name"] for one in run.with_options.call_args_list]
    assert names == [one.name for one in several]
    assert lines[0] == "1 of 3 runs are done"
    assert lines[2] == "3 of 3 runs are done"


def test_experiments_need_a_commit_that_has_all_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    with pytest.raises(NmtError, match="here is no commit"):
        dvc_program.check_git()
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    dvc_program.check_git()
    Path("stages").mkdir()
    Path("stages/new.py").touch()

    with pytest.raises(NmtError, match=r"git does not know stages/new.py"):
        dvc_program.check_git()
    shutil.rmtree("stages")
    for part in ("conf", "nmt_core"):
        Path(part).mkdir()
        Path(f"{part}/new").touch()
        with pytest.raises(NmtError, match=f"git does not know {part}/new"):
            dvc_program.check_git()
        shutil.rmtree(part)
    assert dvc_program.list_experiments() == {}
    subprocess.run([*git, "update-ref", "refs/exps/ab/cdef/rnn-seed1", "HEAD"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert dvc_program.list_experiments() == {"rnn-seed1": head.stdout.strip()}


@pytest.mark.parametrize("models", [["a", "b"], ["a,b"], ["a,", "b"]])
def test_spaces_or_commas_separate_models(models):
    assert compare.split_arguments([*models, "train.seed=1,2", "~x"]) == (
        ["a", "b"],
        ["train.seed=1,2", "~x"],
    )
