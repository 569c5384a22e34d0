"""Find shifted or unrelated sides by a table of word pairs."""

from collections.abc import Sequence

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.filters import FindingKind
from nmt_core.corpora.screening.word_pairs import WordPairs
from nmt_core.text.language_detection import Array

OFFSETS = (-1, 1, -2, 2, -3, 3)
"""Shifts to test, in lines; positive if the target is late."""

BLOCK = 200
"""Number of neighbouring pairs that are judged together."""

LEARNING_PAIRS = 5000
"""Number of pairs to learn word pairs from, from the beginning of the sample."""

RELATED = 0.4
"""Minimum average gain of a word in correct text, in nats; shifted text has 0.0 or less."""

SOUND = 0.2
"""Minimum share of related blocks to learn word pairs."""

MAJORITY = 0.5
"""Share of unrelated blocks above which the whole text is unrelated."""


def find_misalignment(
    pairs: Sequence[tuple[str, ...]], lines: Sequence[int]
) -> tuple[FindingKind, str, list[int]] | None:
    """Find sides that are shifted or unrelated.

    Args:
        pairs: runs of neighbouring pairs.
        lines: the line of each pair in its file.

    Returns:
        The kind, a sentence with the remedy, and the first pairs of the wrong blocks; None if the
        sides are aligned.
    """
    blocks = len(pairs) // BLOCK
    if blocks <= 1:
        return None
    words = _learn(pairs, 0)
    aligned = _score(words, pairs, 0, range(blocks))
    doubtful = np.flatnonzero(aligned < RELATED).tolist()
    if not doubtful:
        return None
    is_learnt = len(doubtful) <= (1 - SOUND) * blocks  # nothing can be learnt from wrong pairs
    models = [words if is_learnt else _learn(pairs, offset) for offset in OFFSETS]
    shifted = np.stack(
        [
            _score(model, pairs, offset, doubtful)
            for model, offset in zip(models, OFFSETS, strict=True)
        ]
    )
    late = shifted.max(axis=0) > aligned[doubtful] + RELATED
    if late.any():
        rows = [BLOCK * doubtful[n] for n in np.flatnonzero(late)]
        best = int(shifted[:, int(late.argmax())].argmax())
        row = _find_change(models[best], pairs, OFFSETS[best], rows[0])
        sentence = _describe_shift(OFFSETS[best], lines[row], len(rows), blocks)
        return "shifted", sentence, rows
    # frequent characters, as in Japanese, explain little, but more in aligned pairs
    limits = np.minimum(RELATED / 4, np.median(shifted, axis=0) + RELATED / 2)
    unrelated = [doubtful[n] for n in np.flatnonzero(aligned[doubtful] < limits)]
    if len(unrelated) <= MAJORITY * blocks:
        return None
    sentence = (
        f"the sides are unrelated in {len(unrelated)} of {blocks} parts; use two files of which "
        f"line N of one translates line N of the other"
        if words
        else "hardly any word occurs in several pairs, so the sides cannot be compared; use other "
        "text"
    )
    return "unrelated", sentence, [BLOCK * block for block in unrelated]


def _find_change(
    words: WordPairs | None, pairs: Sequence[tuple[str, ...]], offset: int, row: int
) -> int:
    """Return the index of the most likely first shifted pair, at most a block before ``row``."""
    begin, end = max(row - BLOCK, 0), row + BLOCK
    aligned, shifted = (
        np.array([_explain(words, pair) for pair in _shift(pairs, late)[begin:end]])
        for late in (0, offset)
    )
    return begin + int(np.cumsum([0.0, *(aligned - shifted)[:-1]]).argmax())


def _explain(words: WordPairs | None, pair: tuple[str, str]) -> float:
    return min(nats for nats, _ in words.explain(*pair)) if words else 0.0


def _describe_shift(offset: int, line: int, shifted: int, blocks: int) -> str:
    side = "target" if offset > 0 else "source"
    count = f"{abs(offset)} line{'s' * (abs(offset) > 1)}"
    return (
        f"the {side} is late by {count} from about line {line:,} on, and {shifted / blocks:.0%} of "
        f"the parts are shifted; correct the file where a line is missing or was added"
    )


def _shift(pairs: Sequence[tuple[str, ...]], offset: int) -> list[tuple[str, str]]:
    """Return each source with the target ``offset`` lines later; "" beyond the ends."""
    return [
        (pair[0], pairs[row + offset][1] if 0 <= row + offset < len(pairs) else "")
        for row, pair in enumerate(pairs)
    ]


def _learn(pairs: Sequence[tuple[str, ...]], offset: int) -> WordPairs | None:
    try:
        return WordPairs.learn(_shift(pairs[:LEARNING_PAIRS], offset))
    except CorpusError:  # no word is frequent
        return None


def _score(
    words: WordPairs | None, pairs: Sequence[tuple[str, ...]], offset: int, blocks: Sequence[int]
) -> Array:
    """Return the mean gain of a word in each block, on the side with the lower gain."""
    if words is None:
        return np.zeros(len(blocks))
    shifted = _shift(pairs, offset)
    scores = []
    for block in blocks:
        sides = zip(
            *(words.explain(*pair) for pair in shifted[BLOCK * block : BLOCK * (block + 1)]),
            strict=True,
        )
        gains = [[sum(column) for column in zip(*side, strict=True)] for side in sides]
        scores.append(min(nats / max(count, 1) for nats, count in gains))
    return np.array(scores)
