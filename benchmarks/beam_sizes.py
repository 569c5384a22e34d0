"""Scores and lengths of translations by beam size, with and without length normalisation.

Usage: python -m benchmarks.beam_sizes --model FOLDER --source test.de --reference test.en
                                       [--out beam_sizes.png] [--sizes 1,2,5,10,20,50]

A wider beam finds likelier translations. By the sum of logarithms (``length_penalty`` 0) these are
the shorter the wider the beam, for every token lowers the sum (Vahid 2017, "larger beam size has a
strong length bias"; Koehn and Knowles 2017, section 3.6); by their mean (1) they need not be.
Writes a table in Markdown to standard output, and a picture. PyTorch searches, as long as it takes.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from nmt_core.base import files
from nmt_core.evaluation import quality
from nmt_core.evaluation.pictures import Curve, Panel, draw_panels
from nmt_core.evaluation.registered import load_metric
from nmt_core.translation.translator import Translator

PENALTIES = {"mean per token (length_penalty 1)": 1.0, "sum (length_penalty 0)": 0.0}


@dataclass(frozen=True)
class Measured:
    """What a beam size gave."""

    penalty: str
    size: int
    bleu: float
    length_ratio: float
    """Words of the translations by those of the references."""
    seconds: float


def measure_beam(
    translator: Translator,
    size: int,
    penalty: str,
    *,
    sources: Sequence[str],
    references: Sequence[str],
    language: str,
) -> Measured:
    """Translate and score lines with one beam."""
    beam = translator.config.beam.model_copy(
        update={"beam_size": size, "n_best": 1, "length_penalty": PENALTIES[penalty]}
    )
    searching = replace(translator, config=translator.config.model_copy(update={"beam": beam}))
    began = time.perf_counter()
    found = searching.translate(sources)
    seconds = time.perf_counter() - began
    score = load_metric("bleu", language).score(found, references, sources, resamples=0)
    ratio = quality.compute_length_ratio(found, references, cut=quality.cutter(language))
    return Measured(penalty, size, score.value, ratio, seconds)


def draw_beam_sizes(path: Path, found: Sequence[Measured]) -> None:
    """Draw scores beside lengths."""
    sizes = sorted({one.size for one in found})

    def curves(name: str) -> list[Curve]:
        rows = {p: [one for one in found if one.penalty == p] for p in PENALTIES}
        return [
            Curve(p, [one.size for one in row], [getattr(one, name) for one in row])
            for p, row in rows.items()
        ]

    draw_panels(
        path,
        [
            Panel(curves("bleu"), "beam size", "test BLEU", sizes),
            Panel(curves("length_ratio"), "beam size", "words by those of the references", sizes),
        ],
    )


def format_table(found: Sequence[Measured]) -> str:
    """Return a row per beam size, in Markdown."""
    head = [
        "| beam size | BLEU, mean | length | seconds | BLEU, sum | length | seconds |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    rows = []
    for size in sorted({one.size for one in found}):
        cells = [
            f"{one.bleu:.1f} | {one.length_ratio:.3f} | {one.seconds:.0f}"
            for penalty in PENALTIES
            for one in found
            if (one.size, one.penalty) == (size, penalty)
        ]
        rows.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join([*head, *rows])


def main(
    model: Annotated[Path, typer.Option(help="Exported model.")],
    source: Annotated[Path, typer.Option(help="Lines to translate.")],
    reference: Annotated[Path, typer.Option(help="What they should be.")],
    out: Annotated[Path, typer.Option(help="Picture to write.")] = Path("beam_sizes.png"),
    sizes: Annotated[str, typer.Option(help="Beam sizes.")] = "1,2,3,5,10,20,50",
) -> None:
    """Print scores and lengths by beam size, and draw them."""
    translator = Translator.load(model, engine="torch")
    if translator.languages is None:
        raise typer.BadParameter("this model does not say which its target language is")
    lines = {
        "sources": list(files.read_lines(source)),
        "references": list(files.read_lines(reference)),
    }
    language = translator.languages.target
    cases = [(int(size), penalty) for size in sizes.split(",") for penalty in PENALTIES]
    found = [
        measure_beam(translator, size, penalty, **lines, language=language)
        for size, penalty in track(cases, description="translating")
    ]
    draw_beam_sizes(out, found)
    typer.echo(format_table(found))


if __name__ == "__main__":
    typer.run(main)
