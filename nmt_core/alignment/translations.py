"""Words and those that they are often translated by, as an aligner links them."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from nmt_core.alignment.learning import learn_aligner
from nmt_core.alignment.settings import AlignerConfig
from nmt_core.alignment.words import find_core

QUICK = AlignerConfig(stem_length=100, hmm_iterations=0, agreement_iterations=0)
"""Settings that find whole words which belong together, and that take least time."""

LEAST_LINKS = 3
"""Times that two words are linked."""
LEAST_SHARES = 0.2, 0.1
"""Shares that these must be of the source word's links, and of the target word's."""
SHORTEST = 3
"""Letters of a word."""


def learn_translations(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the frequent translations of words, in the case in which they are written.

    Only words that are linked with one word, and that with no other, are counted.

    Args:
        pairs: source and target lines.
    """
    if not any(all(side.strip() for side in pair) for pair in pairs):
        return {}
    counts: Counter[tuple[str, str]] = Counter()
    for pair, links in zip(pairs, learn_aligner(pairs, QUICK).align(pairs), strict=True):
        source, target = ([strip_signs(word) for word in line.split()] for line in pair)
        degrees = [Counter(link[side] for link in links) for side in (0, 1)]
        counts.update(
            (source[one], target[other])
            for one, other in links
            if degrees[0][one] == degrees[1][other] == 1
            and min(len(source[one]), len(target[other])) >= SHORTEST
        )
    totals: list[Counter[str]] = [Counter(), Counter()]
    for words, count in counts.items():
        for side, word in enumerate(words):
            totals[side][word] += count
    found: dict[str, list[str]] = defaultdict(list)
    for (one, other), count in sorted(counts.items()):
        shares = count / totals[0][one], count / totals[1][other]
        if count >= LEAST_LINKS and all(map(float.__ge__, shares, LEAST_SHARES)):
            found[one].append(other)
    return dict(found)


def strip_signs(word: str) -> str:
    """Return a word without the signs around it; empty where it holds others within."""
    begin, end = find_core(word)
    inner = word[begin:end]
    return inner if inner.isalpha() else ""
