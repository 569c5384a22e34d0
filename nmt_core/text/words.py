"""Find the words of a text, and the source word of each word of a translation.

Links between words come with a translation, or from relative positions. Wrong links misplace the
markup of a document, but do not lose it.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """The characters of a text from ``start`` up to, not including, ``end``."""

    start: int
    end: int


PUNCTUATION = re.escape(
    r"""!"#$%&()*+,./:;<=>?@[\]^`{|}~…–—“”„«»‚‘¿¡。、，！？；：「」『』（）【】《》"""
)
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana, Chinese."""

WORD = rf"[{UNSPACED}]|[{PUNCTUATION}]|[^\s{PUNCTUATION}{UNSPACED}]+"
"""A word, a punctuation mark, or a character of a script without spaces; compiled when used."""

ENDING = re.compile(r"(?<=\w)['’]\w{1,2}$")
"""An ending with its own translation, as in ``the Commission's``."""

UNALIGNED = -1
"""The link of a word that translates no word of the source."""


def find_words(text: str, cuts: Iterable[int] = ()) -> list[Span]:
    """Return the spans of words; offsets in ``cuts`` split the words that contain them."""
    edges = sorted(set(cuts))
    words = []
    for match in re.finditer(WORD, text):
        inner = edges[bisect_right(edges, match.start()) : bisect_right(edges, match.end() - 1)]
        words += [Span(*pair) for pair in pairwise([match.start(), *inner, match.end()])]
    return words


def list_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text."""
    return [text[start:end] for start, end in find_words(text)]


def carry_cuts(source: str, cuts: Iterable[int], target: str) -> list[int]:
    """Return the offsets of ``cuts`` in words that the translation copies, ignoring case."""
    edges = sorted(set(cuts))
    inner: dict[str, list[int]] = {}
    for word in find_words(source):
        within = edges[bisect_right(edges, word.start) : bisect_right(edges, word.end - 1)]
        if within:
            inner[source[word.start : word.end].casefold()] = [
                offset - word.start for offset in within
            ]
    return [
        word.start + offset
        for word in find_words(target)
        for offset in inner.get(target[word.start : word.end].casefold(), ())
    ]


def align_words(
    source: str,
    source_words: Sequence[Span],
    known_links: Sequence[int] | None,
    target: str,
    target_words: Sequence[Span],
) -> list[int]:
    """Return the index of the source word of each target word, or UNALIGNED.

    ``known_links`` are those of whole words. The source has at least one word, and the target may
    have other white space than the translation of the model.
    """
    links = align_by_position(source, source_words, target, target_words)
    wholes = _find_whole_words(target, target_words)
    if known_links is not None and len({*wholes}) == len(known_links):
        parts: dict[int, list[int]] = defaultdict(list)
        for number, whole in enumerate(_find_whole_words(source, source_words)):
            parts[whole].append(number)
        links = [
            min(parts[known_links[whole]], key=lambda part: abs(part - near), default=UNALIGNED)
            for whole, near in zip(wholes, links, strict=True)
        ]
    return _align_equal(source, source_words, target, target_words, links)


def _find_whole_words(text: str, words: Sequence[Span]) -> list[int]:
    """Return the index of the whole word that contains each word or piece of a word."""
    starts = [word.start for word in find_words(text)]
    return [bisect_right(starts, word.start) - 1 for word in words]


def align_by_position(
    source: str, source_words: Sequence[Span], target: str, target_words: Sequence[Span]
) -> list[int]:
    """Return the index of the source word at the same relative position as each target word."""
    if len(source_words) == len(target_words):
        return [*range(len(source_words))]
    middles = [sum(word) / 2 / len(source) for word in source_words]
    between = [sum(pair) / 2 for pair in pairwise(middles)]
    return [bisect_right(between, sum(word) / 2 / len(target)) for word in target_words]


def _align_equal(
    source: str,
    source_words: Sequence[Span],
    target: str,
    target_words: Sequence[Span],
    links: list[int],
) -> list[int]:
    """Link the pieces of split words that are equal on both sides: H, 2 and O of H2O."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for spelt, first in _list_cut_words(source, source_words):
        places[spelt].append(first)
    for spelt, first in _list_cut_words(target, target_words):
        if spelt in places:
            same = places[spelt]
            number = same.pop(0) if len(same) > 1 else same[0]
            source_pieces = range(number, number + len(spelt))
            links = [UNALIGNED if link in source_pieces else link for link in links]
            links[first : first + len(spelt)] = source_pieces
    return links


def _list_cut_words(text: str, words: Sequence[Span]) -> list[tuple[tuple[str, ...], int]]:
    """Return the pieces of each split word, case-folded, and the index of the first piece."""
    wholes = _find_whole_words(text, words)
    runs = [[*run] for _, run in groupby(range(len(words)), key=wholes.__getitem__)]
    return [
        (tuple(text[slice(*words[number])].casefold() for number in run), run[0])
        for run in runs
        if len(run) > 1
    ]
