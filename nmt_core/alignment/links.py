"""Links between words, as numbers and as text, and those of two directions made into one.

A link is (source word, target word), counted from 0; the Pharaoh format writes ``0-0 2-1``.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_core.errors import CorpusError

Links = frozenset[tuple[int, int]]

NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
"""Where links grow to (Koehn et al. 2003, section 4.5; the order is that of Moses)."""


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


def join_pieces(links: Links, source: Sequence[int], target: Sequence[int]) -> Links:
    """Return links between words, of links between their pieces.

    Args:
        links: between pieces.
        source: the word of each piece of the source.
        target: the word of each piece of the target.
    """
    return frozenset((source[one], target[other]) for one, other in links)


def choose_likely(
    forward: NDArray[np.float64], backward: NDArray[np.float64], threshold: float
) -> Links:
    """Link words whose probabilities have a geometric mean above a threshold.

    Args:
        forward: that a target word is explained by a source word, (source, target).
        backward: that a source word is explained by a target word, (source, target).
        threshold: from 0 to 1.
    """
    likely = forward * backward > threshold**2
    return frozenset((int(source), int(target)) for source, target in np.argwhere(likely))


def grow_links(forward: Links, backward: Links) -> Links:
    """Symmetrise by grow-diag-final-and (Koehn et al. 2003, section 4.5).

    What both directions found grows by neighbouring links that either found, as long as one of the
    two words has none; at the end come links of either between two words that have none.

    Args:
        forward: links of which each target word has at most one.
        backward: links of which each source word has at most one.
    """
    union, links = forward | backward, set(forward & backward)
    size = len(links) - 1
    while size < len(links):
        size = len(links)
        for source, target in sorted(links):
            for down, right in NEIGHBOURS:
                near = (source + down, target + right)
                if near in union - links and _has_free(near, links):
                    links.add(near)
    for found in (forward, backward):
        for source, target in sorted(found - links):
            sources, targets = {one for one, _ in links}, {other for _, other in links}
            if source not in sources and target not in targets:
                links.add((source, target))
    return frozenset(links)


def _has_free(link: tuple[int, int], links: set[tuple[int, int]]) -> bool:
    """Tell whether a link's source or target word has no link."""
    return all(link[0] != one for one, _ in links) or all(link[1] != other for _, other in links)
