"""An aligner learnt from parallel text by expectation maximisation, in both directions.

IBM model 1 with a preference for the diagonal (Brown et al. 1993; Dyer et al. 2013) finds which
words go together; an HMM goes on from there (Vogel et al. 1996), at last counting only what both
directions agree on (Liang et al. 2006).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.aligner.hmm import (
    AlignmentBatch,
    Direction,
    Jumps,
    PairedText,
    Posteriors,
    pair_text,
    spread,
)
from nmt_core.text.aligner.lexicon import Prior, Table, measure_priors
from nmt_core.text.aligner.words import AlignerConfig, ShortlistConfig, cut_line

Array = NDArray[np.float64]
Both = tuple[AlignmentBatch, AlignmentBatch]

JUMP_SMOOTHING = 1.0
"""Jumps of each kind that are taken for seen."""

MOST_PLACES = 2**24
"""Words of the source times those of the target, over all pairs, that are learnt from."""

SMALLEST = 1e-4
"""Expected counts below are left out of a learnt aligner."""


@dataclass
class ExpectedCounts:
    """Sums over a text; all that they are added up from is seen in the same order each time."""

    pairs: Array
    """Expected links of each pair of words, (pairs + 1,), last padding."""
    nulls: Array
    """Expected occurrences of each word without a link, (words,)."""
    jumps: Array
    """Expected jumps of each width; see ``Jumps``."""
    departures: Array
    """Expected jumps from each position, by length, (longest + 1, longest + 1)."""
    log_likelihood: float = 0.0

    @classmethod
    def zero(cls, pairs: int, words: int, kinds: int, longest: int) -> Self:
        """Return counts of nothing."""
        places = np.zeros((longest + 1, longest + 1))
        return cls(np.zeros(pairs + 1), np.zeros(words), np.zeros(kinds), places)

    def add_links(self, batch: AlignmentBatch, links: Array) -> None:
        """Count which word explains which.

        Args:
            batch: the pairs.
            links: probabilities, (target words, source words + 1, pairs); the rest is that of none.
        """
        inner = np.ascontiguousarray(links[:, 1:].transpose(1, 0, 2))
        np.add.at(self.pairs, batch.cells.ravel(), inner.ravel())
        inside = np.arange(len(batch.target))[:, None] < batch.target_lengths
        none = np.where(inside, np.maximum(1 - np.add.reduce(links, axis=1), 0.0), 0.0)
        np.add.at(self.nulls, batch.target.ravel(), none.ravel())

    def add_jumps(self, batch: AlignmentBatch, posteriors: Posteriors, jumps: Jumps) -> None:
        """Count how far the links of a word and the next are from each other."""
        self.jumps += jumps.sum_widths(posteriors.jumps.sum(axis=2))
        leaving = posteriors.jumps.sum(axis=1)
        for column, length in enumerate(batch.source_lengths.tolist()):
            self.departures[length, : len(leaving)] += leaving[:, column]


class Learner:
    """An expectation maximisation under way.

    Args:
        config: how to learn.
        text: batches of sentence pairs.
        priors: pseudo-counts of the pairs of words, as either side sees them.
    """

    def __init__(
        self, config: AlignerConfig, text: PairedText, priors: tuple[Prior, Prior]
    ) -> None:
        self.config = config
        self.priors = priors
        self.batches: list[Both] = [(batch, batch.turn()) for batch in text.batches]
        self.size = len(text.keys)
        self.longest = max(
            (max(len(batch.source), len(batch.target)) for batch in text.batches), default=0
        )
        self.jumps = [Jumps.start(config.jump_width) for _ in priors]
        self.counts = [self._start(side) for side in (0, 1)]
        self.directions = [self._improve(side) for side in (0, 1)]

    def step_model_1(self) -> float:
        """Make one iteration of model 1; return the log-likelihood of before, of both sides."""
        counts = [self._zero(side) for side in (0, 1)]
        for both in self.batches:
            for side, batch in enumerate(both):
                links, log_likelihood = self.directions[side].explain_by_place(batch)
                counts[side].add_links(batch, links)
                counts[side].log_likelihood += float(log_likelihood.sum())
        return self._take(counts)

    def step_hmm(self, *, agree: bool) -> float:
        """Make one iteration of the HMM; return the log-likelihood of before, of both sides.

        Args:
            agree: count the product of both directions' probabilities.
        """
        expected = [self._zero(side) for side in (0, 1)]
        for both in self.batches:
            seen = [self.directions[side].explain(both[side]) for side in (0, 1)]
            links = [posteriors.links for posteriors in seen]
            if agree:
                links = multiply_links(links)
            for side, batch in enumerate(both):
                expected[side].add_links(batch, links[side])
                expected[side].add_jumps(batch, seen[side], self.jumps[side])
                expected[side].log_likelihood += float(seen[side].log_likelihood.sum())
        for side, counts in enumerate(expected):
            self.jumps[side] = self.jumps[side].improve(
                counts.jumps, counts.departures, JUMP_SMOOTHING
            )
        return self._take(expected)

    def table(self, side: int) -> Table:
        """Return the lexicon of a direction."""
        counts = self.counts[side]
        return Table.of(counts.pairs[:-1], counts.nulls, self.priors[side])

    def _take(self, expected: list[ExpectedCounts]) -> float:
        self.counts = expected
        self.directions = [self._improve(side) for side in (0, 1)]
        return sum(counts.log_likelihood for counts in expected)

    def _improve(self, side: int) -> Direction:
        lexicon = self.priors[side].look_up(self.table(side), self.counts[side].pairs[:-1])
        return Direction(
            lexicon, self.jumps[side], self.config.null_probability, self.config.diagonal
        )

    def _zero(self, side: int) -> ExpectedCounts:
        words = self.priors[side].sizes[1]
        return ExpectedCounts.zero(self.size, words, len(self.jumps[side].weights), self.longest)

    def _start(self, side: int) -> ExpectedCounts:
        """Return counts by which each word may be explained by any of its sentence, or by none."""
        counts = self._zero(side)
        for both in self.batches:
            batch = both[side]
            there = np.arange(len(batch.source))[:, None] < batch.source_lengths
            links = np.zeros((len(batch.target), len(batch.source) + 1, len(batch.rows)))
            even = (1 - self.config.null_probability) / batch.source_lengths
            links[:, 1:] = there * even
            counts.add_links(batch, links)
        return counts


def multiply_links(links: Sequence[Array]) -> list[Array]:
    """Return for both directions the products of their probabilities.

    Args:
        links: (target words, source words + 1, pairs) and (source words, target words + 1, pairs).
    """
    both = links[0][:, 1:] * links[1][:, 1:].transpose(1, 0, 2)
    agreed = [np.zeros_like(matrix) for matrix in links]
    agreed[0][:, 1:], agreed[1][:, 1:] = both, both.transpose(1, 0, 2)
    return agreed


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
    text = pair_text(source, target, len(words[1]))
    learner = Learner(config, text, measure_priors(text.keys, words, config))
    for step in range(config.model_1_iterations):
        tell(f"model 1, iteration {step + 1}", learner.step_model_1())
    for step in range(config.hmm_iterations + config.agreement_iterations):
        agree = step >= config.hmm_iterations
        tell(f"HMM, iteration {step + 1}", learner.step_hmm(agree=agree))
    counts = np.stack([direction_counts.pairs[:-1] for direction_counts in learner.counts])
    used = (counts > SMALLEST).any(axis=0)
    return Aligner(
        config,
        (words[0], words[1]),
        text.keys[used],
        np.ascontiguousarray(counts[:, used]),
        (learner.table(0), learner.table(1)),
        (learner.jumps[0], learner.jumps[1]),
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
    text = pair_text([one for one, _ in pairs], [other for _, other in pairs], len(tokens[1]))
    learner = Learner(settings, text, measure_priors(text.keys, tokens, settings))
    for _ in range(settings.model_1_iterations):
        learner.step_model_1()
    counts = np.add(*(direction.pairs[:-1] for direction in learner.counts))
    order = np.argsort(-counts, kind="stable")
    keys = text.keys[order[counts[order] >= LEAST_COUNT]]
    return [*zip(*(side.tolist() for side in np.divmod(keys, len(tokens[1]))), strict=True)]
