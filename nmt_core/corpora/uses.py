"""The directions of a model, and the corpora that serve each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus


class CorpusUse(NamedTuple):
    """A corpus in one of the directions that it serves."""

    name: str
    """The name of the corpus; that of the opposite direction also names the direction."""
    corpus: str
    languages: Languages
    swapped: bool
    """Training reads the targets of the corpus as sources."""


def list_uses(
    corpora: Mapping[str, Corpus], languages: Languages, directions: Sequence[Languages]
) -> list[CorpusUse]:
    """Return the uses of parallel corpora, in order; a corpus may serve both directions.

    ``languages`` are those of corpora that do not name their own.
    """
    return [
        CorpusUse(f"{name} {served}" if swapped else name, name, served, bool(swapped))
        for name, corpus in corpora.items()
        for swapped, served in enumerate(corpus.list_directions(languages))
        if served in directions
    ]


def check_directions(
    corpora: Mapping[str, Corpus], languages: Languages, directions: Sequence[Languages]
) -> None:
    """Raise a ValueError if directions repeat, or a corpus serves none of them."""
    for direction in directions:
        if directions.count(direction) > 1:
            raise ValueError(f"directions name {direction} twice; remove one")
    for name, corpus in corpora.items():
        if not corpus.is_parallel:
            continue
        if len(directions) > 1 and corpus.languages is None:
            raise ValueError(
                f"corpora.{name}.languages is missing; with several directions, each corpus names "
                f"its source and target, such as {directions[0]}"
            )
        served = corpus.list_directions(languages)
        if not {*served} & {*directions}:
            known = ", ".join(map(str, directions))
            raise ValueError(
                f"corpora.{name}.languages is {served[0]}, but the model learns {known}; add the "
                f"direction, or remove the corpus"
            )


def list_targets(directions: Sequence[Languages]) -> list[str]:
    """Return the target languages of directions, each once."""
    return [*dict.fromkeys(direction.target for direction in directions)]
