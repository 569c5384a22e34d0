"""What is planned before anything is trained."""

import hashlib
import shutil
import subprocess
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from flows import compare, dvc_program, experiments
from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.splitting import SessionSplit, SplitConfig
from nmt_core.corpora.text_files import TextFiles
from stages.comparison import report, results
from stages.params import DownloadParams
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


def test_help_says_what_is_compared_by_default_and_how_seeds_are_given():
    shown = invoke(compare.main, "--help", COLUMNS="200").stdout

    assert f"settings for all. [those in {compare.PRESETS}]" in shown
    assert "1,2,3" in shown


DEFAULTS = {"seeds": [1], "jobs": 1}
ALL = {"seconds": 9.0, "steps": 8, "tokens": 7, "seeds": [4, 5], "jobs": 2}


@pytest.mark.parametrize(
    ("given", "models", "planned"),
    [
        ({}, ["rnn", "convs2s"], [["train.budget.seconds=300.0"], DEFAULTS]),
        (
            {"models": ["a"], "settings": ["data=demo"], **ALL},
            ["a"],
            [
                ["data=demo", "train.budget.steps=8", "train.budget.tokens=7"],
                {"seeds": [4, 5], "jobs": 2},
            ],
        ),
    ],
)
def test_a_run_compares_what_was_planned(monkeypatch, given, models, planned):
    """With a budget if nobody gave any."""
    noted = []

    def schedule(*words, **numbers):
        noted.append((*words, numbers))
        return ["planned"], 3

    for name, value in {
        "read": lambda path: {"models": models} if path == compare.PRESETS else None,
        "schedule_experiments": schedule,
        "hold_lock": lambda *_: nullcontext(),
        "run_and_report": lambda chosen, **numbers: noted.append((chosen, numbers)) or "result",
        "create_markdown_artifact": lambda text, **_: noted.append(text),
    }.items():
        monkeypatch.setattr(compare, name, value)
    monkeypatch.setattr(report, "render_markdown", lambda result: f"the {result}")

    assert compare.compare.fn(**given) == "result"
    (chosen, settings, numbers), ran, shown = noted
    assert (chosen, numbers) == (models, planned[1])
    assert {*planned[0]} <= {*settings}
    assert ran == (["planned"], {"jobs": numbers["jobs"], "threads": 3})
    assert shown == "the result"


@pytest.mark.parametrize(("jobs", "threads"), [(1, 6), (4, 1), (7, 1)])
def test_experiments_share_the_cores(monkeypatch, jobs, threads):
    """By settings, which those given overrule; git has been asked for the code."""
    checked = []
    monkeypatch.setattr(compare.os, "sched_getaffinity", lambda _: range(6))
    monkeypatch.setattr(dvc_program, "check_git", lambda: checked.append("git"))
    monkeypatch.setattr(
        compare, "plan_experiments", lambda models, settings, *, seeds: (models, settings, seeds)
    )
    found = compare.schedule_experiments(["rnn"], ["a=b"], seeds=[3], jobs=jobs)

    limits = [f"train.compute.threads={threads}", f"evaluate.threads={threads}"]
    assert found == ((["rnn"], [*limits, "a=b"], [3]), threads)
    assert checked == ["git"]


@pytest.mark.parametrize("there", [False, True])
def test_an_experiment_is_run_once_and_lets_the_next_begin_when_it_trains(monkeypatch, there):
    """By DVC, up to its evaluation, with its share of the cores and the run that it belongs to."""
    noted = []

    def run_experiment(name, settings, *, target, environment, log):
        noted.append((name, settings, target, environment))
        for line in ("Running stage 'shard':", "Running stage 'train':"):
            log(line)
            noted.append(compare._preparing.locked())

    chosen = experiments.Experiment("rnn", 1, ("model=rnn",), "digest")
    monkeypatch.setattr(
        compare, "get_run_logger", lambda: SimpleNamespace(info=lambda text, *_: noted.append(text))
    )
    monkeypatch.setattr(dvc_program, "run_experiment", run_experiment)
    monkeypatch.setattr(
        dvc_program, "list_experiments", lambda: {chosen.name: "c"} if there else {}
    )
    compare.run.fn(chosen, threads=3, parent="p")

    environment = {"OMP_NUM_THREADS": "3", compare.COMPARISON_VARIABLE: "p"}
    assert noted == (
        ["%s has been run"]
        if there
        else [
            (chosen.name, chosen.settings, "evaluate", environment),
            "Running stage 'shard':",
            True,
            "Running stage 'train':",
            False,
        ]
    )
    assert compare.run.retry_condition_fn is compare.server_was_away


