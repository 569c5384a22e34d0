"""Train several models with equal budgets, and test which one is better.

Usage: python -m flows.compare [MODEL ...] [GROUP=NAME ...] [SECTION.KEY=VALUE ...] [--seconds N]

text=, languages=, validation= and test= name text, as for ``make repro``.

Every model and seed is an experiment of DVC in a temporary folder: ``params.yaml`` does not change,
and experiments share common outputs. The same command continues a stopped comparison: finished
experiments are reused, and trainings continue from their checkpoints.
"""

import json
import logging
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from pydantic import Field
from rich.console import Console

from flows import dvc_program
from flows.entry import check_server, hold_lock, report_errors, run_in_child
from flows.train import RETRIES
from nmt_core.base.errors import ConfigError
from nmt_core.base.progress import Tracker
from stages import paths
from stages.configure import compose
from stages.configure.auto import fit_split
from stages.configure.request import Request, find_text
from stages.configure.sections import build_all, dump_sections
from stages.reporting import comparison
from stages.runtime.fingerprint import digest_code, hash_json
from stages.runtime.git import describe_checkout
from stages.runtime.params_file import read
from stages.tracking.run_metadata import COMPARISON_VARIABLE
from stages.tracking.tracker import open_tracker

LOGGER = logging.getLogger(__name__)

LAST_STAGE = "evaluate"
PRESETS = paths.CONF / "compare.yaml"
"""File with the presets that are compared by default."""

LOCK = Path(".dvc/tmp/compare.lock")

SECONDS = 300.0
"""Default budget of every model, in seconds."""

FIXED = ("model", "train.budget", "train.seed")
"""Settings that a comparison sets, so that users must not."""


class Experiment(NamedTuple):
    """A training with its evaluation."""

    model: str
    seed: int
    name: str
    """Name of DVC's experiment, which depends on settings, text and code."""
    settings: tuple[str, ...]
    """Hydra's overrides of conf/."""


def plan_experiments(
    models: Sequence[str], settings: Sequence[str], *, seeds: int
) -> list[Experiment]:
    """Return the experiments, seed by seed, each with all cores; check them before training.

    Raises:
        ConfigError: if a model or a setting is wrong, or a model is named twice.
        CorpusError: if one of the user's own files cannot be read.
        NmtError: if the repository has no commit, or git does not track a file of code.
    """
    dvc_program.check_git()
    if repeated := [name for name, times in Counter(models).items() if times > 1]:
        raise ConfigError(
            f"the model {repeated[0]} is named twice, which would count its training twice and "
            f"overstate significance; name it once"
        )
    threads = len(os.sched_getaffinity(0))
    fixed = [f"train.compute.threads={threads}", f"evaluate.threads={threads}"]
    settings = [*fixed, *expand_text(settings)]
    code = hash_code()
    return [
        make_experiment(model, seed, [f"model={model}", *settings, f"train.seed={seed}"], code)
        for seed in range(1, seeds + 1)
        for model in models
    ]


def expand_text(settings: Sequence[str]) -> list[str]:
    """Return settings with Hydra's overrides instead of ``text=`` and other arguments about text.

    Raises:
        ConfigError: if a word names no text, or the languages are unknown.
        CorpusError: if a file cannot be read.
    """
    request = Request.parse(settings)
    if request.time:
        raise ConfigError(f"time={request.time} is not a budget of a comparison; use SECONDS=")
    text = find_text(request, say=LOGGER.info)
    overrides = [f"{group}={name}" for group, name in request.choices.items()]
    if text:
        overrides += [f"download.languages={quote_all(text['languages'])}"]
    if corpora := text.get("corpora"):
        overrides += ["data=files", "~download.corpora.files"]
        overrides += [
            f"+download.corpora.{name}={quote_all(corpus)}" for name, corpus in corpora.items()
        ]
        values = compose.compose_groups([*overrides, *request.settings])
        overrides += fit_split(values, request.settings)
    return [*overrides, *request.settings]


def quote_all(value: Any) -> str:
    """Return a value in Hydra's syntax, with all strings in quotes."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{quote_all(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(quote_all, value))}]"
    return quote(value) if isinstance(value, str) else json.dumps(value)


def make_experiment(model: str, seed: int, settings: list[str], code: str) -> Experiment:
    """Return an experiment with checked settings, and pinned, absolute paths of own files."""
    sections = build_all(compose.compose_groups(settings), source=f"conf/ with model={model}")
    download = sections["download"]
    sections["download"] = download.absolute().pinned()
    values = dump_sections(sections)
    before = download.model_dump(mode="json")
    settings = [*settings, *list_overrides(before, values["download"], path="download")]
    name = f"{model}-seed{seed}-{hash_json([values, code])[:10]}"
    return Experiment(model, seed, name, tuple(settings))


def list_overrides(
    before: Mapping[str, Any], after: Mapping[str, Any], *, path: str
) -> Iterator[str]:
    """Yield Hydra's overrides for the strings that differ in ``after``."""
    for name, value in after.items():
        if isinstance(value, dict):
            yield from list_overrides(before[name], value, path=f"{path}.{name}")
        elif value != before[name]:
            yield f"++{path}.{name}={quote(value)}"  # a corpus may lack the key


