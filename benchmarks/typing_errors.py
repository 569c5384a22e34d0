"""Typing errors: how many come back, and how many sound words are changed.

Usage: python -m benchmarks.typing_errors TRAINING TEXT --language fr
       [--model FOLDER --reference FILE]

Words are learnt from TRAINING, a file of lines; in one word of eight of TEXT, other text, an error
is drawn (`nmt_core/data/modifiers.py`). With an export and references of TEXT, both are translated
by it, with and without correction, one thread.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base.files import read_lines
from nmt_core.data.modifiers import Lines, TypingErrors
from nmt_core.evaluation.registered import load_metric
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import Restorer
from nmt_core.translation.translator import Translator
from stages.tokenize import learn_restorer


def pair_words(line: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a line with those of another that has as many."""
    return zip(line.split(), other.split(), strict=True)


def count_words(restorer: Restorer, lines: list[str], mistyped: list[str]) -> dict[str, str]:
    """Return what became of sound and of mistyped words, as shares."""
    corrected = [restorer.restore(line)[0] for line in lines]
    mended = [restorer.restore(line)[0] for line in mistyped]
    sound = [pair for both in zip(lines, corrected, strict=True) for pair in pair_words(*both)]
    wrong = [
        (word, typed, read)
        for line, other, after in zip(lines, mistyped, mended, strict=True)
        for (word, typed), read in zip(pair_words(line, other), after.split(), strict=True)
        if word != typed
    ]
    right = sum(word == read for word, _, read in wrong)
    others = sum(read not in (word, typed) for word, typed, read in wrong)
    changed = sum(word != read for word, read in sound)
    return {
        "sound words changed": f"{changed:,} of {len(sound):,} ({changed / len(sound):.2%})",
        "mistyped words mended": f"{right / len(wrong):.0%} of {len(wrong):,}",
        "made another word": f"{others / len(wrong):.0%}",
    }


def main(
    training: Path,
    text: Path,
    *,
    language: Annotated[str, typer.Option(help="Code of the language of both.")],
    model: Path | None = None,
    reference: Path | None = None,
    sentences: int = 3000,
    seed: int = 1,
) -> None:
    """Learn words, draw errors, and print what becomes of them."""
    restorer = learn_restorer(training)
    lines = [normalize(line) for line, _ in zip(read_lines(text), range(sentences), strict=False)]
    errors, draw = TypingErrors(language), np.random.default_rng(seed)
    mistyped = [errors.modify(Lines(line, ""), draw).source for line in lines]
    spelling = restorer.spelling
    table = Table("what", "measured", title=f"{text}, words of {training}")
    table.add_row("words known; frequent", f"{len(spelling.words):,}; {spelling.frequent:,}")
    for name, told in count_words(restorer, lines, mistyped).items():
        table.add_row(name, told)
    if model and reference:
        loaded = Translator.load(model, threads=1)
        assert loaded.languages, "this export does not say which languages it translates"
        metric = load_metric("bleu", loaded.languages.target)
        references = list(read_lines(reference))[: len(lines)]
        without = Restorer(restorer.case, restorer.accents)
        for name, own in (("not corrected", without), ("corrected", restorer)):
            translator = replace(loaded, restorer=own)
            for kind, given in (("sound", lines), ("mistyped", mistyped)):
                bleu = metric.score(translator.translate(given), references, given)
                table.add_row(f"BLEU, {kind}, {name}", f"{bleu.value:.1f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
