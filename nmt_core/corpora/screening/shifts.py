"""Detection of shifted lines by a table of word pairs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.screening.finding import MOST, Finding, SampleRow, show_finding
from nmt_core.corpora.screening.flat_text import Array
from nmt_core.corpora.screening.word_numbers import WordNumbers
from nmt_core.corpora.screening.word_pairs import WordPairs

OFFSETS = (0, -1, 1, -2, 2, -3, 3)
"""Lines by which the target may be late; the source is late by those below 0."""

BLOCK = 500
"""Neighbouring pairs whose words are compared together."""

LEARNT_PAIRS = 5000
"""Pairs that word pairs are learnt from, the first of the sample."""

RELATED = 0.4
"""Nats that a word of sound text is explained better than by chance, at least, on average; in
text shifted by a line it is 0.0 or less."""

SOUND = 0.2
"""Share of blocks of related pairs that teach which words go together."""

CHANGE = 200.0
"""Nats that a change of the offset must gain over its pairs."""

SHOWN = 3
"""Places that a finding names."""

CLOSE = 20
"""Lines between neighbours of a sample that are still about the same place."""


def check_alignment(pairs: Sequence[SampleRow], lines: Sequence[int]) -> Iterator[Finding]:
    """Yield what is wrong with the alignment of two sides: shifted, or not related at all.

    Args:
        pairs: a sample, in runs of neighbours.
        lines: the line of each in its file.
    """
    if len(pairs) < 2 * BLOCK:
        return
    words = _learn(pairs, 0)
    models = dict.fromkeys(OFFSETS, words)
    if np.quantile(_score(words, pairs, 0).blocks, 1 - SOUND) < RELATED:
        models = {offset: _learn(pairs, offset) for offset in OFFSETS}  # wrong pairs teach nothing
    scores = {offset: _score(model, pairs, offset).blocks for offset, model in models.items()}
    shifted = np.stack([scores[offset] for offset in OFFSETS[1:]])
    if (shifted > scores[0] + RELATED).any():
        best = models[max(OFFSETS, key=lambda offset: float(scores[offset].mean()))]
        offsets = _trace([_score(best, pairs, offset).pairs for offset in OFFSETS])
        if any(offsets):
            yield _tell_shift(pairs, lines, offsets)
            return
    # signs that stand in many words, as those of Japanese, explain little, but more in pairs
    unrelated = np.flatnonzero(
        scores[0] < np.minimum(RELATED / 4, np.median(shifted, axis=0) + RELATED / 2)
    )
    if len(unrelated) > MOST * len(scores[0]):
        sentence = (
            f"the sides have nothing to do with each other in {len(unrelated)} of "
            f"{len(scores[0])} parts; name two files of which line N of one translates line N of "
            f"the other"
            if words
            else "hardly a word stands in several pairs, so nothing tells whether the sides are "
            "translations; give other text"
        )
        yield show_finding("unrelated", sentence, pairs, (unrelated * BLOCK).tolist())


def _tell_shift(
    pairs: Sequence[SampleRow], lines: Sequence[int], offsets: Sequence[int]
) -> Finding:
    """Return which side is late by how many lines, and from where on."""
    told: list[str] = []
    changes = [0, *(row for row in range(1, len(pairs)) if offsets[row] != offsets[row - 1])]
    for row in changes:
        if not (offset := offsets[row]) and not told:
            continue
        late = f"the {'target' if offset > 0 else 'source'} is late by {abs(offset)} line"
        late = f"{late}{'s' * (abs(offset) > 1)}" if offset else "the sides are aligned again"
        low, high = lines[max(row - 1, 0)], lines[row]
        place = f"about line {high:,}" if high - low <= CLOSE else f"lines {low:,} to {high:,}"
        told.append(f"{late} from {place} on")
    more = f" and {len(told) - SHOWN:,} more changes" if len(told) > SHOWN else ""
    share = sum(map(bool, offsets)) / len(pairs)
    sentence = (
        f"{', '.join(told[:SHOWN])}{more}, so that {share:.0%} of the pairs are not translations; "
        f"mend the file where a line is missing or was added"
    )
    first = next(row for row in changes if offsets[row])
    beginning = range(first, min(first + 3, len(pairs)))
    return show_finding("shifted", sentence, pairs, beginning)


def _trace(gains: Sequence[Array]) -> list[int]:
    """Return the likeliest offset of each pair, changes being rare (the Viterbi algorithm).

    Args:
        gains: nats by which each pair is explained better than by chance, at each offset.
    """
    steps = np.stack(gains, axis=1)
    reached, came = steps[0], np.zeros(steps.shape, np.int64)
    same = np.arange(len(gains))
    for row in range(1, len(steps)):
        best = int(reached.argmax())
        came[row] = np.where(reached >= reached[best] - CHANGE, same, best)
        reached = np.maximum(reached, reached[best] - CHANGE) + steps[row]
    state, path = int(reached.argmax()), []
    for row in range(len(steps) - 1, -1, -1):
        path.append(OFFSETS[state])
        state = int(came[row, state])
    return path[::-1]


def _shift(pairs: Sequence[SampleRow], offset: int) -> list[tuple[str, str]]:
    """Return each source with the target so many lines later."""
    sources, targets = pairs[max(-offset, 0) :], pairs[max(offset, 0) :]
    return [(one[0], other[1]) for one, other in zip(sources, targets, strict=False)]


def _learn(pairs: Sequence[SampleRow], offset: int) -> WordPairs | None:
    try:
        return WordPairs.learn(_shift(pairs[:LEARNT_PAIRS], offset))
    except CorpusError:  # there is nothing to learn from
        return None


class _Scores(NamedTuple):
    """Nats by which words are explained better than by chance, by the side explained worse."""

    blocks: Array
    """The mean of a word, of each block."""
    pairs: Array
    """The sum of each source's pair; 0 where it has none."""


def _score(words: WordPairs | None, pairs: Sequence[SampleRow], offset: int) -> _Scores:
    blocks = len(pairs) // BLOCK
    means, sums = np.zeros(blocks), np.zeros(len(pairs))
    if words is None:
        return _Scores(means, sums)
    shifted, first = _shift(pairs, offset), max(-offset, 0)
    numbers = WordNumbers(words.words)
    for at in range(0, len(shifted), BLOCK):
        block = shifted[at : at + BLOCK]
        read = [numbers.read([pair[side] for pair in block]) for side in (0, 1)]
        explained = words.explain(read[0], read[1])
        sums[first + at : first + at + len(block)] = np.minimum(*(side.score for side in explained))
        if at // BLOCK < blocks:
            means[at // BLOCK] = min(
                side.score.sum() / max(side.words.sum(), 1) for side in explained
            )
    return _Scores(means, sums)
