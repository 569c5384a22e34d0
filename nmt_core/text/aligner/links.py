"""Links between words, as numbers and as text, and those that two directions agree on.

A link is (source word, target word), counted from 0; the Pharaoh format writes ``0-0 2-1``.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.text.alignment import UNALIGNED

Links = frozenset[tuple[int, int]]


def read_links(line: str) -> Links:
    """Read a line of Pharaoh format.

    Raises:
        CorpusError: if it is something else.
    """
    try:
        pairs = [tuple(int(word) for word in link.split("-")) for link in line.split()]
        return frozenset((source, target) for source, target in pairs)
    except ValueError:
        raise CorpusError(
            f"word alignments are written as in '0-0 2-1', got {line.strip()[:60]!r}"
        ) from None


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return a line of Pharaoh format, by source and then by target word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def link_words(links: Links, source: Sequence[int], target: Sequence[int]) -> Links:
    """Return links between words, of links between their pieces.

    Args:
        links: between pieces.
        source: the word of each piece of the source.
        target: the word of each piece of the target.
    """
    return frozenset((source[i], target[j]) for i, j in links)


def fill_gaps(links: Sequence[int]) -> list[int]:
    """Give an unlinked run of words between two with the same link that link, too."""
    filled = [*links]
    last = None
    for place, link in enumerate(links):
        if link == UNALIGNED:
            continue
        if last is not None and links[last] == link:
            filled[last:place] = [link] * (place - last)
        last = place
    return filled


def choose_likely(
    forward: NDArray[np.float64], backward: NDArray[np.float64], threshold: float
) -> Links:
    """Link words with a geometric mean of probabilities above a threshold.

    Args:
        forward: that a target word is explained by a source word, (source, target).
        backward: that a source word is explained by a target word, (source, target).
        threshold: from 0 to 1.
    """
    likely = forward * backward > threshold**2
    return frozenset((int(source), int(target)) for source, target in np.argwhere(likely))
