"""Translate text by a teacher and train on it: distillation or back-translation.

Usage: python -m flows.synthesize [TEACHER] [--student] [--backward] [--direction PAIR]
       [--text FILE ...] [SET ...]

The same command continues after a stop: translations are kept, and training continues.
"""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from rich.console import Console

from flows import clone
from flows.entry import check_server, report_errors, run_in_child
from flows.train import introduce, plan_stages, publish, run_stages
from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.seal import digest_bundle
from nmt_core.corpora.reading import read_texts
from stages import paths
from stages.configure.compose import apply_changes, pin_all, render_params
from stages.configure.sections import build_all, read_settings
from stages.params import DownloadParams, Sections, load
from stages.runtime.checkout import put_aside, put_back
from stages.synthesis.composition import (
    SynthesisConfig,
    compose_synthesis,
    count_weighted_pairs,
    find_folder,
    read_temperature,
    remove_corpora,
)
from stages.synthesis.synthesis import WrittenSynthesis, check_inputs, render_synthesis, synthesize

TEACHERS = paths.DOWNLOADS / "teachers"
"""Folder of copies of this clone's exports that are teachers; training replaces the export."""


@task(task_run_name="translate", cache_policy=NO_CACHE)
def translate_text(config: SynthesisConfig, name: str, languages: Languages) -> WrittenSynthesis:
    """Translate by the teacher all text that is not translated yet; return the counts."""
    log = get_run_logger().info
    return synthesize(
        config, name, languages, say=lambda done, total: log(f"{done:,} of {total:,} lines")
    )


@flow(name="synthesize")
def synthesize_and_train(
    synthesis: SynthesisConfig = SynthesisConfig(),
    *,
    student: bool = False,
    settings: list[str] | None = None,
) -> list[WrittenSynthesis]:
    """Translate text by a teacher, and train a model on these pairs and the present text.

    The settings of the worker's clone are used; afterwards they include the pairs.

    Args:
        synthesis: Teacher, direction, text and sampling weight.
        student: Train a small, fast model, with the preset student.
        settings: Changes of params.yaml for the training, as in `make repro`.
    """
    say = get_run_logger().info
    with clone.hold_clone(say):
        introduce()
        present = read_settings()
        corpora = synthesis.plan_corpora(load(DownloadParams, "download"))
        config = keep_teacher(synthesis, corpora)
        values = remove_corpora(present, corpora)

        def compose(kept: Mapping[str, int], pairs: float) -> Sections:
            composed = compose_synthesis(
                values, config, corpora, kept=kept, pairs=pairs, student=student
            )
            changed = apply_changes(composed, settings or [])
            return build_all(changed, source="flows/synthesize.py")

        # checks all settings before hours of translating
        compose(kept=dict.fromkeys(corpora, 1), pairs=1.0)
        try:
            if values != present:
                sections = build_all(values, source=str(paths.PARAMS))
                params = render_params(sections)
                put_aside(params)
                clone.put_params(params)
            run_stages(plan_stages("download"), shared=False)
            written = [translate_text(config, *corpus) for corpus in corpora.items()]
            kept = {name: each.kept for name, each in zip(corpora, written, strict=True)}
            pairs = count_weighted_pairs(read_temperature(present))
            clone.put_params(render_params(pin_all(compose(kept, pairs))))
        finally:
            put_back()
        for name, each in zip(corpora, written, strict=True):
            folder = find_folder(name)
            say("%d of %d translations are usable, in %s", each.kept, each.lines, folder)
        create_markdown_artifact(
            render_synthesis(written), key="synthesis", description="Translations of the teacher"
        )
        run_stages(plan_stages("export"), shared=False)
        publish()
    return written


def keep_teacher(config: SynthesisConfig, corpora: Collection[str]) -> SynthesisConfig:
    """Return settings with a copy of the teacher, if the teacher is this clone's export.

    Raises:
        ConfigError: if the export was trained on pairs of one of these corpora.
    """
    if config.teacher.resolve() != paths.EXPORT.resolve() or not paths.EXPORT.is_dir():
        return config
    if learnt := [name for t in read_texts(paths.EXPORT) for name in corpora if name in t.corpora]:
        copies = ", ".join(map(str, sorted(TEACHERS.glob("*")))) or f"none in {TEACHERS}"
        raise ConfigError(
            f"{paths.EXPORT} was itself trained on {learnt[0]} pairs; name their teacher; "
            f"copies of teachers: {copies}"
        )
    copy = TEACHERS / digest_bundle(paths.EXPORT)[:16]
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        with files.whole_folder(copy) as part:
            shutil.copytree(paths.EXPORT, part, dirs_exist_ok=True)
    return config.model_copy(update={"teacher": copy})


def main(
    teacher: Annotated[Path, typer.Argument(help="Folder of an exported model.")] = paths.EXPORT,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="As in make repro.")
    ] = None,
    *,
    student: Annotated[bool, typer.Option(help="Train a small, fast model.")] = False,
    backward: Annotated[
        bool, typer.Option(help="Back-translate text of the target language.")
    ] = False,
    direction: Annotated[
        str, typer.Option(metavar="PAIR", help="Direction of the pairs, if there are several.")
    ] = "",
    text: Annotated[
        list[Path] | None,
        typer.Option(help="File with one sentence per line; repeat it for several."),
    ] = None,
) -> None:
    """Translate text by a teacher, and train a model on these pairs and the present text."""
    with report_errors():
        plan_stages("export")
        values = {
            "teacher": teacher,
            "backward": backward,
            "direction": direction or None,
            "text": text or (),
        }
        synthesis = build(SynthesisConfig, values, at="synthesis")
        corpora = synthesis.plan_corpora(load(DownloadParams, "download"))
        check_inputs(synthesis, corpora.values())
        check_server()  # last, because it may start a server
        with run_in_child():
            written = synthesize_and_train(synthesis, student=student, settings=settings)
    Console().print(render_synthesis(written), markup=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
