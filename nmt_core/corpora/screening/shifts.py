"""Detection of shifted lines by a table of word pairs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.screening.findings import Finding, SampleRow, show_finding
from nmt_core.corpora.screening.flat_text import Array, WordNumbers
from nmt_core.corpora.screening.word_pairs import WordPairs

MAJORITY = 0.5
"""Share of judged lines from which a fault is one of the whole corpus."""

OFFSETS = (0, -1, 1, -2, 2, -3, 3)
"""Lines by which the target may be late; negative if the source is."""

BLOCK = 500
"""Number of neighbouring pairs in a block."""

LEARNING_PAIRS = 5000
"""Number of pairs, the first of the sample, that word pairs are learnt from."""

RELATED = 0.4
"""Minimum average gain of a word in sound text, in nats; 0.0 or less in shifted text."""

SOUND = 0.2
"""Share of related blocks that suffices to learn word pairs."""

CHANGE = 200.0
"""Minimum gain of a change of the offset over its pairs, in nats."""

SHOWN = 3
"""Number of places in a finding."""

CLOSE = 20
"""Maximum distance in lines of two neighbours of a sample that are one place."""


def check_alignment(pairs: Sequence[SampleRow], lines: Sequence[int]) -> Iterator[Finding]:
    """Yield a finding if two sides are shifted or unrelated.

    ``lines`` has the line of each pair, which come in runs of neighbours.
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
            yield _describe_shift(pairs, lines, offsets)
            return
    # characters that occur in many words, as in Japanese, explain little, but more in pairs
    unrelated = np.flatnonzero(
        scores[0] < np.minimum(RELATED / 4, np.median(shifted, axis=0) + RELATED / 2)
    )
    if len(unrelated) > MAJORITY * len(scores[0]):
        sentence = (
            f"the sides are unrelated in {len(unrelated)} of {len(scores[0])} parts; give two "
            f"files of which line N of one translates line N of the other"
            if words
            else "hardly any word occurs in several pairs, so the sides cannot be compared; give "
            "other text"
        )
        yield show_finding("unrelated", sentence, pairs, (unrelated * BLOCK).tolist())


def _describe_shift(
    pairs: Sequence[SampleRow], lines: Sequence[int], offsets: Sequence[int]
) -> Finding:
    """Return which side is late by how many lines, and from where on."""
    places: list[str] = []
    changes = [0, *(row for row in range(1, len(pairs)) if offsets[row] != offsets[row - 1])]
    for row in changes:
        if not (offset := offsets[row]) and not places:
            continue
        late = f"the {'target' if offset > 0 else 'source'} is late by {abs(offset)} line"
        late = f"{late}{'s' * (abs(offset) > 1)}" if offset else "the sides are aligned again"
        low, high = lines[max(row - 1, 0)], lines[row]
        place = f"about line {high:,}" if high - low <= CLOSE else f"lines {low:,} to {high:,}"
        places.append(f"{late} from {place} on")
    more = f" and {len(places) - SHOWN:,} more changes" if len(places) > SHOWN else ""
    share = sum(map(bool, offsets)) / len(pairs)
    sentence = (
        f"{', '.join(places[:SHOWN])}{more}, so that {share:.0%} of the pairs are not "
        f"translations; correct the file where a line is missing or was added"
    )
    first = next(row for row in changes if offsets[row])
    beginning = range(first, min(first + 3, len(pairs)))
    return show_finding("shifted", sentence, pairs, beginning)


def _trace(gains: Sequence[Array]) -> list[int]:
    """Return the likeliest offset of each pair if changes are rare, by the Viterbi algorithm.

    ``gains`` has the gain of each pair in nats, for each offset.
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
    """Return each source with the target ``offset`` lines later."""
    sources, targets = pairs[max(-offset, 0) :], pairs[max(offset, 0) :]
    return [(one[0], other[1]) for one, other in zip(sources, targets, strict=False)]


def _learn(pairs: Sequence[SampleRow], offset: int) -> WordPairs | None:
    try:
        return WordPairs.learn(_shift(pairs[:LEARNING_PAIRS], offset))
    except CorpusError:  # no word is frequent
        return None


class _Scores(NamedTuple):
    """Gains in nats, of the side that is explained worse."""

    blocks: Array
    """Mean over the words of each block."""
    pairs: Array
    """Sum over the words of each source's pair; 0 without a pair."""


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
