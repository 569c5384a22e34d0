"""Alignment error rate of a model's attention against given word alignments.

Usage: python -m benchmarks.alignment --text FOLDER/test --languages de,en [--model DIR ...]

Reads ``test.de`` and ``test.en``, the same lines cut into words by spaces in ``test.tok.de`` and
``test.tok.en``, and the links between those words in ``test.tok.align`` (Pharaoh format). The model
is shown the plain lines; its tokens are brought to the given words by their characters. Sentences
whose plain and cut lines do not spell the same are left out, and counted.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from nmt_core import files
from nmt_core.alignment.links import Links, read_links
from nmt_core.evaluation import alignment
from nmt_core.translation.translation import NOTHING
from nmt_core.translation.translator import Translator


def aligned(
    translator: Translator, lines: tuple[str, str], words: tuple[list[str], list[str]]
) -> Links | None:
    """Return the links of one pair, or None if its words are not the line's."""
    tokens = translator.source.tokens(lines[0]), translator.target.tokens(lines[1])
    owners = [alignment.map_tokens_to_words(*both) for both in zip(tokens, words, strict=True)]
    if not owners[0] or owners[1] is None:
        return None
    ids = tuple(translator.target.vocabulary.encode(tokens[1]))
    weights = translator.attention(lines[0], NOTHING._replace(ids=ids))
    if weights is None:
        raise typer.BadParameter("this model has no attention")
    return alignment.extract_links(weights, owners[0], owners[1])


def main(
    text: Annotated[Path, typer.Option(help="Path of the files without their endings.")],
    model: Annotated[list[Path], typer.Option(help="Exported models.")],
    languages: Annotated[str, typer.Option(help="Endings of source and target.")] = "de,en",
) -> None:
    """Print the alignment error rate of each model and of the diagonal."""
    endings = languages.split(",")
    plain = [list(files.read_lines(Path(f"{text}.{end}"))) for end in endings]
    cut = [[line.split() for line in files.read_lines(Path(f"{text}.tok.{e}"))] for e in endings]
    given = [read_links(line) for line in files.read_lines(Path(f"{text}.tok.align"))]
    table = Table("model", "alignment error rate", "the diagonal's", "sentences")
    for folder in model:
        translator = Translator.load(folder)
        found = [
            aligned(translator, lines, words)
            for lines, words in zip(
                zip(*plain, strict=True),
                track(list(zip(*cut, strict=True)), description=str(folder)),
                strict=True,
            )
        ]
        kept = [n for n, links in enumerate(found) if links is not None]
        ours = [links for links in found if links is not None]
        theirs = [given[n] for n in kept]
        straight = [alignment.link_diagonally(len(cut[0][n]), len(cut[1][n])) for n in kept]
        rates = [alignment.alignment_error_rate(links, theirs) for links in (ours, straight)]
        table.add_row(str(folder), *(f"{rate:.3f}" for rate in rates), f"{len(kept)}/{len(given)}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
