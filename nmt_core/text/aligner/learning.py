"""An aligner learnt from parallel text by expectation maximisation, in both directions.

IBM model 1 with a preference for the diagonal (Brown et al. 1993; Dyer et al. 2013) finds which
words go together; an HMM goes on from there (Vogel et al. 1996), at last counting only what both
directions agree on (Liang et al. 2006).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.aligner.lexicon import (
    AlignmentBatch,
    Array,
    Direction,
    Prior,
    measure_priors,
    pair_text,
    spread,
    start_jumps,
)
from nmt_core.text.aligner.words import AlignerConfig, ShortlistConfig, cut_line

Method = Literal["model 1", "HMM", "agreement"]
"""What explains words in an iteration; in agreement, the HMMs of both directions together."""

MOST_PLACES = 2**24
"""Words of the source times those of the target, over all pairs, that are learnt from."""

SMALLEST = 1e-4
"""Expected counts below are left out of a learnt aligner."""


class Learner:
    """An expectation maximisation under way.

    Args:
        config: how to learn.
        batches: batches of sentence pairs.
        priors: pseudo-counts of the pairs of words, as either side sees them.
    """

    def __init__(
        self, config: AlignerConfig, batches: Sequence[AlignmentBatch], priors: tuple[Prior, Prior]
    ) -> None:
        self.config = config
        self.priors = priors
        self.batches = [(batch, batch.turn()) for batch in batches]
        self.jumps = start_jumps(config.jump_width)
        # at first each word may be explained by any of its sentence, or by none
        self.directions = [self._start(prior) for prior in priors]
        self.step("model 1")

    def step(self, method: Method) -> float:
        """Make one iteration; return the log-likelihood of before, of both sides."""
        self.pairs = [np.zeros(len(prior.counts) + 1) for prior in self.priors]
        self.nulls = [np.zeros(prior.sizes[1]) for prior in self.priors]
        log_likelihood = 0.0
        for both in self.batches:
            sides = zip(self.directions, both, strict=True)
            if method == "model 1":
                explained = [direction.explain_by_place(batch) for direction, batch in sides]
            else:
                explained = [direction.explain(batch) for direction, batch in sides]
            links = [np.ascontiguousarray(links) for links, _ in explained]
            if method == "agreement":
                links[0] = links[0] * links[1].transpose(1, 0, 2)
                links[1] = np.ascontiguousarray(links[0].transpose(1, 0, 2))
            for side, batch in enumerate(both):
                self._count(side, batch, links[side])
                log_likelihood += float(explained[side][1].sum())
        self.totals = [
            prior.sum_up(pairs[:-1]) for prior, pairs in zip(self.priors, self.pairs, strict=True)
        ]
        self.directions = [
            prior.direct(
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
        """Count which word explains which, by (source words, target words, pairs), or none does."""
        np.add.at(self.pairs[side], batch.cells.ravel(), links.ravel())
        inside = np.arange(len(batch.target))[:, None] < batch.target_lengths
        none = np.where(inside, np.maximum(1 - np.add.reduce(links, axis=0), 0.0), 0.0)
        np.add.at(self.nulls[side], batch.target.ravel(), none.ravel())


def learn_aligner(
    lines: Iterable[tuple[str, str]],
    config: AlignerConfig | None = None,
    *,
    tell: Callable[[str, float], None] = lambda _step, _log_likelihood: None,
) -> Aligner:
    """Learn an aligner from sentence pairs.

    Args:
        lines: source and target; pairs that are too long, or empty on a side, are passed over, and
            of too many long ones some all over the text are taken.
        config: how to learn.
        tell: takes the name of each iteration and the log-likelihood before it.

    Raises:
        CorpusError: if no pair is left.
    """
    config = config or AlignerConfig()
    pairs = [
        (source, target)
        for source, target in ([cut_line(line, config).spelt for line in pair] for pair in lines)
        if 0 < len(source) <= config.max_words and 0 < len(target) <= config.max_words
    ]
    if not pairs:
        raise CorpusError(
            f"there is nothing to learn an aligner from: no pair has 1 to {config.max_words} words "
            f"on both sides; give more text"
        )
    pairs = pairs[spread(pairs, MOST_PLACES)]
    words = [sorted({*chain.from_iterable(pair[side] for pair in pairs)}) for side in (0, 1)]
    numbers = [{word: number for number, word in enumerate(side)} for side in words]
    source, target = (
        [np.array([numbers[side][word] for word in pair[side]]) for pair in pairs]
        for side in (0, 1)
    )
    batches, keys = pair_text(source, target, len(words[1]))
    learner = Learner(config, batches, measure_priors(keys, words, config))
    iterations: dict[Method, int] = {
        "model 1": config.model_1_iterations,
        "HMM": config.hmm_iterations,
        "agreement": config.agreement_iterations,
    }
    for method, count in iterations.items():
        for number in range(1, count + 1):
            tell(f"{method}, iteration {number}", learner.step(method))
    counts = np.stack([pairs[:-1] for pairs in learner.pairs])
    used = (counts > SMALLEST).any(axis=0)
    return Aligner(
        config,
        (words[0], words[1]),
        keys[used],
        np.ascontiguousarray(counts[:, used]),
        (learner.totals[0], learner.totals[1]),
        (learner.nulls[0], learner.nulls[1]),
        (learner.jumps, learner.jumps),
    )


MOST_TOKEN_PAIRS = 2**26
"""Tokens of the source times those of the target, over all pairs, that are learnt from: memory for
more is some gigabytes."""

LEAST_COUNT = 0.01
"""Tokens with fewer expected links do not count as translations of each other."""


class Shortlist(NamedTuple):
    """The target tokens that translations may consist of, in numbers."""

    always: Sequence[int]
    """Those of any translation."""
    translations: Mapping[int, Sequence[int]]
    """More for each token of the source."""


Tokens = NDArray[np.int64]


def learn_shortlist(
    pairs: Sequence[tuple[Tokens, Tokens]],
    tokens: tuple[Sequence[str], Sequence[str]],
    config: ShortlistConfig,
) -> Shortlist:
    """Learn a shortlist from numbered sentence pairs, by IBM model 1 in both directions.

    A token may always be translated by one that is spelt like it, and all may be spelt by single
    letters and digits.

    Args:
        pairs: source and target; those that are too long, or empty on a side, are passed over, and
            of too many long ones some all over the text are taken.
        tokens: the vocabularies of source and target.
        config: how many tokens.
    """
    settings = AlignerConfig()
    kept = [pair for pair in pairs if all(0 < len(side) <= settings.max_words for side in pair)]
    kept = kept[spread(kept, MOST_TOKEN_PAIRS)]
    counted = Counter(number for _, target in kept for number in target.tolist())
    frequent = sorted(counted, key=lambda number: (-counted[number], number))[: config.frequent]
    letters = [n for n, token in enumerate(tokens[1]) if len(token) == 1 and token.isascii()]
    alike = {token: number for number, token in enumerate(tokens[1])}
    translations: dict[int, list[int]] = defaultdict(list)
    for number, token in enumerate(tokens[0]):
        if token in alike:
            translations[number].append(alike[token])
    for source, target in _list_links(kept, tokens, settings):
        known = translations[source]
        if len(known) < config.translations and target not in known:
            known.append(target)
    return Shortlist([*dict.fromkeys([*frequent, *letters])], dict(translations))


def _list_links(
    pairs: Sequence[tuple[Tokens, Tokens]],
    tokens: tuple[Sequence[str], Sequence[str]],
    settings: AlignerConfig,
) -> list[tuple[int, int]]:
    """Return linked tokens of source and target, those with the most expected links first."""
    if not pairs:
        return []
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    batches, keys = pair_text(sides[0], sides[1], len(tokens[1]))
    learner = Learner(settings, batches, measure_priors(keys, tokens, settings))
    for _ in range(settings.model_1_iterations):
        learner.step("model 1")
    counts = np.add(*learner.pairs)[:-1]
    order = np.argsort(-counts, kind="stable")
    linked = keys[order[counts[order] >= LEAST_COUNT]]
    return [*zip(*(side.tolist() for side in np.divmod(linked, len(tokens[1]))), strict=True)]
