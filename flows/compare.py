"""Train several models on equal terms, and test which one is better.

Usage: python -m flows.compare [MODEL ...] [GROUP=NAME ...] [SECTION.KEY=VALUE ...] [--seconds N]

text=, languages=, validation= and test= name text, as for ``make repro``.

Every model and seed is an experiment of DVC, in a folder of its own: ``params.yaml`` stays as it
is, and what experiments share is made once. The same command again goes on where it was stopped:
experiments that ended are taken as they are, and trainings continue from their checkpoints.
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
from flows.entry import check_server, hold_lock, leave_nothing_behind, report_errors
from flows.train import RETRIES
from nmt_core.base.errors import ConfigError
from nmt_core.base.progress import Tracker
from stages import paths
from stages.configure import compose
from stages.configure.auto import fit_split
from stages.configure.request import Request, find_text
from stages.configure.sections import build_all
from stages.params import DownloadParams
from stages.reporting import comparison
from stages.runtime.fingerprint import digest_code, hash_json
from stages.runtime.git import describe_checkout
from stages.runtime.params_file import read
from stages.tracking.run_metadata import COMPARISON_VARIABLE
from stages.tracking.tracker import open_tracker

LOGGER = logging.getLogger(__name__)

LAST_STAGE = "evaluate"
PRESETS = paths.CONF / "compare.yaml"
"""The presets that are compared if none is named."""

LOCK = Path(".dvc/tmp/compare.lock")

SECONDS = 300.0
"""The budget of every model where none is given."""

FIXED = ("model", "train.budget", "train.seed")
"""Settings that a comparison sets itself."""


class Experiment(NamedTuple):
    """A training with its evaluation."""

    model: str
    seed: int
    name: str
    """The name of DVC's experiment; another setting, text or code makes another name."""
    settings: tuple[str, ...]
    """Hydra's overrides of conf/."""


