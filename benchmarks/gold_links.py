"""What attention says of which word translates which, against given word alignments.

Letters as in ``models/seq2seq.py``: T target tokens, S source tokens.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nmt_core.alignment.links import Links
from nmt_core.base.errors import CorpusError


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


def map_tokens_to_words(tokens: Iterable[str], words: Sequence[str]) -> list[int] | None:
    """Return for each token the number of the word that holds its first character.

    Both must spell the same text once spaces, and SentencePiece's marks for them, are left out.

    Args:
        tokens: as a tokenizer cuts a text.
        words: the same text cut into words in another way.

    Returns:
        A number per token, or None if the two do not spell the same.
    """
    owners = [number for number, word in enumerate(words) for _ in word]
    spelt, numbers = "", []
    for token in tokens:
        numbers.append(owners[min(len(spelt), len(owners) - 1)] if owners else 0)
        spelt += token.replace("\N{LOWER ONE EIGHTH BLOCK}", "").replace(" ", "")
    return numbers if spelt == "".join(words) else None


def extract_links(
    weights: Float[np.ndarray, "T S"], source_words: Sequence[int], target_words: Sequence[int]
) -> Links:
    """Link every target word to the source word it looks at most.

    A word looks as its tokens do on average, and is looked at by the sum over its tokens.

    Args:
        weights: how much each target token looks at each source token; rows and columns beyond
            the tokens given, such as those of the ends of sentence, are left out.
        source_words: the word of each source token.
        target_words: the word of each target token.
    """
    if not source_words or not target_words:
        return frozenset()
    inner = weights[: len(target_words), : len(source_words)]
    by_source = np.zeros((len(inner), max(source_words) + 1))
    np.add.at(by_source.T, np.asarray(source_words), inner.T)
    looks = np.zeros((max(target_words) + 1, by_source.shape[1]))
    np.add.at(looks, np.asarray(target_words), by_source)
    return frozenset((int(looks[word].argmax()), word) for word in sorted(set(target_words)))


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
