"""What a comparison plans before it trains, and what it reports."""

import shutil
from functools import cache
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from flows import compare, dvc_program
from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from stages.configure import compose
from stages.configure.sections import build_all
from tests.support.commands import invoke
from tests.support.git import git


def plan(*settings, models=("transformer", "convs2s"), seeds=2):
    budgeted = compare.add_budget(["data=demo"], 60.0, None, None)
    return compare.plan_experiments(models, [*budgeted, *settings], seeds=seeds)


@pytest.fixture(autouse=True)
def _in_a_commit(monkeypatch):
    """Read all code once, and take it as committed."""
    monkeypatch.setattr(compare, "hash_code", HASH)
    monkeypatch.setattr(dvc_program, "check_git", lambda: None)


HASH, CHECK_GIT = cache(compare.hash_code), dvc_program.check_git


def test_models_and_seeds_share_one_budget(monkeypatch):
    monkeypatch.setattr(compare.os, "sched_getaffinity", lambda _: range(3))
    experiments = plan()

    assert [(one.model, one.seed) for one in experiments] == [
        ("transformer", 1),
        ("convs2s", 1),
        ("transformer", 2),
        ("convs2s", 2),
    ]
    assert len({one.name for one in experiments}) == 4
    fixed = {"train.budget.seconds=60.0", "train.budget.epochs=null", "train.compute.threads=3"}
    for one in experiments:
        assert {f"model={one.model}", f"train.seed={one.seed}", *fixed} <= {*one.settings}
        assert one.name.startswith(f"{one.model}-seed{one.seed}-")


def test_another_setting_makes_another_name():
    [first], [again] = (plan(models=["transformer"], seeds=1) for _ in range(2))
    [other] = plan("train.model.dropout=0.25", models=["transformer"], seeds=1)

    assert first == again
    assert first.name != other.name


def test_text_is_named_by_words(tmp_path, monkeypatch):
    for name in ("my 1.de", "my 1.en", "test.de", "test.en"):
        (tmp_path / name).write_text("".join(f"{name} {number}\n" for number in range(900)))
    words = [
        f"text='{tmp_path}/my 1.de' '{tmp_path}/my 1.en'",
        f"test={tmp_path}/test.de {tmp_path}/test.en",
    ]
    budgeted = compare.add_budget(words, None, 10, None)
    [one] = compare.plan_experiments(["transformer"], budgeted, seeds=1)
    download = build_all(compose.compose_groups([*one.settings]), source="test")["download"]

    assert [*download.corpora] == ["my-1"]
    corpus = download.corpora["my-1"]
    assert (corpus.train.target, corpus.test.source) == (tmp_path / "my 1.en", tmp_path / "test.de")
    assert corpus.train.sha256
    assert download.split.validation_per_10000 > 10
    with pytest.raises(ConfigError, match="use SECONDS="):
        plan("time=2h")


def test_one_training_does_not_count_twice():
    with pytest.raises(ConfigError, match="the model convs2s is named twice"):
        plan(models=["convs2s", "transformer", "convs2s"])


@pytest.mark.parametrize(
    ("budget", "limits"),
    [
        ((None, None, None), ["steps=null", "epochs=null", "tokens=null", "seconds=300.0"]),
        ((None, 10, None), ["steps=10", "epochs=null", "tokens=null", "seconds=null"]),
        ((7.0, None, 9), ["steps=null", "epochs=null", "tokens=9", "seconds=7.0"]),
    ],
)
def test_every_model_has_one_budget(budget, limits):
    assert compare.add_budget(["a=b"], *budget) == ["a=b", *(f"train.budget.{x}" for x in limits)]


@pytest.mark.parametrize(
    "setting",
    ["train.budget.steps=20", "+train.budget={steps:20}", "train.seed=7", "model=convs2s"],
)
def test_a_setting_without_effect_is_refused(setting):
    with pytest.raises(ConfigError, match="must not be set"):
        compare.add_budget(["data=demo", setting], None, None, None)
    ran = invoke(compare.main, "convs2s", setting)
    assert ran.exit_code == 1
    assert "must not be set" in ran.stderr
    with pytest.raises(ConfigError, match="must not be set"):
        compare.compare.fn(["convs2s"], [setting])
    assert compare.add_budget(["train.model.dropout=0"], 1.0, None, None)


@pytest.mark.slow
def test_own_files_are_found_and_changes_noticed(tmp_path, monkeypatch):
    folder = tmp_path / "a folder's, own"
    folder.mkdir()
    for name in ("train.de", "train.en"):
        (folder / name).write_text("Eine Eule.\n")
    given = [
        "data=files",
        f"download.corpora.files.train.source={compare.quote(folder / 'train.de')}",
        f"download.corpora.files.train.target={compare.quote(folder / 'train.en')}",
        "download.corpora.files.validation=null",
        "download.corpora.files.test=null",
    ]
    [before] = plan(*given, models=["transformer"], seeds=1)
    parsed = OverridesParser.create().parse_overrides([*before.settings])
    values = {override.key_or_group: override.value() for override in parsed}
    (folder / "train.en").write_text("An owl.\n")
    [after] = plan(*given, models=["transformer"], seeds=1)

    assert values["download.corpora.files.train.source"] == str(folder / "train.de")
    assert len(values["download.corpora.files.train.sha256"]) == 64
    assert before.name != after.name
    (folder / "train.en").unlink()
    with pytest.raises(CorpusError, match="train"):
        plan(*given)


EXPERIMENTS = [
    compare.Experiment("rnn", seed, f"rnn-seed{seed}", ("model=rnn",)) for seed in (1, 2)
]


def test_failed_experiment_does_not_stop_others(patch):
    run, states = Mock(), [Mock(), Mock()]
    states[0].result.side_effect = NmtError("out of memory")
    run.with_options.return_value.side_effect = states
    patch(compare, run=run, get_run_logger=Mock)
    with pytest.raises(NmtError, match="out of memory"):
        compare.run_experiments.fn(EXPERIMENTS, parent="parent")

    assert run.with_options.return_value.call_args_list == [
        call(one, parent="parent", return_state=True) for one in EXPERIMENTS
    ]
    assert run.with_options.call_args_list == [call(task_run_name=one.name) for one in EXPERIMENTS]


def test_experiments_need_a_commit_that_has_all_code(project):
    git("init", "-q")
    with pytest.raises(NmtError, match="require a git repository"):
        CHECK_GIT()
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    CHECK_GIT()
    for part in ("stages", "conf", "nmt_core"):
        Path(part).mkdir()
        Path(f"{part}/new.py").touch()
        with pytest.raises(NmtError, match=f"git does not track {part}/new.py"):
            CHECK_GIT()
        shutil.rmtree(part)
    assert dvc_program.list_experiments() == {}
    git("update-ref", "refs/exps/ab/cdef/rnn-seed1", "HEAD")
    assert dvc_program.list_experiments() == {"rnn-seed1": git("rev-parse", "HEAD")}
