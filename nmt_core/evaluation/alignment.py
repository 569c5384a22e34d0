"""What attention says of which word translates which, against given word alignments.

Links are (source word, target word), counted from 0; the Pharaoh format writes them ``0-0 2-1``.
Letters as in ``models/seq2seq.py``: T target tokens, S source tokens.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from jaxtyping import Float

from nmt_core.errors import CorpusError

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


def alignment_error_rate(found: Collection[Links], given: Collection[Links]) -> float:
    """Return the share of links that are wrong or missing (Och and Ney 2003, section 6.1).

    All given links count as sure, for automatic alignments tell none apart: this is 1 - F1.

    Raises:
        ValueError: if there are not as many sentences, or no links at all.
    """
    pairs = list(zip(found, given, strict=True))
    links = sum(len(ours) + len(theirs) for ours, theirs in pairs)
    if not links:
        raise ValueError("there are no links to compare")
    return 1 - 2 * sum(len(ours & theirs) for ours, theirs in pairs) / links
