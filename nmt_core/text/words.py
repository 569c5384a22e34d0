"""Words of a text, repetitions among them, and the source word of each word of a translation.

Links come with a translation, else from relative positions. Wrong links never lose markup of a
document, they only misplace it.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, Protocol

from nmt_core.literals.checking import Breach


class Span(NamedTuple):
    """The characters of a text from ``start`` up to ``end``."""

    start: int
    end: int


PUNCTUATION = re.escape(
    r"""!"#$%&()*+,./:;<=>?@[\]^`{|}~…–—“”„«»‚‘¿¡。、，！？；：「」『』（）【】《》"""
)
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Scripts without spaces: Thai, Lao, Tibetan, Burmese, Khmer, Kana, Chinese characters."""

WORD = re.compile(rf"[{UNSPACED}]|[{PUNCTUATION}]|[^\s{PUNCTUATION}{UNSPACED}]+")
"""Words, signs of punctuation and the characters of scripts that write no spaces."""

UNALIGNED = -1
"""The link of a word that translates none of the source."""


class Translated(Protocol):
    """The translation of a sentence, with its links if they are known."""

    @property
    def text(self) -> str:
        """The translation."""

    @property
    def links(self) -> Sequence[int] | None:
        """The source word of each of its words, or UNALIGNED; words as ``find_words`` has them."""

    @property
    def confidence(self) -> float | None:
        """The probability that it is good, if that is known."""

    @property
    def breaches(self) -> Sequence[Breach]:
        """Literals of the source that did not come through."""

    @property
    def restored_words(self) -> Sequence[str]:
        """Words that the model read in another case or with accents, as it read them."""

    @property
    def unknown_words(self) -> Sequence[str]:
        """Words of the source that the training text never had."""

    @property
    def origin(self) -> str:
        """The origin of the translation: ``model`` or ``memory``."""


def find_words(text: str, cuts: Iterable[int] = ()) -> list[Span]:
    """Return the spans of words; a cut within a word makes two of it."""
    edges = sorted(set(cuts))
    words = []
    for match in WORD.finditer(text):
        inner = edges[bisect_right(edges, match.start()) : bisect_right(edges, match.end() - 1)]
        words += [Span(*pair) for pair in pairwise([match.start(), *inner, match.end()])]
    return words


def list_words(text: str) -> list[str]:
    """Return the words and signs of a text."""
    return [text[start:end] for start, end in find_words(text)]


def carry_cuts(source: str, cuts: Iterable[int], target: str) -> list[int]:
    """Return the cuts for words that the translation copies, but for case, from the source."""
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
    translated: Translated,
    target: str,
    target_words: Sequence[Span],
) -> list[int]:
    """Return for each word of a translation the number of its source word, or UNALIGNED.

    Args:
        source: the sentence that was translated.
        source_words: where its words are; at least one.
        translated: its translation as the model gave it.
        target: the same text, in which only white space may have changed.
        target_words: where its words are.
    """
    links = align_by_place(source, source_words, target, target_words)
    wholes = _find_wholes(target, target_words)
    if translated.links is not None and len({*wholes}) == len(translated.links):
        parts: dict[int, list[int]] = defaultdict(list)
        for number, whole in enumerate(_find_wholes(source, source_words)):
            parts[whole].append(number)
        links = [
            min(
                parts[translated.links[whole]], key=lambda part: abs(part - near), default=UNALIGNED
            )
            for whole, near in zip(wholes, links, strict=True)
        ]
    return _align_equal(source, source_words, target, target_words, links)


def _find_wholes(text: str, words: Sequence[Span]) -> list[int]:
    """Return for each of the words, some of which are cut, the number of the whole word."""
    starts = [word.start for word in find_words(text)]
    return [bisect_right(starts, word.start) - 1 for word in words]


def align_by_place(
    source: str, source_words: Sequence[Span], target: str, target_words: Sequence[Span]
) -> list[int]:
    """Return for each target word the source word at about the same place of the sentence."""
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
    """Link words that hang together in the same way in both: H, 2 and O of H2O."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for spelt, first in _list_cut_words(source, source_words):
        places[spelt].append(first)
    for spelt, first in _list_cut_words(target, target_words):
        if spelt in places:
            same = places[spelt]
            number = same.pop(0) if len(same) > 1 else same[0]
            own = range(number, number + len(spelt))
            links = [UNALIGNED if link in own else link for link in links]
            links[first : first + len(spelt)] = own
    return links


def _list_cut_words(text: str, words: Sequence[Span]) -> list[tuple[tuple[str, ...], int]]:
    """Return the pieces of each word that was cut, and the number of the first piece."""
    wholes = _find_wholes(text, words)
    runs = [[*run] for _, run in groupby(range(len(words)), key=wholes.__getitem__)]
    return [
        (tuple(text[slice(*words[number])].casefold() for number in run), run[0])
        for run in runs
        if len(run) > 1
    ]


LOOP_WORDS = 4
"""Longest run of words whose immediate repetition counts as going in circles."""

LOOP_TIMES = 3
"""Repetitions in a row that count."""

LOOP_LETTERS = 8
"""Letters that repetitions within a word have at least, more than "nenene" of German
"Sonnenenergie"."""

_REPEATED = re.compile(r"([^\W\d_]{1,8}?)\1{2,}")
"""Letters that stand three times in a row."""


def find_letter_loop(text: str) -> str:
    """Return the first repetition of letters within a word, as in "Nineineine"; "" if none is."""
    found = (match[0] for match in _REPEATED.finditer(text.casefold()))
    return next((letters for letters in found if len(letters) >= LOOP_LETTERS), "")


def find_loop(words: Sequence[str]) -> Sequence[str]:
    """Return the first run of words that stands three times in a row; none if there is none."""
    if len(words) - len({*words}) < LOOP_TIMES - 1:
        return ()
    for size in range(1, LOOP_WORDS + 1):
        equal = 0  # words in a row that are those so many places later
        for place in range(len(words) - size):
            equal = equal + 1 if words[place] == words[place + size] else 0
            if equal == (LOOP_TIMES - 1) * size:
                first = place + 1 - equal
                return words[first : first + size]
    return ()