def test_what_experiments_gave_is_compared_and_written_down(monkeypatch):
    several = [experiments.Experiment("rnn", seed, (), str(seed)) for seed in (1, 2)]
    kept = {one.name: f"commit {one.seed}" for one in several}
    written = []
    monkeypatch.setattr(dvc_program, "list_experiments", lambda: kept)
    monkeypatch.setattr(compare, "describe_checkout", lambda: "c4bbf99")
    monkeypatch.setattr(results, "read_outcome", lambda *words: words)
    monkeypatch.setattr(results, "compare_outcomes", lambda found, **told: (found, told))
    monkeypatch.setattr(report, "write_report", lambda *words: written.append(words))
    found = compare.conclude(several, command="python x")

    outcomes = [("rnn", one.seed, one.name, f"commit {one.seed}") for one in several]
    assert found == (outcomes, {"command": "python x", "commit": "c4bbf99"})
    assert written == [(found, outcomes)]


@pytest.mark.parametrize(
    ("words", "planned", "asked"),
    [
        ([], (["rnn"], ["train.budget.seconds=300.0"], [1], 1), [None, None, None, [1], 1]),
        (
            ["a", "data=x", "~b", "b", "--steps", "5", "--tokens=6", "--seconds=7"],
            (["a", "b"], ["data=x", "~b", "train.budget.steps=5"], [1], 1),
            [7.0, 5, 6, [1], 1],
        ),
        (
            ["--seeds", "2", "--jobs", "3", "--record"],
            (["rnn"], [], [1, 2], 3),
            [None, None, None, [1, 2], 3],
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
    assert (models, numbers) == (planned[0], {"seeds": planned[2], "jobs": planned[3]})
    assert {*planned[1]} <= {*settings}
    assert checked == ["check", "leave"]
    assert given == (models, [one for one in words if one in {"data=x", "~b"}], *asked)
    assert noted[4:] == (["result kept"] if "--record" in words else [])
    assert ran.stdout.splitlines() == ["the result", f"written to {report.FOLDER}"]


def test_one_run_in_mlflow_holds_all_of_a_comparison(monkeypatch):
    """It says how to repeat it; its trainings are below it, and what came of them is told to it."""
    noted = []

    @contextmanager
    def open_tracker(name, **_):
        noted.append(name)
        yield SimpleNamespace(params=noted.append)

    def begin(*, task_runner):
        return lambda *chosen, **told: noted.append((*chosen, told, task_runner))

    for name, value in {
        "open_tracker": open_tracker,
        "ThreadPoolTaskRunner": lambda *, max_workers: max_workers,
        "run_experiments": SimpleNamespace(with_options=begin),
        "conclude": lambda *_, **__: "result",
        "track": lambda result, _: noted.append(result),
    }.items():
        monkeypatch.setattr(compare, name, value)
    monkeypatch.setattr(compare.sys, "argv", ["compare.py", "rnn", "seed is=1"])
    chosen = [experiments.Experiment("rnn", seed, (), "") for seed in (1, 2)]

    assert "result" == compare.run_and_report(chosen, jobs=2, threads=3)
    parent, told, ran, tracked = noted
    assert told["command"] == "python -m flows.compare rnn 'seed is=1'"
    assert told["experiments"].split() == [one.name for one in chosen]
    assert ran == (chosen, {"threads": 3, "parent": parent}, 2)
    assert tracked == "result"
    monkeypatch.setattr(compare.sys, "argv", ["compare.py", "--seeds", "1,2", "rnn"])
    compare.run_and_report(chosen, jobs=2, threads=3)
    assert noted[4] == parent  # the same trainings are the same run, however they are asked for
    compare.run_and_report(chosen[:1], jobs=2, threads=3)
    assert noted[8] != parent


def test_the_scores_of_the_best_system_are_those_of_the_comparison(tmp_path, monkeypatch):
    """Under the names by which MLflow lists runs."""
    monkeypatch.chdir(tmp_path)
    found = [
        outcome(name, seed, REFERENCES, bleu + seed)
        for name, bleu in (("a", 20.0), ("b", 30.0))
        for seed in (1, 2)
    ]
    told = {}

    def remember(values, *, step):
        told.update(values)

    given, sent = [], []

    def send(journal):
        sent.append(journal)
        raise TrackingError("away")  # nobody's reason to end

    monkeypatch.setattr(compare, "send", send)
    Journal(found[0].run.fingerprint).path.parent.mkdir(parents=True)
    Journal(found[0].run.fingerprint).path.touch()
    tracker = SimpleNamespace(metrics=remember, artifact=given.append)
    compare.track(results.compare_outcomes(found, command="", commit=""), tracker)

    bleu = {"test_bleu": 31.5, "test_bleu/a": 21.5, "test_bleu/b": 31.5}
    chrf = {"test_chrf": 41.5, "test_chrf/a": 31.5, "test_chrf/b": 41.5}
    assert told == bleu | chrf
    assert given == [report.FOLDER]
    assert {one.path for one in sent} == {Journal(found[0].run.fingerprint).path}


def test_the_same_plan_has_the_same_names_and_another_setting_others(planned):
    first, again = planned[:1], plan(models=["transformer"], seeds=[1])
    [other] = plan("train.model.dropout=0.25", models=["transformer"], seeds=[1])

    assert first == again
    assert first[0].name.startswith("transformer-seed1-")
    assert first[0].name != other.name


def test_the_time_left_is_told_once_a_run_has_been_timed():
    assert (
        compare.describe_progress(1, 4, 0, 0.1) == "1 of 4 runs are done"
    )  # it had been run before
    assert compare.describe_progress(2, 4, 1, 90.0) == "2 of 4 runs are done, about 0:03:00 left"
    assert compare.describe_progress(3, 4, 2, 90.4) == "3 of 4 runs are done, about 0:00:45 left"
    assert compare.describe_progress(4, 4, 3, 120.0) == "4 of 4 runs are done"


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


def test_a_budget_is_given_even_if_nobody_asks():
    assert "train.budget.seconds=300.0" in [*experiments.list_budget_settings(None, None, None)]
    assert "train.budget.seconds=null" in [*experiments.list_budget_settings(None, 10, None)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["train.sede=2"], "Could not override 'train.sede'"),
        (["train.model.dropout=2"], "train.model.dropout must be less than"),
    ],
)
def test_a_typo_costs_no_training(settings, message):
    with pytest.raises(ConfigError, match=message):
        plan(*settings)


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


def test_all_files_of_a_folder_are_found_from_any_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.de", "b.de", "a.en", "b.en"):
        Path(name).write_text("Eule.\n")
    train = TextFiles(source=Path("*.de"), target=Path("*.en"))
    Path("days").write_text("a\nb\n")
    download = DownloadParams(
        languages=Languages(source="de", target="en"),
        corpora={"files": FilesCorpus(kind="files", train=train)},
        split=SplitConfig(sessions=SessionSplit(file=Path("days"), held_out=("b",))),
    )
    settings = experiments.list_file_settings(download)
    parsed = OverridesParser.create().parse_overrides([*settings])

    assert {
        "download.corpora.files.train.source": f"{tmp_path}/*.de",
        "download.corpora.files.train.target": f"{tmp_path}/*.en",
        "download.corpora.files.train.sha256": train.digest(),
        "download.split.sessions.file": f"{tmp_path}/days",
        "download.split.sessions.sha256": hashlib.sha256(b"a\nb\n").hexdigest(),
    } == {override.key_or_group: override.value() for override in parsed}


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


def test_it_is_said_first_what_is_trained():
    several = [
        experiments.Experiment(model, seed, (), "")
        for seed in (1, 2)
        for model in ("rnn", "convs2s")
    ]

    assert experiments.describe_plan(several) == "4 trainings: rnn, convs2s; 2 seeds: 1, 2"
    assert experiments.describe_plan(several[3:]) == "1 training: convs2s; 1 seed: 2"


class Running:
    """What Prefect gives for a task that was submitted: its result, or the error it ended with."""

    def __init__(self, error=None):
        self.error = error

    def result(self):
        if self.error:
            raise self.error


@pytest.fixture
def trained(monkeypatch):
    """Runs experiments of which each ends as given; what is noted of them, in order."""
    noted = []

    def start(*errors, wait=list):
        results = iter([Running(error) for error in errors])

        def name_task(*, task_run_name):
            def submit(chosen, *, threads, parent):
                assert (task_run_name, threads, parent) == (chosen.name, 2, "parent")
                return next(results)

            return SimpleNamespace(submit=submit)

        for name, value in {
            "run": SimpleNamespace(with_options=name_task),
            "as_completed": wait,
            "get_run_logger": lambda: SimpleNamespace(info=noted.append),
        }.items():
            monkeypatch.setattr(compare, name, value)
        many = [experiments.Experiment("rnn", seed, (), "") for seed in range(len(errors))]
        monkeypatch.setattr(dvc_program, "list_experiments", lambda: [many[0].name])
        monkeypatch.setattr(dvc_program, "stop_all", lambda: noted.append("all are stopped"))
        compare.run_experiments.fn(many, threads=2, parent="parent")

    start.noted = noted
    return start


def test_an_experiment_that_fails_does_not_stop_the_others_but_is_told(trained):
    with pytest.raises(NmtError, match="out of memory"):
        trained(NmtError("out of memory"), None, None)

    left = ["1 of 3 runs are done", "2 of 3 runs are done, about 0:00:00 left"]
    assert ["3 trainings: rnn; 3 seeds: 0, 1, 2", *left, "3 of 3 runs are done"] == trained.noted


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError])
def test_who_stops_a_comparison_stops_all_that_trains(trained, error):
    """Experiments run in threads of a pool, which would otherwise train on to their end."""

    def interrupt(_):
        raise error

    with pytest.raises(error):
        trained(None, None, wait=interrupt)

    assert "all are stopped" == trained.noted[-1]


def test_who_prepares_next_begins_when_the_one_before_trains_or_has_ended():
    """Whichever comes first, and however it ends; told twice, only one begins."""
    with pytest.raises(NmtError), compare.take_turns():
        assert not compare._preparing.acquire(blocking=False)
        raise NmtError("it fails")
    with compare.take_turns() as may_continue:
        may_continue()
        may_continue()
        with compare.take_turns():
            assert not compare._preparing.acquire(blocking=False)
    assert compare._preparing.acquire(blocking=False)
    compare._preparing.release()


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
