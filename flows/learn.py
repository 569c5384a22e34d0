"""Fine-tune the champion on users' corrections, and promote the result if it passes both tests.

Usage: python -m flows.learn [--journal FILE]

It is safe to repeat: without changed corrections or settings, nothing is trained.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run
from rich.console import Console

from flows import clone
from flows.entry import check_server, report_errors, run_in_child
from flows.retrain import check_text, decide
from flows.train import introduce, plan_stages, publish, run_stages
from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.evaluation.registry import GateConfig
from stages import paths
from stages.configure.compose import pin_all, render_params
from stages.configure.sections import build_all, read_settings
from stages.learning.correction_corpus import (
    JUDGED,
    CorrectionCorpus,
    LearningConfig,
    compose_learning,
    digest_judged,
    write_corrections,
)
from stages.learning.judgement import (
    Learned,
    count_uses,
    explain_shortage,
    judge_learning,
    record_learned,
    render_corrections,
    render_learned,
)
from stages.params import DownloadParams, EvaluateParams, PromotionParams, load
from stages.registry.exported import Exported, model_name
from stages.registry.promotion import Contest
from stages.registry.registry import Registry
from stages.runtime.checkout import put_aside, put_back
from stages.synthesis.composition import count_weighted_pairs, read_temperature


def judge_learned(
    registry: Registry, challenger: Exported, *, corrections: CorrectionCorpus, gate: GateConfig
) -> tuple[Contest, Learned]:
    """Judge the fine-tuned export, record both tests, and return their result."""
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


@flow
def learn(
    learning: LearningConfig = LearningConfig(), gate: GateConfig = GateConfig()
) -> Learned | None:
    """Fine-tune the champion on users' corrections, and promote the result if it passes both tests.

    The settings of the worker's clone are used, and restored at the end.

    Args:
        learning: Selection of corrections, and length of the training.
        gate: Evidence that a promotion requires.
    """
    say = get_run_logger().info
    with clone.hold_clone(say):
        introduce()
        run_stages(plan_stages("download"), shared=False)
        download = load(DownloadParams, "download")
        if missing := name_missing(learning):
            say(f"{missing}; nothing was trained")
            return None
        corrections = write_corrections(learning, download.learned, download.filter)
        uses = ", ".join(f"{n:,} {use}" for use, n in count_uses(corrections).items())
        say(f"{corrections.given:,} corrections: {uses}")
        if shortage := explain_shortage(corrections, learning):
            say(shortage)
            create_markdown_artifact(
                f"{shortage.capitalize()}.\n\n{render_corrections(corrections)}",
                key="learned",
                description="Uses of the corrections",
            )
            return None
        judged = digest_judged(corrections, learning, gate)
        if JUDGED.exists() and JUDGED.read_text(encoding="utf-8").strip() == judged:
            say("no correction or setting has changed since the last test; nothing was trained")
            return None
        check_text("same")
        params = compose_params(corrections, learning, download)
        put_aside(params)
        try:
            clone.put_params(params)
            run_stages(plan_stages("export"), shared=False)
            publish()
            learned = decide(
                partial(judge_learned, corrections=corrections, gate=gate),
                promotion=str(flow_run.get_id()),
                by=f"flow run {flow_run.get_name()}",
            )
        finally:
            put_back()
        files.write_text(JUDGED, f"{judged}\n")
    say("%s: %s", learned.contest.outcome, learned.contest.reason)
    create_markdown_artifact(
        render_learned(learned), key="learned", description="Fine-tuning on corrections"
    )
    return learned


def name_missing(learning: LearningConfig) -> str | None:
    """Return a message if the journal of corrections is missing, otherwise None."""
    path = learning.journal
    message = f"the journal {path} is missing; make serve CORRECTIONS={path} writes it"
    return None if path.exists() else message


def compose_params(
    corrections: CorrectionCorpus, learning: LearningConfig, download: DownloadParams
) -> str:
    """Return the params.yaml that fine-tunes the champion on corrections.

    Raises:
        ConfigError: if another corpus has the name of the corrections.
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
        Path, typer.Option(help="Journal of nmt serve --corrections.")
    ] = paths.CORRECTIONS,
    *,
    approved: Annotated[bool, typer.Option(help="Train only on approved corrections.")] = False,
) -> None:
    """Fine-tune the champion on corrections, and promote the result if it passes both tests."""
    learning = LearningConfig(journal=journal, undecided=not approved)
    with report_errors():
        if missing := name_missing(learning):
            raise NmtError(missing)
        plan_stages("export")  # checks before a server starts
        check_server()
        with run_in_child():
            learned = learn(learning)
    message = "nothing was trained, for the reason above"
    if learned is not None:
        message = f"{learned.contest.outcome}: {learned.contest.reason}"
    Console().print(message, markup=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
