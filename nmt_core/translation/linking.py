"""The source word of each word of a translation, by the aligner or else by attention."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise

from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.alignment import align_by_place, find_words, list_words
from nmt_core.text.span import Span
from nmt_core.translation.translation import Translation

META_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
"""The character for a space in tokens of SentencePiece."""


def add_links(
    lines: Sequence[str], translations: Sequence[Sequence[Translation]], aligner: Aligner | None
) -> list[list[Translation]]:
    """Return translations of lines with the links of their words.

    Args:
        lines: the source.
        translations: of each line.
        aligner: None takes attention, where the translations have it.
    """
    pairs = [
        (line, each) for line, several in zip(lines, translations, strict=True) for each in several
    ]
    if aligner is None:
        links = iter([link_by_attention(line, each) for line, each in pairs])
    else:
        links = iter(
            aligner.trace([(list_words(line), list_words(each.text)) for line, each in pairs])
        )
    return [[each._replace(links=next(links)) for each in several] for several in translations]


def link_by_attention(source: str, translation: Translation) -> list[int] | None:
    """Link each word of a translation with the source word that gets most of its attention.

    None without attention.
    """
    if translation.attention is None:
        return None
    rows = translation.attention.tolist()
    source_words, words = find_words(source), find_words(translation.text)
    if not source_words or len(rows) != len(translation.tokens) + 1:
        return None
    columns = _share_tokens(source, source_words, translation.source_tokens)
    shares = _share_tokens(translation.text, words, translation.tokens)
    places = align_by_place(source, source_words, translation.text, words)
    return [
        _find_most(_look(rows, shares[word], columns), near) for word, near in enumerate(places)
    ]


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
