"""Links between words, against those of people."""

import re
from collections.abc import Collection
from typing import NamedTuple

from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.links import Links


class Gold(NamedTuple):
    """Links of a sentence pair as people gave them."""

    sure: Links
    possible: Links
    """Those that may be found or not, and all that are sure."""


def read_gold(line: str) -> Gold:
    """Read a line of links such as ``1-1 2p3``: words from 1, sure by ``-``, possible by ``p``.

    Raises:
        CorpusError: if it is something else.
    """
    links: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for link in line.split():
        found = re.fullmatch(r"([1-9]\d*)([-p])([1-9]\d*)", link)
        if not found:
            raise CorpusError(
                f"links of people are written as in '1-1 2p3', words counted from 1; got {link!r}"
            )
        links[found[2]].add((int(found[1]) - 1, int(found[3]) - 1))
    return Gold(frozenset(links["-"]), frozenset(links["-"] | links["p"]))


def link_diagonally(source_words: int, target_words: int) -> Links:
    """Link every target word to the source word at the same relative place, to compare with."""
    return frozenset(
        (target * source_words // target_words, target)
        for target in range(target_words if source_words else 0)
    )


class Agreement(NamedTuple):
    """How found links compare with given ones (Och and Ney 2003, section 6.1)."""

    precision: float
    """Share of found links that are possible; 1 where none is found."""
    recall: float
    """Share of sure links that are found; 1 where none is sure."""
    error_rate: float
    """The alignment error rate, 1 - (|A & S| + |A & P|) / (|A| + |S|)."""


def compare_links(found: Collection[Links], given: Collection[Links | Gold]) -> Agreement:
    """Compare the links of all sentences with those of people.

    Args:
        found: links of each sentence pair.
        given: what is right; where sure and possible are not told apart, all count as sure, and
            the error rate is 1 - F1.

    Raises:
        ValueError: if there are not as many sentences, or no links at all.
    """
    pairs = [
        (ours, theirs if isinstance(theirs, Gold) else Gold(theirs, theirs))
        for ours, theirs in zip(found, given, strict=True)
    ]
    links = sum(len(ours) for ours, _ in pairs)
    sure = sum(len(theirs.sure) for _, theirs in pairs)
    if not links + sure:
        raise ValueError("there are no links to compare")
    surely = sum(len(ours & theirs.sure) for ours, theirs in pairs)
    possibly = sum(len(ours & (theirs.possible | theirs.sure)) for ours, theirs in pairs)
    return Agreement(
        possibly / links if links else 1.0,
        surely / sure if sure else 1.0,
        1 - (surely + possibly) / (links + sure),
    )


def alignment_error_rate(found: Collection[Links], given: Collection[Links | Gold]) -> float:
    """Return the share of links that are wrong or missing; see :func:`compare_links`."""
    return compare_links(found, given).error_rate
