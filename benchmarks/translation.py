"""Speed of translating on one core, beside another checkout in turns: both meet the same noise.

Usage: python -m benchmarks.translation [PRESETS...] [--peer CHECKOUT] [--rounds N]
       python -m benchmarks.translation --bundle FOLDER --text FILE [--peer CHECKOUT] [--rounds N]

Presets are those of conf/model, by default one of every family, with random weights and a
vocabulary of 8,000 tokens. Their sentences are as long as image captions in subwords and their
translations end at a length limit, for random weights end none. With ``--bundle``, an exported
model translates ``--text`` instead, a file of one sentence a line.

What is counted is sentences per second of processor time. Every round starts a process anew for
each checkout and measures all cases in it once; the table shows medians and maxima over rounds.
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

import numpy as np
import torch
import typer
import yaml
from rich.console import Console
from rich.table import Table
from torch import Tensor

from nmt_core.data.batch import pad
from nmt_core.decoding.beam import beam_search
from nmt_core.decoding.greedy import greedy_search
from nmt_core.decoding.rules import compute_length_limits
from nmt_core.decoding.settings import BeamConfig
from nmt_core.models.architectures import build_model
from nmt_core.models.settings import read_model_config
from nmt_core.text.vocabulary import EOS, PAD

PRESETS = ["transformer", "rnn_attention", "rnn_bahdanau", "convs2s"]
VOCABULARY = 8000
BEAM = BeamConfig(beam_size=5, max_length_factor=1.0, max_length_offset=2)
CONF = Path(__file__).parents[1] / "conf/model"

Translate = Callable[[Sequence[Any], int], object]
"""Takes sentences and a beam size."""


def read_preset(name: str) -> dict[str, Any]:
    """Return the model settings of a preset, and of those that it starts from."""
    group = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    shape: dict[str, Any] = {}
    for part in group.get("defaults", ["_self_"]):
        shape |= group["train"].get("model", {}) if part == "_self_" else read_preset(part)
    return shape


def draw_sentences(count: int) -> list[list[int]]:
    """Return random sentences with lengths like those of image captions in subwords."""
    draw = np.random.default_rng(1)
    lengths = np.clip(draw.poisson(14.8, count), 3, 60)
    return [[*draw.integers(4, VOCABULARY, length).tolist(), EOS] for length in lengths]


def search_preset(name: str) -> Translate:
    """Return the searches over a preset of random weights."""
    torch.manual_seed(1)
    model = build_model(
        read_model_config(read_preset(name)), source_size=VOCABULARY, target_size=VOCABULARY
    ).eval()

    def search(sentences: Sequence[list[int]], beam_size: int) -> None:
        source: Tensor = pad(sentences)
        padding = source == PAD
        with torch.inference_mode():
            if beam_size == 1:
                greedy_search(model, source, padding, compute_length_limits(padding, BEAM))
            else:
                beam_search(model, source, padding, BEAM)

    return search


def search_bundle(folder: Path) -> Translate:
    """Return what translates lines by an exported model."""
    from nmt_core.translation.translator import Translator  # noqa: PLC0415 - older peers lack it

    translator = Translator.load(folder, engine="torch", device="cpu")
    return lambda lines, beam_size: translator.translate(lines, beam_size=beam_size)


def measure(translate: Translate, sentences: Sequence[Any], batch: int) -> dict[str, float]:
    """Return sentences per processor second, greedy and with the beam, batched and line by line."""
    ordered = sorted(sentences, key=len)
    batches = [ordered[first : first + batch] for first in range(0, len(ordered), batch)]
    few = sentences[: max(1, len(sentences) // 8)]
    lines = [few[place : place + 1] for place in range(len(few))]
    found = {}
    for name, beam_size in (("beam 5", BEAM.beam_size), ("greedy", 1)):
        for way, groups in (("batches", batches), ("line by line", lines)):
            translate(groups[0], beam_size)
            start = time.process_time()
            for group in groups:
                translate(group, beam_size)
            spent = time.process_time() - start
            found[f"{name}, {way}"] = sum(map(len, groups)) / spent
    return found


def measure_all(
    presets: Sequence[str], bundle: Path | None, text: Path | None, sentences: int
) -> dict[str, dict[str, float]]:
    """Measure every subject in this process, by one thread."""
    torch.set_num_threads(1)
    if bundle is None:
        drawn = draw_sentences(sentences)
        return {name: measure(search_preset(name), drawn, batch=64) for name in presets}
    if text is None:
        raise typer.BadParameter("--bundle needs --text, a file of one sentence a line")
    lines = text.read_text(encoding="utf-8").splitlines()[:sentences]
    return {bundle.name: measure(search_bundle(bundle), lines, batch=len(lines))}


def measure_apart(checkout: Path, arguments: Sequence[str]) -> dict[str, dict[str, float]]:
    """Measure the code of a checkout in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), *arguments, "--rounds", "0"]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    measured: dict[str, dict[str, float]] = json.loads(done.stdout)
    return measured


def show(rounds: dict[str, list[dict[str, dict[str, float]]]]) -> None:
    """Print a row for every case, and how many times the peer's median this checkout's is."""
    ours, *peer = rounds.values()
    table = Table(title=f"sentences per processor second, one thread, {len(ours)} rounds")
    names = [f"{name}: {what}" for name in rounds for what in ("median", "max")]
    for column in ("model", "case", *names, *(["ratio"] if peer else [])):
        table.add_column(column, justify="left" if column in ("model", "case") else "right")
    for subject, cases in ours[0].items():
        for case in cases:
            speeds = [[one[subject][case] for one in found] for found in rounds.values()]
            cells = [f"{value:.1f}" for some in speeds for value in (median(some), max(some))]
            ratio = [f"{median(speeds[0]) / median(speeds[1]):.2f}"] if peer else []
            table.add_row(subject, case, *cells, *ratio)
    Console(width=120).print(table)


def main(
    presets: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    bundle: Path | None = None,
    text: Path | None = None,
    peer: Path | None = None,
    rounds: int = 5,
    sentences: int = 256,
) -> None:
    """Measure in turns and print a table; with no rounds, measure once and print JSON."""
    chosen = presets or PRESETS
    if not rounds:
        sys.stdout.write(json.dumps(measure_all(chosen, bundle, text, sentences)))
        return
    arguments = [*chosen, "--sentences", str(sentences)]
    for option, path in (("--bundle", bundle), ("--text", text)):
        arguments += [option, str(path.resolve())] if path else []
    checkouts = {"this checkout": Path(__file__).parents[1]} | ({"peer": peer} if peer else {})
    found: dict[str, list[dict[str, dict[str, float]]]] = {name: [] for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            found[name].append(measure_apart(checkout.resolve(), arguments))
    show(found)


if __name__ == "__main__":
    typer.run(main)
