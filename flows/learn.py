"""Learn from what users corrected, and promote the result if both tests agree.

Usage: python -m flows.learn [--journal FILE]

Running it again does no harm: only changed corrections or settings are learnt and judged again.
"""

from pathlib import Path
from typing import Annotated

import typer
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run
from rich.console import Console

from flows import clone
from flows.artifacts import name_run, publish
from flows.entry import (
    check_server,
    leave_nothing_behind,
    report_errors,
)
from flows.retrain import check_text, promote_winner, registry_was_away
from flows.train import RETRY_SECONDS, NodeCount, check_nodes, introduce, plan_stages, run_stages
from nmt_core.base.errors import NmtError
from nmt_core.evaluation.statistics.settings import GateConfig
from stages import paths
from stages.configure.compose import pin_all, render_params
from stages.configure.sections import build_all, read_settings
from stages.configure.text_size import count_weighted_pairs, read_temperature
from stages.learning.correction_corpus import (
    CorrectionCorpus,
    LearningConfig,
    compose_learning,
    note_judged,
    was_judged,
    write_corrections,
)
from stages.learning.judgement import (
    Learned,
    explain_shortage,
    judge_learning,
    list_fates,
    record_learned,
    render_corrections,
    render_learned,
)
from stages.params import DownloadParams, EvaluateParams, load
from stages.registry.exported import Exported, model_name
from stages.registry.promotion import Contest
from stages.registry.registry import Registry
from stages.registry.settings import PromotionParams
from stages.runtime.checkout import put_aside, put_back


@task(
    task_run_name="decide",
    cache_policy=NO_CACHE,
    retries=len(RETRY_SECONDS),
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=registry_was_away,
)
def decide_learned(
    corrections: CorrectionCorpus, gate: GateConfig, *, promotion: str, by: str
) -> Learned:
    """Judge the fine-tuned export, and promote it if it is better."""

    def contend(registry: Registry, challenger: Exported) -> tuple[Contest, Learned]:
        learned = judge_learning(
            registry,
            challenger,
            corrections,
            load(EvaluateParams, "evaluate"),
            gate=gate,
            promotion=load(PromotionParams, "promotion"),
        )
        record_learned(learned, challenger)
        return learned.contest, learned

    return promote_winner(contend, promotion=promotion, by=by)


@flow(flow_run_name=name_run)
def learn(
    learning: LearningConfig = LearningConfig(),
    gate: GateConfig = GateConfig(),
    nodes: NodeCount | None = None,
) -> Learned | None:
    """Learn from what users corrected, and promote the result if both tests agree.

    The settings of the worker's clone are used, and are as before when it ends.

    Args:
        learning: What is learnt of corrections, and how long.
        gate: How much evidence a promotion takes.
        nodes: Number of Slurm machines that train one model and share the folder of this clone.
            Null trains here.
    """
    say = get_run_logger().info
    check_nodes(nodes)
    with clone.hold_clone(say):
        introduce()
        run_stages(plan_stages("download"), shared=False)
        download = load(DownloadParams, "download")
        if not learning.journal.exists():
            say(f"{name_missing(learning)}, so nothing is learnt")
            return None
        corrections = write_corrections(learning, download.languages, download.filter)
        fates = ", ".join(f"{n:,} {fate}" for fate, n in list_fates(corrections).items())
        say(f"{corrections.given:,} corrections: {fates}")
        if shortage := explain_shortage(corrections, learning):
            say(shortage)
            create_markdown_artifact(
                f"{shortage.capitalize()}.\n\n{render_corrections(corrections)}",
                key="learned",
                description="What became of corrections",
            )
            return None
        if was_judged(corrections, learning, gate):
            say("nothing is new since they were last learnt and judged")
            return None
        check_text("same")
        params = compose_params(corrections, learning, download)
        put_aside(params)
        try:
            clone.put_params(params)
            run_stages(plan_stages("export"), shared=False, nodes=nodes)
            publish()
            who = f"flow run {flow_run.get_name()}"
            learned = decide_learned(corrections, gate, promotion=str(flow_run.get_id()), by=who)
        finally:
            put_back()
        note_judged(corrections, learning, gate)
    say("%s: %s", learned.contest.outcome, learned.contest.reason)
    create_markdown_artifact(
        render_learned(learned), key="learned", description="What users have taught"
    )
    return learned


def name_missing(learning: LearningConfig) -> str:
    """Return the message about a missing journal, with the command that writes it."""
    path = learning.journal
    return f"there is no journal {path}; make serve CORRECTIONS={path} writes it"


def compose_params(
    corrections: CorrectionCorpus, learning: LearningConfig, download: DownloadParams
) -> str:
    """Return the params.yaml that fine-tunes the champion on corrections.

    Raises:
        ConfigError: if it cannot be read together with the other corpora.
        RegistryError: if there is no champion, or the registry does not answer.
    """
    present = read_settings()
    values = compose_learning(
        present,
        corrections,
        learning,
        champion=Registry(model_name(download.languages)).find_initial("").digest,
        pairs=count_weighted_pairs(read_temperature(present)),
    )
    return render_params(pin_all(build_all(values, source="flows/learn.py")))


def main(
    journal: Annotated[
        Path, typer.Option(help="The journal of corrections, as nmt serve writes it.")
    ] = paths.CORRECTIONS,
    *,
    approved: Annotated[bool, typer.Option(help="Learn only approved corrections.")] = False,
) -> None:
    """Learn from what users corrected, and promote the result if both tests agree."""
    learning = LearningConfig(journal=journal, undecided=not approved)
    with report_errors():
        if not journal.exists():
            raise NmtError(name_missing(learning))
        plan_stages("export")  # before a server is started
        check_server()
        with leave_nothing_behind():
            learned = learn(learning)
    message = "nothing was learnt, for the reason above"
    if learned is not None:
        message = f"{learned.contest.outcome}: {learned.contest.reason}"
    Console().print(message, markup=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
