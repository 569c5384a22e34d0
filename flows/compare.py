"""Train several models on equal terms, and test which one is better.

Usage: python -m flows.compare [MODEL ...] [GROUP=NAME ...] [SECTION.KEY=VALUE ...] [--seconds N]

Every model and seed is an experiment of DVC, in a folder of its own: ``params.yaml`` stays as it
is, and what experiments share is made once. The same command again goes on where it was stopped:
experiments that ended are taken as they are, and trainings continue from their checkpoints.
"""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from rich.console import Console

from flows import dvc_program
from flows.artifacts import name_run
from flows.entry import (
    check_server,
    hold_lock,
    leave_nothing_behind,
    report_errors,
)
from flows.experiments import (
    Experiment,
    add_budget,
    parse_seeds,
    plan_experiments,
)
from flows.pipeline import RETRY_SECONDS, server_was_away
from nmt_core.base.progress import format_duration
from nmt_core.base.tracking import Tracker
from stages import paths
from stages.comparison import report, results
from stages.runtime.fingerprint import hash_json
from stages.runtime.git import describe_checkout
from stages.runtime.params_file import read
from stages.tracking.journal import Journal
from stages.tracking.run_metadata import COMPARISON_VARIABLE
from stages.tracking.tracker import TrackingError, open_tracker, send

LAST_STAGE = "evaluate"
PRESETS = paths.CONF / "compare.yaml"
"""The presets that are compared if none is named."""


LOCK = Path(".dvc/tmp/compare.lock")


@task(
    cache_policy=NO_CACHE,
    retries=len(RETRY_SECONDS),
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=server_was_away,
)
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
    log = get_run_logger().info
    finished, began, trained = dvc_program.list_experiments(), time.monotonic(), 0
    states = []
    for done, chosen in enumerate(experiments, start=1):
        named = run.with_options(task_run_name=chosen.name)
        states.append(named(chosen, parent=parent, return_state=True))
        trained += chosen.name not in finished
        log(describe_progress(done, len(experiments), trained, time.monotonic() - began))
    for state in states:
        state.result()


def describe_progress(done: int, total: int, trained: int, seconds: float) -> str:
    """Describe the number of finished runs and, estimated from those trained here, the time left.

    Args:
        done: runs that have ended.
        total: all runs.
        trained: those that ended and had not been run before.
        seconds: since the first began.
    """
    said = f"{done} of {total} runs are done"
    if done == total or not trained:
        return said
    left = seconds / trained * (total - done)
    return f"{said}, about {format_duration(left)} left"


@flow(flow_run_name=name_run)
def compare(
    models: list[str] | None = None,
    settings: list[str] | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    seeds: list[int] | None = None,
) -> results.Comparison:
    """Train several models on equal terms, and test which one is better.

    Args:
        models: Presets of conf/model to compare; null takes those in conf/compare.yaml.
        settings: Settings and groups for all, as in `make compare`: data=europarl, train=standard.
        seconds: Budget of each model in seconds of updates; 300 if no other budget is given.
        steps: Budget of each model in optimizer updates.
        tokens: Budget of each model in target tokens.
        seeds: Seeds to train each model with; null takes 1.
    """
    budgeted = add_budget(settings or [], seconds, steps, tokens)
    models = models or read(PRESETS)["models"]
    chosen = schedule_experiments(models, budgeted, seeds=seeds or [1])
    busy = "another comparison is at work in this project; wait for it, or end it"
    with hold_lock(LOCK, busy):
        result = run_and_report(chosen)
    create_markdown_artifact(
        report.render_markdown(result),
        key="comparison",
        description="Which model is better, how surely",
    )
    return result


def schedule_experiments(
    models: Sequence[str], settings: Sequence[str], *, seeds: Sequence[int]
) -> list[Experiment]:
    """Return the experiments, each with all cores.

    Raises:
        NmtError: if a model or a setting is wrong, or git lacks what experiments need.
    """
    dvc_program.check_git()
    threads = len(os.sched_getaffinity(0))
    limits = [f"train.compute.threads={threads}", f"evaluate.threads={threads}"]
    return plan_experiments(models, [*limits, *settings], seeds=seeds)


def conclude(experiments: Sequence[Experiment], *, command: str) -> results.Comparison:
    """Read the results of the experiments, test them, and write the report."""
    experiments_kept = dvc_program.list_experiments()
    outcomes = [
        results.read_outcome(chosen.model, chosen.seed, chosen.name, experiments_kept[chosen.name])
        for chosen in experiments
    ]
    result = results.compare_outcomes(outcomes, command=command, commit=describe_checkout())
    report.write_report(result, outcomes)
    return result


def track(result: results.Comparison, tracker: Tracker) -> None:
    """Track the results, and metrics that trainings could not send.

    The scores of the best system are the comparison's own, under the names by which MLflow's list
    shows those of runs.
    """
    best, *_ = result.scores.values()
    tracker.metrics({f"test_{metric}": score.value for metric, score in best.items()}, step=0)
    for metric in result.metrics:
        means = {name: scores[metric].value for name, scores in result.scores.items()}
        tracker.metrics({f"test_{metric}/{name}": mean for name, mean in means.items()}, step=0)
    tracker.artifact(report.FOLDER)
    for run in result.runs:
        for path in paths.RUNS.glob(f"{run.fingerprint}*/journal.jsonl"):  # and its evaluations
            with suppress(TrackingError):
                send(Journal(path.parent.name))


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
    seeds: Annotated[
        str, typer.Option(help="Seeds of each model, by number or as a list: 3, or 1,2,3.")
    ] = "1",
    *,
    record: Annotated[
        bool, typer.Option("--record", help=f"Put the report into {report.RESULTS}, too.")
    ] = False,
) -> None:
    """Train several models on equal terms, and test which one is better."""
    named, settings = split_arguments(arguments or [])
    with report_errors():
        models = named or read(PRESETS)["models"]
        chosen = parse_seeds(seeds)
        budgeted = add_budget(settings, seconds, steps, tokens)
        schedule_experiments(models, budgeted, seeds=chosen)  # before a server
        check_server()
        with leave_nothing_behind():
            result = compare(models, settings, seconds, steps, tokens, chosen)
        if record:
            report.record_results(result)
    Console().print(report.render_report(result))
    Console().print(f"written to {report.FOLDER}", style="dim")


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the models, which spaces or commas separate, and the settings."""
    models = [argument for argument in arguments if "=" not in argument and argument[0] != "~"]
    settings = [argument for argument in arguments if argument not in models]
    return [name for names in models for name in names.split(",") if name], settings


def run_and_report(experiments: Sequence[Experiment]) -> results.Comparison:
    """Run, report and track, all nested below one run in MLflow."""
    command = shlex.join(["python", "-m", "flows.compare", *sys.argv[1:]])
    names = [chosen.name for chosen in experiments]
    parent = hash_json(names)[:16]
    title = "compare " + " ".join(dict.fromkeys(chosen.model for chosen in experiments))
    tags = {"mlflow.runName": title}
    with open_tracker(parent, experiment=paths.EXPERIMENT, tags=tags) as tracker:
        tracker.params({"command": command, "experiments": " ".join(names)})
        run_experiments(list(experiments), parent=parent)
        result = conclude(experiments, command=command)
        track(result, tracker)
    return result


if __name__ == "__main__":
    typer.run(main)
