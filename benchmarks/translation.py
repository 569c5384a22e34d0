"""Translation speed on one core, by each engine.

Usage: python -m benchmarks.translation [PRESETS...] [--rounds N]
       python -m benchmarks.translation --bundle FOLDER --text FILE [--rounds N]

Presets are those of conf/model, by default one of every family, with random weights and a
vocabulary of 8,000 tokens. Their sentences are as long as image captions in subwords and their
translations end at a length limit, for random weights end none. PyTorch searches them.

With ``--bundle``, every engine of an exported model translates ``--text``, a file of one sentence
a line; if CTranslate2 is among them, so does CTranslate2 used by hand, as its documentation shows:
its defaults, subwords cut and joined by sentencepiece, sentences sorted by length.

The unit is sentences per second of processor time. Every round starts a process anew and measures
all cases in it once; the table shows medians over rounds.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import ctranslate2
import numpy as np
import sentencepiece
import torch
import typer
from torch import Tensor

from benchmarks.gpu import build_preset
from benchmarks.report import show
from nmt_core.data.batch import pad
from nmt_core.search.beam import beam_search
from nmt_core.search.rules import compute_length_limits
from nmt_core.search.settings import BeamConfig
from nmt_core.search.stepwise import greedy_search
from nmt_core.text.vocabulary import EOS, PAD
from nmt_core.translation.loading import list_usable_engines
from nmt_core.translation.translator import Translator

PRESETS = ["transformer", "rnn_attention", "rnn_bahdanau", "convs2s"]
VOCABULARY = 8000
BEAM = BeamConfig(beam_size=5, max_length_factor=1.0, max_length_offset=2)

CASES = ("beam 5, batches", "beam 5, line by line", "greedy, batches", "greedy, line by line")

Translate = Callable[[Sequence[Any], int], object]
"""Takes sentences and a beam size."""

Measured = dict[str, dict[str, dict[str, float]]]
"""Sentences per second of a case, by an engine, of a model."""


def draw_sentences(count: int) -> list[list[int]]:
    """Return random sentences with lengths like those of image captions in subwords."""
    draw = np.random.default_rng(1)
    lengths = np.clip(draw.poisson(14.8, count), 3, 60)
    return [[*draw.integers(4, VOCABULARY, length).tolist(), EOS] for length in lengths]


def search_preset(name: str) -> Translate:
    """Return PyTorch's searches over a preset with random weights."""
    torch.manual_seed(1)
    model = build_preset(name, VOCABULARY).eval()

    def search(sentences: Sequence[list[int]], beam_size: int) -> None:
        source: Tensor = pad(sentences)
        padding = source == PAD
        with torch.inference_mode():
            if beam_size == 1:
                greedy_search(model, source, padding, compute_length_limits(padding, BEAM))
            else:
                beam_search(model, source, padding, BEAM)

    return search


def search_bundle(folder: Path) -> dict[str, Translate]:
    """Return what translates lines by each engine of an exported model, and by hand."""

    def load(engine: str) -> Translate:
        translator = Translator.load(folder, engine=engine, device="cpu", threads=1)
        return lambda lines, beam_size: translator.translate_sentences(lines, beam_size=beam_size)

    names = list_usable_engines(folder)
    by_hand = {
        f"{name} by hand": translate_by_hand(folder, name)
        for name in names
        if name.startswith("ctranslate2")
    }
    return {name: load(name) for name in names} | by_hand


def translate_by_hand(folder: Path, name: str) -> Translate:
    """Return what translates lines by CTranslate2 as its documentation shows."""
    source, target = (
        sentencepiece.SentencePieceProcessor(
            model_file=str(folder / f"tokenizer/{side}/sentencepiece.model")
        )
        for side in ("source", "target")
    )
    program = ctranslate2.Translator(
        str(folder / "engines" / name), inter_threads=1, intra_threads=1
    )

    def translate(lines: Sequence[str], beam_size: int) -> list[str]:
        tokens = [[*pieces, "</s>"] for pieces in source.encode(list(lines), out_type=str)]
        results = program.translate_batch(
            tokens, beam_size=beam_size, max_batch_size=2048, batch_type="tokens"
        )
        return [target.decode(result.hypotheses[0]) for result in results]

    return translate


def measure(translate: Translate, sentences: Sequence[Any], batch: int) -> dict[str, float]:
    """Return sentences per processor second, greedy and with the beam, batched and line by line."""
    ordered = sorted(sentences, key=len)
    starts = range(0, len(ordered), batch)
    batches: list[Sequence[Any]] = [ordered[first : first + batch] for first in starts]
    few = sentences[: max(1, len(sentences) // 8)]
    lines: list[Sequence[Any]] = [few[place : place + 1] for place in range(len(few))]
    speeds = {}
    sizes = (BEAM.beam_size, BEAM.beam_size, 1, 1)
    for case, beam_size, groups in zip(CASES, sizes, [batches, lines] * 2, strict=True):
        translate(groups[0], beam_size)
        start = time.process_time()
        for group in groups:
            translate(group, beam_size)
        speeds[case] = sum(map(len, groups)) / (time.process_time() - start)
    return speeds


def measure_all(
    presets: Sequence[str], bundle: Path | None, text: Path | None, sentences: int
) -> Measured:
    """Measure every engine of every subject in this process, by one thread."""
    torch.set_num_threads(1)
    if bundle is None:
        drawn = draw_sentences(sentences)
        return {name: {"torch": measure(search_preset(name), drawn, 64)} for name in presets}
    if text is None:
        raise typer.BadParameter("--bundle requires --text, a file of one sentence a line")
    lines = text.read_text(encoding="utf-8").splitlines()[:sentences]
    engines = search_bundle(bundle)
    return {
        bundle.name: {name: measure(search, lines, len(lines)) for name, search in engines.items()}
    }


def measure_apart(arguments: Sequence[str]) -> Measured:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.translation", *arguments, "--rounds", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    measured: Measured = json.loads(done.stdout)
    return measured


def tabulate(measured: Sequence[Measured]) -> list[list[str]]:
    """Return a row of medians for every engine of every model."""
    return [
        [
            f"{model}, {engine}",
            *(f"{median(own[model][engine][case] for own in measured):.1f}" for case in CASES),
        ]
        for model, engines in measured[0].items()
        for engine in engines
    ]


def main(
    presets: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    bundle: Path | None = None,
    text: Path | None = None,
    rounds: int = 5,
    sentences: int = 256,
) -> None:
    """Measure in turns and print a table; with no rounds, measure once and print JSON."""
    chosen = presets or PRESETS
    if not rounds:
        measured = measure_all(chosen, bundle, text, sentences)
        sys.stdout.write(json.dumps(measured))
        return
    arguments = [*chosen, "--sentences", str(sentences)]
    for option, path in (("--bundle", bundle), ("--text", text)):
        arguments += [option, str(path)] if path else []
    title = f"sentences per processor second, one thread, median of {rounds} rounds"
    show(title, ("model", *CASES), tabulate([measure_apart(arguments) for _ in range(rounds)]))


if __name__ == "__main__":
    typer.run(main)