def quote(value: object) -> str:
    """Return a value as a quoted string in Hydra's syntax."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def hash_code() -> str:
    """Return a digest of the code of all stages, and of dvc.yaml."""
    document = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    return hash_json([digest_code(document), document])


def add_budget(
    settings: Sequence[str], seconds: float | None, steps: int | None, tokens: int | None
) -> list[str]:
    """Return settings with the common budget of all models; by default ``SECONDS``.

    Raises:
        ConfigError: if ``settings`` have one that a comparison sets itself.
    """
    for setting in settings:
        name = setting.lstrip("+~").partition("=")[0]
        if any(f"{name}.".startswith(f"{fixed}.") for fixed in FIXED):
            raise ConfigError(
                f"{setting} must not be set, because a comparison sets it; use MODELS=, SECONDS=, "
                f"STEPS=, TOKENS= and SEEDS= (--seconds, --steps, --tokens and --seeds)"
            )
    if steps is None and tokens is None and seconds is None:
        seconds = SECONDS
    budget = {"steps": steps, "epochs": None, "tokens": tokens, "seconds": seconds}
    limits = {name: "null" if limit is None else limit for name, limit in budget.items()}
    return [*settings, *(f"train.budget.{name}={limit}" for name, limit in limits.items())]


@task(**RETRIES)
def run(experiment: Experiment, *, parent: str) -> None:
    """Run an experiment, unless DVC has its result."""
    log = get_run_logger().info
    if experiment.name in dvc_program.list_experiments():
        log("%s is finished already", experiment.name)
        return
    dvc_program.run_experiment(
        experiment.name,
        experiment.settings,
        target=LAST_STAGE,
        environment={COMPARISON_VARIABLE: parent},
        log=log,
    )


@flow
def run_experiments(experiments: list[Experiment], *, parent: str) -> None:
    """Run all experiments, one after another; a failed one does not stop the others."""
    states = []
    for done, experiment in enumerate(experiments, start=1):
        named_task = run.with_options(task_run_name=experiment.name)
        states.append(named_task(experiment, parent=parent, return_state=True))
        get_run_logger().info("%d of %d runs are done", done, len(experiments))
    for state in states:
        state.result()


@flow
def compare(
    models: list[str] | None = None,
    settings: list[str] | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    seeds: Annotated[int, Field(ge=1)] = 1,
) -> comparison.Comparison:
    """Train several models with equal budgets, and test which one is better.

    Args:
        models: Presets of conf/model to compare; null for those in conf/compare.yaml.
        settings: Settings and presets for all, as in `make compare`: data=europarl, train=standard.
        seconds: Budget of each model in seconds of updates; 300 without another budget.
        steps: Budget of each model in optimizer updates.
        tokens: Budget of each model in target tokens.
        seeds: Number of trainings of each model, with the seeds 1, 2 and so on.
    """
    budgeted = add_budget(settings or [], seconds, steps, tokens)
    experiments = plan_experiments(models or read(PRESETS)["models"], budgeted, seeds=seeds)
    command = shlex.join(["python", "-m", "flows.compare", *sys.argv[1:]])
    names = [experiment.name for experiment in experiments]
    parent = hash_json(names)[:16]
    title = "compare " + " ".join(dict.fromkeys(experiment.model for experiment in experiments))
    with (
        hold_lock(LOCK, "another comparison runs in this project; wait for it, or stop it"),
        open_tracker(parent, tags={"mlflow.runName": title}) as tracker,
    ):
        tracker.params({"command": command, "experiments": " ".join(names)})
        run_experiments(experiments, parent=parent)
        result = conclude(experiments, command=command)
        track(result, tracker)
    create_markdown_artifact(
        comparison.render_markdown(result),
        key="comparison",
        description="Scores and tests of differences",
    )
    return result


def conclude(experiments: Sequence[Experiment], *, command: str) -> comparison.Comparison:
    """Return the comparison of the experiments' results, and write its report."""
    commits = dvc_program.list_experiments()
    outcomes = [
        comparison.read_outcome(each.model, each.seed, each.name, commits[each.name])
        for each in experiments
    ]
    result = comparison.compare_outcomes(outcomes, command=command, commit=describe_checkout())
    comparison.write_report(result)
    return result


def track(result: comparison.Comparison, tracker: Tracker) -> None:
    """Record the results in the comparison's run in MLflow.

    The best system's scores are recorded as the run's own test scores, which MLflow lists.
    """
    best, *_ = result.scores.values()
    tracker.metrics({f"test_{metric}": score.value for metric, score in best.items()}, step=0)
    for metric in result.signatures:
        means = {name: scores[metric].value for name, scores in result.scores.items()}
        tracker.metrics({f"test_{metric}/{name}": mean for name, mean in means.items()}, step=0)
    tracker.artifact(comparison.FOLDER)


def main(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL|KEY=VALUE]...",
            help=f"Presets of conf/model to compare, and settings for all; default: {PRESETS}.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Budget in seconds of updates; 300 without another budget.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Budget in optimizer updates.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Budget in target tokens.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of trainings of each model.")] = 1,
) -> None:
    """Train several models with equal budgets, and test which one is better."""
    named = [argument for argument in arguments or [] if "=" not in argument and argument[0] != "~"]
    settings = [argument for argument in arguments or [] if argument not in named]
    with report_errors():
        models = named or read(PRESETS)["models"]
        budgeted = add_budget(settings, seconds, steps, tokens)
        plan_experiments(models, budgeted, seeds=seeds)  # checks before a server starts
        check_server()
        with run_in_child():
            result = compare(models, settings, seconds, steps, tokens, seeds)
    Console().print(comparison.render_report(result))
    Console().print(f"written to {comparison.FOLDER}", style="dim")


if __name__ == "__main__":
    typer.run(main)
