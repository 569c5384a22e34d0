"""Alignment error rate of a learnt aligner, and of the diagonal, against word alignments of people.

Usage: python -m benchmarks.alignment --gold FOLDER --train FOLDER/train

Reads ``gold.de``, ``gold.en`` and, in ``gold.talp``, the links of people between words counted from
1, ``1-1`` sure and ``2p3`` possible. An aligner learns from ``train.de`` and ``train.en``, without
pairs of which a side stands in the gold, and from the gold's text, as aligners do, without its
links.
"""

import re
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.aligner import Links
from nmt_core.text.aligner.learning import learn_aligner

Pair = tuple[str, str]


class Gold(NamedTuple):
    """Links of a sentence pair as people gave them."""

    sure: Links
    possible: Links
    """Possible links, the sure ones included."""


def parse_links(line: str) -> Gold:
    """Read a line of links such as ``1-1 2p3``: words from 1, sure by ``-``, possible by ``p``.

    Raises:
        CorpusError: if it is something else.
    """
    links: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for link in line.split():
        match = re.fullmatch(r"([1-9]\d*)([-p])([1-9]\d*)", link)
        if not match:
            raise CorpusError(
                f"links of people are written as in '1-1 2p3', words counted from 1; got {link!r}"
            )
        links[match[2]].add((int(match[1]) - 1, int(match[3]) - 1))
    return Gold(frozenset(links["-"]), frozenset(links["-"] | links["p"]))


def link_diagonally(source_words: int, target_words: int) -> Links:
    """Link every target word to the source word at the same relative place, to compare with."""
    return frozenset(
        (target * source_words // target_words, target)
        for target in range(target_words if source_words else 0)
    )


class Agreement(NamedTuple):
    """Precision, recall and error rate of word links (Och and Ney 2003, section 6.1)."""

    precision: float
    """Share of the found links that are possible; 1 if no link was found."""
    recall: float
    """Share of the sure links that were found; 1 if no link is sure."""
    error_rate: float
    """The alignment error rate, 1 - (|A & S| + |A & P|) / (|A| + |S|)."""


def compare_links(found: Collection[Links], gold: Collection[Gold]) -> Agreement:
    """Compare the aligner's links of all sentences with the gold standard.

    Raises:
        ValueError: if there are not as many sentences, or no links at all.
    """
    pairs = list(zip(found, gold, strict=True))
    links = sum(len(ours) for ours, _ in pairs)
    sure = sum(len(theirs.sure) for _, theirs in pairs)
    if not links + sure:
        raise ValueError("neither the aligner nor the gold standard has a link")
    surely = sum(len(ours & theirs.sure) for ours, theirs in pairs)
    possibly = sum(len(ours & theirs.possible) for ours, theirs in pairs)
    return Agreement(
        possibly / links if links else 1.0,
        surely / sure if sure else 1.0,
        1 - (surely + possibly) / (links + sure),
    )


class Task(NamedTuple):
    """Sentence pairs with the links that are right."""

    pairs: list[Pair]
    given: Sequence[Gold]


def read_pairs(prefix: Path, endings: Sequence[str]) -> list[Pair]:
    """Return the lines of both languages."""
    source, target = (list(files.read_lines(Path(f"{prefix}.{end}"))) for end in endings)
    return list(zip(source, target, strict=True))


def read_gold(folder: Path, endings: Sequence[str]) -> Task:
    """Read sentences whose links people have made."""
    given = [parse_links(line) for line in files.read_lines(folder / "gold.talp")]
    return Task(read_pairs(folder / "gold", endings), given)


def spell(line: str) -> str:
    """Return a line without spaces and case, however it was cut."""
    return "".join(line.split()).casefold()


def leave_out(train: Sequence[Pair], gold: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the pairs of which no side stands in the gold."""
    spellings = [{spell(pair[side]) for pair in gold} for side in (0, 1)]
    return (
        pair for pair in train if all(spell(pair[side]) not in spellings[side] for side in (0, 1))
    )


def score(found: Sequence[Links], task: Task) -> list[str]:
    """Return cells of the table: error rate, precision, recall."""
    agreement = compare_links(found, task.given)
    numbers = (agreement.error_rate, agreement.precision, agreement.recall)
    return [f"{number:.3f}" for number in numbers]


def main(
    *,
    gold: Annotated[Path, typer.Option(help="Folder with people's links.")],
    train: Annotated[Path, typer.Option(help="Files to learn an aligner from.")],
    languages: Annotated[str, typer.Option(help="Endings of source and target.")] = "de,en",
) -> None:
    """Print how well a learnt aligner aligns, and the diagonal."""
    endings = languages.split(",")
    task = read_gold(gold, endings)
    table = Table("aligned by", "alignment error rate", "precision", "recall")
    began = time.perf_counter()
    learnt = learn_aligner([*leave_out(read_pairs(train, endings), task.pairs), *task.pairs])
    found = learnt.align(task.pairs)
    table.add_row(f"an HMM, {time.perf_counter() - began:.0f} s", *score(found, task))
    lengths = [tuple(len(side.split()) for side in pair) for pair in task.pairs]
    straight = [link_diagonally(source, target) for source, target in lengths]
    table.add_row("the diagonal", *score(straight, task))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
