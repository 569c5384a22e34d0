"""Quality beside cost: BLEU by processor seconds of training, and by sentences a second.

Usage: python -m benchmarks.quality [--peer NAME ...] [--steps N ...] [--record]

All learn the text that `make repro` has left in data/, cut into the same tokens, by a Transformer
of the same shape, in batches of as many tokens: ours by the stages and settings of params.yaml,
peers by Adam with the schedule of Vaswani et al. 2017 (section 5.3). Each number of updates is a
training of its own, from start to end of its program, with all that a user pays for.

The models of the most updates translate the test text, by one thread: ours by ``nmt translate`` of
its export, with checks and all; peers by their own command. The sentences a second are those that
the whole text has more than a part of it, so that starting is free. ``--record`` writes table and
picture into docs/.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

import sacrebleu
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.report import record, render_blocks
from benchmarks.training.__main__ import NAMES, run
from benchmarks.training.loops import System as Loop
from benchmarks.training.peers import PEERS, check_peers
from benchmarks.training.work import Shape, Work
from nmt_core.base import files
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.evaluation.pictures import Curve, draw_panels
from nmt_core.text.vocabulary import SPECIALS
from stages import paths
from stages.params import TrainParams, load

MARK = "quality"
"""Of the table in docs/performance.md."""
PICTURE = Path("docs/quality.png")
STEPS = (150, 300, 600, 1200)
BEAMS = (5, 1)
PART = 10
"""One sentence of so many is translated apart, to know what starting takes."""
WARM_UP = 4
"""One update of so many is of the time in which a peer's learning rate grows."""
OURS = NAMES[Loop.OURS]
ALONE = (
    "train.compute.threads=1",
    "evaluate.threads=1",
    "evaluate.behaviour.lines=0",
    "evaluate.resamples=0",
    "evaluate.pictures=0",
)
"""Settings by which our stages take one thread, and measure no more than the export needs."""
CODE = ("conf", "dvc.yaml", "nmt_core", "stages")


Translate = Callable[[Path, int, Path], list[str]]
"""Takes a text, a beam size and a file; returns the command that writes translations into it."""


class Trained(NamedTuple):
    """A model, and the processor seconds of its training."""

    seconds: float
    translate: Translate


class System(NamedTuple):
    """What learns to translate."""

    name: str
    train: Callable[[int], Trained]
    """Takes a number of updates."""
    test: Path
    """The test text as it reads it."""


class Result(NamedTuple):
    """A training, and how its model translates."""

    system: str
    steps: int
    training_seconds: float
    """Of processor time."""
    beam_size: int
    bleu: float
    speed: float
    """Sentences by second of processor time; 0 where it was not measured."""


def train_ours(folder: Path, steps: int) -> Trained:
    """Train by our stages, in a folder of their own; evaluation and export are not counted."""
    place = folder / f"ours-{steps}"
    place.mkdir()
    for name in CODE:
        (place / name).symlink_to(Path(name).resolve())
    shutil.copy2("params.yaml", place)
    for name in ("data", "metrics"):
        shutil.copytree(name, place / name)

    def run_stage(name: str, *given: str) -> float:
        command = [sys.executable, "-m", f"stages.{name}", *given]
        return run(command, len, threads=1, folder=place).processor_seconds

    budget = f"train.budget.steps={steps}", f"train.training.validate_every={steps}"
    run_stage("configure", *budget, *ALONE)
    seconds = run_stage("train")
    run_stage("evaluate")
    run_stage("export")
    return Trained(seconds, partial(translate_by_ours, place / paths.EXPORT))


def translate_by_ours(model: Path, text: Path, beam_size: int, written: Path) -> list[str]:
    """Return the command that translates a text by an export."""
    options = ["--model", str(model), "--beam-size", str(beam_size), "--threads", "1"]
    redirect = ["sh", "-c", 'exec "$@" <"$0" >"$OUTPUT"', str(text)]
    command = [sys.executable, "-m", "nmt_core.cli", "translate", *options]
    return ["env", f"OUTPUT={written}", *redirect, *command]


def write_work(folder: Path) -> Work:
    """Return what there is to learn for peers: the tokens of our training text, and our shape."""
    settings = load(TrainParams, "train")
    sides = ("source", "target")
    read = {token for side in sides for token in files.read_lines(paths.VOCABULARY / f"{side}.txt")}
    tokens = folder / "tokens"
    files.write_lines(tokens, sorted(read - {*SPECIALS, *ALL_SYMBOLS}))
    model = settings.model.model_dump()
    shape = Shape(**{field.name: model[field.name] for field in fields(Shape)})
    source, target = (paths.TOKENIZED / f"train.{side}" for side in sides)
    return Work(source, target, tokens, settings.batching.max_tokens, shape)


