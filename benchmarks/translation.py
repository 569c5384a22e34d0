"""Translation speed of an exported model on one core, for each of its engines.

Usage: python -m benchmarks.translation MODEL TEXT [--rounds N] [--sentences N]

TEXT has one sentence per line. CTranslate2 is also measured as in its documentation, with sentences
sorted by length. The unit is sentences per second of CPU time. A round is a new process, where all
take turns. The table has medians, and the least, median and greatest ratio to "by hand".
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import ctranslate2
import sentencepiece
import torch
import typer

from benchmarks import describe, run_apart, show
from nmt_core.base import files
from nmt_core.translation.loading import list_usable_engines
from nmt_core.translation.translator import Translator

CASES = {
    "beam 5, batch": (5, None),
    "beam 5, line by line": (5, 1),
    "greedy, batch": (1, None),
    "greedy, line by line": (1, 1),
}
"""Beam size and sentences per call; None for all. Single lines are an eighth of the text."""

Translate = Callable[..., object]
"""Translates sentences with a ``beam_size``."""


def translate_by_hand(folder: Path, name: str) -> Translate:
    """Return a function that translates lines by CTranslate2 as in its documentation."""
    source, target = (
        sentencepiece.SentencePieceProcessor(f"{folder}/tokenizer/{side}/sentencepiece.model")
        for side in ("source", "target")
    )
    program = ctranslate2.Translator(f"{folder}/engines/{name}", inter_threads=1, intra_threads=1)

    def translate(lines: Sequence[str], beam_size: int) -> list[str]:
        tokens = [[*pieces, "</s>"] for pieces in source.encode(list(lines), out_type=str)]
        results = program.translate_batch(
            tokens, beam_size=beam_size, max_batch_size=2048, batch_type="tokens"
        )
        return [target.decode(result.hypotheses[0]) for result in results]

    return translate


def measure(programs: Mapping[str, Translate], sentences: Sequence[str]) -> dict[str, list[float]]:
    """Return sentences per CPU second of each case: of three turns, the best of each program."""
    ordered, few = sorted(sentences, key=len), sentences[: max(1, len(sentences) // 8)]
    speeds = {name: dict.fromkeys(CASES, 0.0) for name in programs}
    for case, (beam_size, size) in CASES.items():
        groups = [ordered] if size is None else [[line] for line in few]
        for name, translate in [*programs.items()] * 3:
            start = time.process_time()
            for group in groups:
                translate(group, beam_size=beam_size)
            speed = sum(map(len, groups)) / (time.process_time() - start)
            speeds[name][case] = max(speed, speeds[name][case])
    return {name: [*own.values()] for name, own in speeds.items()}


def measure_all(folder: Path, sentences: Sequence[str]) -> dict[str, list[float]]:
    """Return the speeds of every engine of a model, measured in this process with one thread."""
    torch.set_num_threads(1)
    programs: dict[str, Translate] = {}
    for name in list_usable_engines(folder):
        translator = Translator.load(folder, engine=name, device="cpu", threads=1)
        programs[name] = translator.translate_sentences
        if name.startswith("ctranslate2"):
            programs[f"{name} by hand"] = translate_by_hand(folder, name)
    return measure(programs, sentences)


def main(
    model: Annotated[Path, typer.Argument(help="An exported model.")],
    text: Annotated[Path, typer.Argument(help="File with one sentence per line.")],
    *,
    rounds: int = 5,
    sentences: int = 256,
) -> None:
    """Measure all engines alternately, and print a table."""
    lines = list(itertools.islice(files.read_lines(text), sentences))
    measured = [run_apart(partial(measure_all, model, lines)) for _ in range(rounds)]
    cases = {name: [*zip(*(own[name] for own in measured), strict=True)] for name in measured[0]}
    write, none = partial(describe, form=".1f"), itertools.repeat(())
    rows = [[n, *map(write, own, cases.get(f"{n} by hand", none))] for n, own in cases.items()]
    title = f"sentences per CPU second, one thread, median of {rounds} rounds"
    show(title, ("engine", *CASES), rows)


if __name__ == "__main__":
    typer.run(main)
