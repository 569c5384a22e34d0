"""Learn an aligner from parallel text by expectation maximisation, in both directions.

Training starts with IBM model 1 with a preference for the diagonal (Brown et al. 1993; Dyer et al.
2013), continues with an HMM (Vogel et al. 1996), and ends with an HMM that only counts links on
which both directions agree (Liang et al. 2006).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple, get_args

import numpy as np

from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.aligner.lexicon import (
    AlignmentBatch,
    Array,
    Direction,
    Numbers,
    Prior,
    make_priors,
    pair_text,
    start_jumps,
    subsample,
)
from nmt_core.text.aligner.pieces import AlignerConfig, ShortlistConfig, cut_line
from nmt_core.text.vocabulary import TAG_BEGIN

Method = Literal["model 1", "HMM", "agreement"]
"""The model of an iteration; ``agreement`` combines the HMMs of both directions."""

MAX_WORD_CELLS = 2**24
"""Maximum sum over all training pairs of source words times target words."""

ALIGNED_PAIRS, ALIGNED_WORDS = 20_000, 500_000
"""Maximum number of chosen pairs of a small text, and of the words of both sides of any text."""

SHORT_WORDS = 15
"""Pairs with more words on a side are chosen only if the shorter pairs are too few."""

LARGE_TEXT = AlignerConfig(model_1_iterations=2, hmm_iterations=0, agreement_iterations=1)
"""Settings for large texts, for which more iterations do not lower the alignment error rate."""

MIN_STORED_COUNT = 1e-4
"""Word pairs with smaller expected counts are not stored in an aligner."""


class Learner:
    """The state of expectation maximisation, with priors of word pairs for both directions."""

    def __init__(
        self, config: AlignerConfig, batches: Sequence[AlignmentBatch], priors: tuple[Prior, Prior]
    ) -> None:
        self.config = config
        self.priors = priors
        self.batches = [(batch, batch.swap_sides()) for batch in batches]
        self.jumps = start_jumps(config.jump_width)
        # initially, all links of a word in its sentence are equally probable
        self.directions = [self._start(prior) for prior in priors]
        self.step("model 1")

    def step(self, method: Method) -> float:
        """Run one iteration; return the log-likelihood of both sides before it."""
        self.pairs = [np.zeros(len(prior.counts) + 1) for prior in self.priors]
        self.nulls = [np.zeros(prior.sizes[1]) for prior in self.priors]
        log_likelihood = 0.0
        for both in self.batches:
            sides = zip(self.directions, both, strict=True)
            if method == "model 1":
                posteriors = [direction.align_model_1(batch) for direction, batch in sides]
            else:
                posteriors = [direction.align_hmm(batch) for direction, batch in sides]
            links = [np.ascontiguousarray(links) for links, _ in posteriors]
            if method == "agreement":
                links[0] = links[0] * links[1].transpose(1, 0, 2)
                links[1] = np.ascontiguousarray(links[0].transpose(1, 0, 2))
            for side, batch in enumerate(both):
                self._count(side, batch, links[side])
                log_likelihood += float(posteriors[side][1].sum())
        self.totals = [
            prior.sum_counts(pairs[:-1])
            for prior, pairs in zip(self.priors, self.pairs, strict=True)
        ]
        self.directions = [
            prior.make_direction(
                self.pairs[side][:-1], self.totals[side], self.nulls[side], self.jumps, self.config
            )
            for side, prior in enumerate(self.priors)
        ]
        return log_likelihood

    def _start(self, prior: Prior) -> Direction:
        words = prior.sizes[1]
        pairs = np.append(np.full(len(prior.counts), 1 / words), 0.0)
        nulls = np.full(words, 1 / words)
        return Direction(pairs, nulls, self.jumps, self.config.null_probability, diagonal=0.0)

    def _count(self, side: int, batch: AlignmentBatch, links: Array) -> None:
        """Add the posteriors of links, (source words, target words, pairs), to the counts."""
        np.add.at(self.pairs[side], batch.cells.ravel(), links.ravel())
        inside = np.arange(len(batch.target))[:, None] < batch.target_lengths
        unlinked = np.where(inside, np.maximum(1 - np.add.reduce(links, axis=0), 0.0), 0.0)
        np.add.at(self.nulls[side], batch.target.ravel(), unlinked.ravel())


def choose_pairs(source: Numbers, target: Numbers) -> tuple[Numbers, AlignerConfig]:
    """Return the indices of pairs to learn from, given the words of their sides, and settings.

    The pairs are evenly spread. Of a large text, they are short, which takes less time per word.
    """
    words, longest = source + target, np.maximum(source, target)
    chosen = np.arange(0, len(words), max(1, -(-len(words) // ALIGNED_PAIRS)))
    if words[chosen].sum() <= ALIGNED_WORDS:
        return chosen, AlignerConfig()
    sums = np.cumsum(np.bincount(longest, words))
    short = np.flatnonzero(longest <= max(SHORT_WORDS, np.searchsorted(sums, ALIGNED_WORDS)))
    count = int(len(short) * min(1, ALIGNED_WORDS / words[short].sum()))
    return short[np.arange(count) * len(short) // count], LARGE_TEXT


def learn_aligner(
    lines: Iterable[tuple[str, str]],
    config: AlignerConfig | None = None,
    *,
    report: Callable[[str, float], None] = lambda _step, _log_likelihood: None,
) -> Aligner:
    """Learn an aligner from sentence pairs.

    Pairs that are too long, or empty on a side, are skipped, and a large text is sampled at even
    intervals. ``report`` receives the name of each iteration and the log-likelihood before it.

    Raises:
        CorpusError: if no pair can be used.
    """
    config = config or AlignerConfig()
    pairs = [
        (source, target)
        for source, target in ([cut_line(line, config).texts for line in pair] for pair in lines)
        if 0 < len(source) <= config.max_words and 0 < len(target) <= config.max_words
    ]
    if not pairs:
        raise CorpusError(
            f"an aligner cannot be learnt: no pair has 1 to {config.max_words} words on both "
            f"sides; use more text"
        )
    pairs = pairs[subsample(pairs, MAX_WORD_CELLS)]
    words = [sorted({*chain.from_iterable(pair[side] for pair in pairs)}) for side in (0, 1)]
    numbers = [{word: number for number, word in enumerate(side)} for side in words]
    source, target = (
        [np.array([numbers[side][word] for word in pair[side]]) for pair in pairs]
        for side in (0, 1)
    )
    batches, keys = pair_text(source, target, len(words[1]))
    learner = Learner(config, batches, make_priors(keys, words, config))
    iterations = (config.model_1_iterations, config.hmm_iterations, config.agreement_iterations)
    for method, count in zip(get_args(Method), iterations, strict=True):
        for number in range(1, count + 1):
            report(f"{method}, iteration {number}", learner.step(method))
    counts = np.stack([pairs[:-1] for pairs in learner.pairs])
    stored = (counts > MIN_STORED_COUNT).any(axis=0)
    return Aligner(
        config,
        (words[0], words[1]),
        keys[stored],
        np.ascontiguousarray(counts[:, stored]),
        (learner.totals[0], learner.totals[1]),
        (learner.nulls[0], learner.nulls[1]),
        (learner.jumps, learner.jumps),
    )


MAX_TOKEN_CELLS = 2**26
"""Maximum sum over all training pairs of source tokens times target tokens, to bound memory."""

MIN_LINK_COUNT = 0.01
"""Minimum expected count of links between tokens that are translations of each other."""


class Shortlist(NamedTuple):
    """The IDs of target tokens that translations may contain."""

    always: Sequence[int]
    """Tokens that are allowed in every translation."""
    translations: Mapping[int, Sequence[int]]
    """Further tokens, by the ID of a source token."""


def learn_shortlist(
    pairs: Sequence[tuple[Numbers, Numbers]],
    tokens: tuple[Sequence[str], Sequence[str]],
    config: ShortlistConfig,
) -> Shortlist:
    """Learn a shortlist from token IDs, by IBM model 1 in both directions.

    A target token that equals a source token is always among its translations, except for tags.
    Single letters and digits are always allowed. Pairs that are too long, or empty on a side, are
    skipped, and a large text is sampled at even intervals. ``tokens`` are the vocabularies.
    """
    settings = AlignerConfig()
    kept = [pair for pair in pairs if all(0 < len(side) <= settings.max_words for side in pair)]
    kept = kept[subsample(kept, MAX_TOKEN_CELLS)]
    counts = Counter(number for _, target in kept for number in target.tolist())
    frequent = sorted(counts, key=lambda number: (-counts[number], number))[: config.frequent]
    letters = [n for n, token in enumerate(tokens[1]) if len(token) == 1 and token.isascii()]
    target_ids = {token: number for number, token in enumerate(tokens[1])}
    translations: dict[int, list[int]] = defaultdict(list)
    for number, token in enumerate(tokens[0]):
        if token in target_ids and not token.startswith(TAG_BEGIN):
            translations[number].append(target_ids[token])
    for source, target in _list_links(kept, tokens, settings):
        candidates = translations[source]
        if len(candidates) < config.translations and target not in candidates:
            candidates.append(target)
    return Shortlist([*dict.fromkeys([*frequent, *letters])], dict(translations))


def _list_links(
    pairs: Sequence[tuple[Numbers, Numbers]],
    tokens: tuple[Sequence[str], Sequence[str]],
    settings: AlignerConfig,
) -> list[tuple[int, int]]:
    """Return the IDs of linked source and target tokens, the most frequent links first."""
    if not pairs:
        return []
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    batches, keys = pair_text(sides[0], sides[1], len(tokens[1]))
    learner = Learner(settings, batches, make_priors(keys, tokens, settings))
    for _ in range(settings.model_1_iterations):
        learner.step("model 1")
    counts = np.add(*learner.pairs)[:-1]
    order = np.argsort(-counts, kind="stable")
    linked = keys[order[counts[order] >= MIN_LINK_COUNT]]
    return [*zip(*(side.tolist() for side in np.divmod(linked, len(tokens[1]))), strict=True)]
