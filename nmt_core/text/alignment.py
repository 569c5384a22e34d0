"""Word alignments of a translation.

They come from the model's attention if it is known, else from relative positions. Wrong links never
lose markup of a document, they only misplace it.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Protocol

from nmt_core.text.sentences import Span

PUNCTUATION = re.escape(
    r"""!"#$%&()*+,./:;<=>?@[\]^`{|}~…–—“”„«»‚‘¿¡。、，！？；：「」『』（）【】《》"""
)
UNSPACED = "\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
WORD = re.compile(rf"[{UNSPACED}]|[{PUNCTUATION}]|[^\s{PUNCTUATION}{UNSPACED}]+")
"""Words, signs of punctuation and the characters of scripts that write no spaces."""

UNALIGNED = -1
"""The link of a word whose counterpart is surely linked with another one."""

META_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
"""The character for a space in tokens of SentencePiece."""


class Translated(Protocol):
    """The translation of a sentence, with tokens and attention if they are known."""

    @property
    def text(self) -> str:
        """The translation."""

    @property
    def tokens(self) -> Sequence[str]:
        """Its tokens."""

    @property
    def source_tokens(self) -> Sequence[str]:
        """The tokens of the source that the model read."""

    @property
    def attention(self) -> Iterable[Iterable[float]] | None:
        """Attention of each token, and last of the end, to each token of the source."""

    @property
    def confidence(self) -> float | None:
        """The probability that it is good, if that is known."""

    @property
    def breaches(self) -> Sequence[object]:
        """Literals of the source that did not come through."""


def find_words(text: str, cuts: Iterable[int] = ()) -> list[Span]:
    """Return the spans of words; a cut within a word makes two of it."""
    edges = sorted(set(cuts))
    words = []
    for match in WORD.finditer(text):
        inner = edges[bisect_right(edges, match.start()) : bisect_right(edges, match.end() - 1)]
        words += [Span(*pair) for pair in pairwise([match.start(), *inner, match.end()])]
    return words


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
    links = _align_by_place(source, source_words, target, target_words)
    rows = [[*row] for row in translated.attention] if translated.attention is not None else []
    shape = len(translated.tokens) + 1, len(translated.source_tokens) + 1
    if rows and (len(rows), len(rows[0])) == shape:
        columns = _share_tokens(source, source_words, translated.source_tokens)
        shares = _share_tokens(target, target_words, translated.tokens)
        links = [
            _find_most(_look(rows, shares[word], columns), near) for word, near in enumerate(links)
        ]
    return _align_equal(source, source_words, target, target_words, links)


def _find_most(weights: dict[int, float], near: int) -> int:
    """Return the word of most weight, the nearest of several; ``near`` if none has any."""
    best = max(weights, key=lambda word: (weights[word], -abs(word - near)), default=near)
    return best if weights.get(best) else near


def _look(
    rows: Sequence[Sequence[float]],
    tokens: Iterable[tuple[int, float]],
    columns: dict[int, list[tuple[int, float]]],
) -> dict[int, float]:
    """Return the attention of a word's tokens to each word of the source."""
    looks: dict[int, float] = defaultdict(float)
    for token, part in tokens:
        for word, shares in columns.items():
            looks[word] += part * sum(rows[token][column] * share for column, share in shares)
    return looks


def _align_by_place(
    source: str, source_words: Sequence[Span], target: str, target_words: Sequence[Span]
) -> list[int]:
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
    pieces = _find_pieces(source, source_words)
    met: dict[tuple[str, ...], int] = defaultdict(int)
    links = [*links]
    for spelt, [first, *_] in _each(_find_pieces(target, target_words)):
        if occurrences := pieces.get(spelt):
            number = occurrences[min(met[spelt], len(occurrences) - 1)][0]
            met[spelt] += 1
            own = range(number, number + len(spelt))
            links = [UNALIGNED if link in own else link for link in links]
            links[first : first + len(spelt)] = own
    return links


def _each(
    pieces: dict[tuple[str, ...], list[list[int]]],
) -> list[tuple[tuple[str, ...], list[int]]]:
    return [(spelt, numbers) for spelt, runs in pieces.items() for numbers in runs]


def _find_pieces(text: str, words: Sequence[Span]) -> dict[tuple[str, ...], list[list[int]]]:
    """Return the numbers of words that were cut, by the pieces of the word that they make."""
    pieces: dict[tuple[str, ...], list[list[int]]] = defaultdict(list)
    number = 0
    for whole in find_words(text):
        numbers = []
        while number < len(words) and words[number].end <= whole.end:
            numbers.append(number)
            number += 1
        if len(numbers) > 1:
            spelt = tuple(
                text[words[index].start : words[index].end].casefold() for index in numbers
            )
            pieces[spelt].append(numbers)
    return pieces


def _share_tokens(
    text: str, words: Sequence[Span], tokens: Sequence[str]
) -> dict[int, list[tuple[int, float]]]:
    """Return for each word its tokens, each with the share that belongs to the word."""
    starts = [word.start for word in words]
    shares: dict[int, list[tuple[int, float]]] = {number: [] for number in range(len(words))}
    for token, span in enumerate(_find_tokens(text, tokens)):
        for number in range(max(bisect_right(starts, span.start) - 1, 0), len(words)):
            if words[number].start >= span.end:
                break
            common = min(words[number].end, span.end) - max(words[number].start, span.start)
            if common > 0:
                shares[number].append((token, common / (span.end - span.start)))
    return shares


def _find_tokens(text: str, tokens: Sequence[str]) -> list[Span]:
    """Return where the tokens of a text stand in it, about where they do not spell it."""
    characters = [number for number, character in enumerate(text) if not character.isspace()]
    words = _group(characters, lambda number: number > 0 and text[number - 1].isspace())
    groups = _group([*range(len(tokens))], lambda token: tokens[token].startswith(META_SPACE))
    if len(words) != len(groups):
        words, groups = [characters], [[*range(len(tokens))]]
    spans = []
    for word, group in zip(words, groups, strict=True):
        lengths = [len(tokens[token].replace(META_SPACE, "").replace(" ", "")) for token in group]
        scale = len(word) / max(sum(lengths), 1)
        edges = [round(edge * scale) for edge in accumulate(lengths, initial=0)]
        for first, last in pairwise(edges):
            if first < last:
                spans.append(Span(word[first], word[last - 1] + 1))
            else:
                spans.append(Span(0, 0))
    return spans


def _group(numbers: Sequence[int], begins: Callable[[int], bool]) -> list[list[int]]:
    groups: list[list[int]] = []
    for number in numbers:
        if not groups or begins(number):
            groups.append([])
        groups[-1].append(number)
    return groups