def train_peer(name: str, work: Work, folder: Path, steps: int) -> Trained:
    """Train a peer, whose learning rate grows in a fourth of the updates."""
    peer = PEERS[name]
    programs = peer.install(name)
    place = folder / f"{name}-{steps}"
    place.mkdir()
    command = peer.prepare(programs, replace(work, warmup=max(1, steps // WARM_UP)), place, steps)
    seconds = run(command, len, threads=1).processor_seconds
    return Trained(seconds, partial(peer.translate, programs, place))


def translate(trained: Trained, text: Path, beam_size: int) -> tuple[list[str], float]:
    """Return the translations of a text, tokens joined, and the processor seconds they took."""
    written = text.with_name(f"{text.name}.written")
    done = run(trained.translate(text, beam_size, written), len, threads=1)
    return [join_pieces(line) for line in files.read_lines(written)], done.processor_seconds


def join_pieces(line: str) -> str:
    """Return a line of subwords as text; text stays as it is."""
    return "".join(line.split()).replace("▁", " ").strip() if "▁" in line else line


def measure(system: System, steps: int, folder: Path, *, timed: bool) -> list[Result]:
    """Train once and translate the test text with each beam size.

    Args:
        system: what learns.
        steps: updates.
        folder: to write into.
        timed: measure the speed of translating, too.
    """
    trained = system.train(steps)
    references = [*files.read_lines(paths.CORPUS / "test.target")]
    lines = [*files.read_lines(system.test)]
    whole, part = folder / "whole", folder / "part"
    files.write_lines(whole, lines)
    files.write_lines(part, lines[::PART])
    results = []
    for beam_size in BEAMS:
        texts, seconds = translate(trained, whole, beam_size)
        bleu = sacrebleu.corpus_bleu(texts, [references]).score
        speed = 0.0
        if timed:
            some, fewer = translate(trained, part, beam_size)
            speed = (len(texts) - len(some)) / (seconds - fewer)
        results.append(Result(system.name, steps, trained.seconds, beam_size, bleu, speed))
    return results


def tabulate(results: Sequence[Result]) -> list[list[str]]:
    """Return a heading, and a row for each training and beam size."""
    rows = [["training and search", "processor seconds", "BLEU", "sentences per processor second"]]
    return rows + [
        [
            f"{one.system}, {one.steps:,} updates, beam {one.beam_size}",
            f"{one.training_seconds:,.0f}",
            f"{one.bleu:.1f}",
            f"{one.speed:,.0f}" if one.speed else "",
        ]
        for one in results
    ]


def trace(system: str, points: Sequence[tuple[Result, float]]) -> Curve:
    """Return the curve of BLEU over a cost of a system, of the results of all with their costs."""
    own = [(cost, one.bleu) for one, cost in points if one.system == system]
    return Curve(system, [cost for cost, _ in own], [bleu for _, bleu in own])


def draw(path: Path, results: Sequence[Result]) -> None:
    """Write a picture of BLEU over both costs, a curve for each system."""
    beams = " and ".join(map(str, BEAMS))
    best = [(one, one.training_seconds) for one in results if one.beam_size == BEAMS[0]]
    timed = [(one, one.speed) for one in results if one.speed]
    costs = {
        "processor seconds of training": best,
        f"sentences translated by processor second, beams of {beams}": timed,
    }
    names = dict.fromkeys(one.system for one in results)
    draw_panels(
        path,
        {
            (cost, "test BLEU"): [trace(name, points) for name in names]
            for cost, points in costs.items()
        },
    )


def main(
    peer: Annotated[list[str] | None, typer.Option(help="A toolkit to train beside.")] = None,
    steps: Annotated[list[int] | None, typer.Option(min=1, help="Updates of a training.")] = None,
    *,
    record_table: Annotated[bool, typer.Option("--record")] = False,
) -> None:
    """Train and translate by all, print a table and write a picture."""
    check_peers(peer or [])
    if not paths.TOKENIZED.exists():
        raise typer.BadParameter(f"there is no text in {paths.TOKENIZED}; run make repro before")
    budgets = sorted(steps or STEPS)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        systems = [System(OURS, partial(train_ours, folder), paths.CORPUS / "test.source")]
        if peer:
            work = write_work(folder)
            systems += [
                System(
                    name, partial(train_peer, name, work, folder), paths.TOKENIZED / "test.source"
                )
                for name in peer
            ]
        ways = [(system, budget) for budget in budgets for system in systems]
        shown = track(ways, "trainings", console=Console(stderr=True))
        measured = [
            measure(system, budget, folder, timed=budget == budgets[-1]) for system, budget in shown
        ]
        results = sorted(chain.from_iterable(measured), key=lambda one: (one.system != OURS, one))
    rows = tabulate(results)
    typer.echo(render_blocks("quality beside cost, one thread", rows))
    draw(PICTURE if record_table else paths.REPORTS / "quality.png", results)
    if record_table:
        record(f"python -m benchmarks.quality {' '.join(sys.argv[1:])}", rows, mark=MARK)


if __name__ == "__main__":
    typer.run(main)