def plan_experiments(
    models: Sequence[str], settings: Sequence[str], *, seeds: int
) -> list[Experiment]:
    """Return the experiments, seed by seed, each with all cores; a typo costs a second.

    Raises:
        ConfigError: if a model or a setting is wrong, or a model is named twice.
        CorpusError: if a file of the user's own cannot be read.
        NmtError: if git lacks what experiments need.
    """
    dvc_program.check_git()
    if twice := [name for name, times in Counter(models).items() if times > 1]:
        raise ConfigError(
            f"the model {twice[0]} is named twice; one training would count as two, and make "
            f"differences look surer than they are, so name it once"
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
    """Return settings with Hydra's overrides in place of ``text=`` and its companions.

    Raises:
        ConfigError: if a word names nothing, or nothing says the languages.
        CorpusError: if a file cannot be read.
    """
    asked = Request.parse(settings)
    if asked.time:
        raise ConfigError(f"time={asked.time} is not a budget of a comparison; use SECONDS=")
    text = find_text(asked, say=LOGGER.info)
    overrides = [f"{group}={name}" for group, name in asked.choices.items()]
    if text:
        overrides += [f"download.languages={quote_all(text['languages'])}"]
    if corpora := text.get("corpora"):
        overrides += ["data=files", "~download.corpora.files"]
        overrides += [
            f"+download.corpora.{name}={quote_all(corpus)}" for name, corpus in corpora.items()
        ]
        values = compose.compose_groups([*overrides, *asked.settings])
        overrides += fit_split(values, asked.settings)
    return [*overrides, *asked.settings]


def quote_all(value: Any) -> str:
    """Write a value for Hydra, with all words in quotes."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{quote_all(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(quote_all, value))}]"
    return quote(value) if isinstance(value, str) else json.dumps(value)


def make_experiment(model: str, seed: int, settings: list[str], code: str) -> Experiment:
    """Return an experiment with its settings checked, and its files pinned at absolute paths."""
    sections = build_all(compose.compose_groups(settings), source=f"conf/ with model={model}")
    download = sections["download"]
    assert isinstance(download, DownloadParams)
    sections["download"] = download.absolute().pinned()
    before, pinned = (part.model_dump(mode="json") for part in (download, sections["download"]))
    settings = [*settings, *list_overrides(before, pinned, path="download")]
    values = {name: section.model_dump(mode="json") for name, section in sections.items()}
    name = f"{model}-seed{seed}-{hash_json([values, code])[:10]}"
    return Experiment(model, seed, name, tuple(settings))


def list_overrides(
    before: Mapping[str, Any], after: Mapping[str, Any], *, path: str
) -> Iterator[str]:
    """Yield Hydra's overrides that replace strings in settings."""
    for name, value in after.items():
        if isinstance(value, dict):
            yield from list_overrides(before[name], value, path=f"{path}.{name}")
        elif value != before[name]:
            yield f"++{path}.{name}={quote(value)}"  # a corpus may lack the key


def quote(words: object) -> str:
    """Quote words for Hydra."""
    escaped = str(words).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def hash_code() -> str:
    """Return a digest of all code that stages run, and of their dependencies."""
    document = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    return hash_json([digest_code(document), document])


def add_budget(
    settings: Sequence[str], seconds: float | None, steps: int | None, tokens: int | None
) -> list[str]:
    """Return settings with the same budget for every model, and no other.

    Raises:
        ConfigError: if they set what a comparison sets itself, so that it would not hold.
    """
    for setting in settings:
        name = setting.lstrip("+~").partition("=")[0]
        if any(f"{name}.".startswith(f"{fixed}.") for fixed in FIXED):
            raise ConfigError(
                f"{setting} would not hold in a comparison; use MODELS=, SECONDS=, STEPS=, TOKENS= "
                f"and SEEDS= (--seconds, --steps, --tokens and --seeds)"
            )
    if steps is None and tokens is None and seconds is None:
        seconds = SECONDS
    budget = {"steps": steps, "epochs": None, "tokens": tokens, "seconds": seconds}
    limits = {name: "null" if limit is None else limit for name, limit in budget.items()}
    return [*settings, *(f"train.budget.{name}={limit}" for name, limit in limits.items())]


@task(**RETRIES)
def run(chosen: Experiment, *, parent: str) -> None:
    """Run an experiment, or find that it has been run."""
    log = get_run_logger().info
    if chosen.name in dvc_program.list_experiments():
        log("%s has been run", chosen.name)
        return
    dvc_program.run_experiment(
        chosen.name,
        chosen.settings,
        target=LAST_STAGE,
        environment={COMPARISON_VARIABLE: parent},
        log=log,
    )


@flow
def run_experiments(experiments: list[Experiment], *, parent: str) -> None:
    """Run all experiments, one after another; one that fails does not stop the others."""
    states = []
    for done, chosen in enumerate(experiments, start=1):
        named = run.with_options(task_run_name=chosen.name)
        states.append(named(chosen, parent=parent, return_state=True))
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
    """Train several models on equal terms, and test which one is better.

    Args:
        models: Presets of conf/model to compare; null takes those in conf/compare.yaml.
        settings: Settings and groups for all, as in `make compare`: data=europarl, train=standard.
        seconds: Budget of each model in seconds of updates; 300 if no other budget is given.
        steps: Budget of each model in optimizer updates.
        tokens: Budget of each model in target tokens.
        seeds: Trainings of each model, with the seeds 1, 2 and so on.
    """
    budgeted = add_budget(settings or [], seconds, steps, tokens)
    experiments = plan_experiments(models or read(PRESETS)["models"], budgeted, seeds=seeds)
    command = shlex.join(["python", "-m", "flows.compare", *sys.argv[1:]])
    names = [chosen.name for chosen in experiments]
    parent = hash_json(names)[:16]
    title = "compare " + " ".join(dict.fromkeys(chosen.model for chosen in experiments))
    with (
        hold_lock(LOCK, "another comparison works in this project; wait for it, or end it"),
        open_tracker(
            parent, experiment=paths.EXPERIMENT, tags={"mlflow.runName": title}
        ) as tracker,
    ):
        tracker.params({"command": command, "experiments": " ".join(names)})
        run_experiments(experiments, parent=parent)
        result = conclude(experiments, command=command)
        track(result, tracker)
    create_markdown_artifact(
        comparison.render_markdown(result),
        key="comparison",
        description="Which model is better, how surely",
    )
    return result


def conclude(experiments: Sequence[Experiment], *, command: str) -> comparison.Comparison:
    """Read the results of the experiments, test them, and write the report."""
    commits = dvc_program.list_experiments()
    outcomes = [
        comparison.read_outcome(chosen.model, chosen.seed, chosen.name, commits[chosen.name])
        for chosen in experiments
    ]
    result = comparison.compare_outcomes(outcomes, command=command, commit=describe_checkout())
    comparison.write_report(result)
    return result


def track(result: comparison.Comparison, tracker: Tracker) -> None:
    """Track the results.

    The scores of the best system are the comparison's own, under the names by which MLflow's list
    shows those of runs.
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
            help=f"Presets of conf/model to compare, and settings for all. \\[those in {PRESETS}]",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Budget in seconds of updates. [300 if no other is given]")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Budget in optimizer updates.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Budget in target tokens.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each model.")] = 1,
) -> None:
    """Train several models on equal terms, and test which one is better."""
    named = [argument for argument in arguments or [] if "=" not in argument and argument[0] != "~"]
    settings = [argument for argument in arguments or [] if argument not in named]
    with report_errors():
        models = named or read(PRESETS)["models"]
        budgeted = add_budget(settings, seconds, steps, tokens)
        plan_experiments(models, budgeted, seeds=seeds)  # before a server is started
        check_server()
        with leave_nothing_behind():
            result = compare(models, settings, seconds, steps, tokens, seeds)
    Console().print(comparison.render_report(result))
    Console().print(f"written to {comparison.FOLDER}", style="dim")


if __name__ == "__main__":
    typer.run(main)
