"""Alignment error rate of models' attention, and of a learnt aligner, against word alignments.

Usage: python -m benchmarks.alignment --text FOLDER/test --languages de,en --model DIR ...
       python -m benchmarks.alignment --gold FOLDER [--train FOLDER/train] [--model DIR ...]

With ``--text``, reads ``test.de`` and ``test.en``, the same lines cut into words by spaces in
``test.tok.de`` and ``test.tok.en``, and the links between those words in ``test.tok.align``
(Pharaoh format). The model is shown the plain lines; its tokens are brought to the given words by
their characters. Sentences whose plain and cut lines do not spell alike are left out, and counted.

With ``--gold``, reads ``gold.de``, ``gold.en`` and, in ``gold.talp``, the links of people between
words counted from 1, ``1-1`` sure and ``2p3`` possible. An aligner learns from ``train.de`` and
``train.en``, without pairs of which a side stands in the gold, and from the gold's text, as
aligners do, without its links.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import gold_links as alignment
from benchmarks.gold_links import Gold
from nmt_core.alignment.learning import learn_aligner
from nmt_core.alignment.links import Links, read_links
from nmt_core.base import files
from nmt_core.translation.translation import EMPTY_TRANSLATION
from nmt_core.translation.translator import Translator

Pair = tuple[str, str]


class Task(NamedTuple):
    """Sentence pairs with the links that are right."""

    plain: list[Pair]
    cut: list[tuple[list[str], list[str]]]
    given: Sequence[Links | Gold]


def read_pairs(prefix: Path, endings: Sequence[str]) -> list[Pair]:
    """Return the lines of both languages."""
    source, target = (list(files.read_lines(Path(f"{prefix}.{end}"))) for end in endings)
    return list(zip(source, target, strict=True))


def split(pairs: Sequence[Pair]) -> list[tuple[list[str], list[str]]]:
    """Return the words of each pair."""
    return [(source.split(), target.split()) for source, target in pairs]


def read_text(prefix: Path, endings: Sequence[str]) -> Task:
    """Read sentences whose links a machine has made."""
    cut = [[line.split() for line in files.read_lines(Path(f"{prefix}.tok.{e}"))] for e in endings]
    given = [read_links(line) for line in files.read_lines(Path(f"{prefix}.tok.align"))]
    return Task(read_pairs(prefix, endings), list(zip(*cut, strict=True)), given)


def read_gold(folder: Path, endings: Sequence[str]) -> Task:
    """Read sentences whose links people have made."""
    pairs = read_pairs(folder / "gold", endings)
    given = [alignment.read_gold(line) for line in files.read_lines(folder / "gold.talp")]
    return Task(pairs, split(pairs), given)


def spell(line: str) -> str:
    """Return a line without spaces and case, however it was cut."""
    return "".join(line.split()).casefold()


def leave_out(train: Sequence[Pair], gold: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the pairs of which no side stands in the gold."""
    known = [{spell(pair[side]) for pair in gold} for side in (0, 1)]
    return (pair for pair in train if all(spell(pair[side]) not in known[side] for side in (0, 1)))


def aligned(
    translator: Translator, lines: Pair, words: tuple[list[str], list[str]]
) -> Links | None:
    """Return the links of one pair, or None if its words are not the line's."""
    tokens = translator.source.tokens(lines[0]), translator.target.tokens(lines[1])
    owners = [alignment.map_tokens_to_words(*both) for both in zip(tokens, words, strict=True)]
    if not owners[0] or owners[1] is None:
        return None
    ids = tuple(translator.target.vocabulary.encode(tokens[1]))
    weights = translator.attention(lines[0], EMPTY_TRANSLATION._replace(ids=ids))
    if weights is None:
        raise typer.BadParameter("this model has no attention")
    return alignment.extract_links(weights, owners[0], owners[1])


def score(found: Sequence[Links | None], task: Task) -> list[str]:
    """Return cells of the table: error rate, precision, recall, the diagonal's, sentences."""
    kept = [n for n, links in enumerate(found) if links is not None]
    ours = [links for links in found if links is not None]
    if not ours:
        raise typer.BadParameter("no sentence is spelt as the tokens of this model")
    theirs = [task.given[n] for n in kept]
    straight = [alignment.link_diagonally(*map(len, task.cut[n])) for n in kept]
    agreement = alignment.compare_links(ours, theirs)
    numbers = (agreement.error_rate, agreement.precision, agreement.recall)
    diagonal = alignment.alignment_error_rate(straight, theirs)
    cells = [f"{number:.3f}" for number in (*numbers, diagonal)]
    return [*cells, f"{len(kept)}/{len(task.given)}"]


def main(
    *,
    text: Annotated[Path | None, typer.Option(help="Files with a machine's links.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Folder with people's links.")] = None,
    train: Annotated[Path | None, typer.Option(help="Files to learn an aligner from.")] = None,
    model: Annotated[list[Path] | None, typer.Option(help="Exported models.")] = None,
    languages: Annotated[str, typer.Option(help="Endings of source and target.")] = "de,en",
) -> None:
    """Print how well the attention of models and a learnt aligner align, and the diagonal."""
    endings = languages.split(",")
    if (text is None) == (gold is None):
        raise typer.BadParameter("give either --text or --gold")
    task = read_gold(gold, endings) if gold else read_text(Path(str(text)), endings)
    columns = ("alignment error rate", "precision", "recall", "the diagonal's", "sentences")
    table = Table("aligned by", *columns)
    if train:
        began = time.perf_counter()
        cut = [(" ".join(one), " ".join(other)) for one, other in task.cut]
        learnt = learn_aligner([*leave_out(read_pairs(train, endings), cut), *cut])
        found = learnt.align(cut)
        table.add_row(f"an HMM, {time.perf_counter() - began:.0f} s", *score(found, task))
    for folder in model or []:
        translator = Translator.load(folder)
        pairs = list(zip(task.plain, task.cut, strict=True))
        seen = [aligned(translator, *pair) for pair in track(pairs, description=str(folder))]
        table.add_row(str(folder), *score(seen, task))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
