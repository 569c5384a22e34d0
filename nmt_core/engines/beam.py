"""Beam search without torch, over any program that reads a token per hypothesis.

It is the search of ``nmt_core.decoding.beam`` in numpy, whose result it has for equal numbers.
Dimension letters as in ``seq2seq.py``, N candidates per hypothesis, and t tokens so far.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmt_core.decoding.hypothesis import Hypothesis, drop_impossible
from nmt_core.decoding.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class Next(NamedTuple):
    """What may follow every row."""

    log_probs: Floats  # (R, N), best first, natural logarithms
    tokens: Ints  # (R, N)
    end: Floats  # (R,), log-probability of EOS
    looks: Floats | None  # (R, S), how much each source token is looked at; None if not asked for


class Reader(Protocol):
    """A batch of sentences, of which it has read the sources."""

    def read(self, tokens: Ints, parents: Ints, count: int) -> Next:
        """Read one more token of every hypothesis.

        Args:
            tokens: (R,), the tokens.
            parents: (R,), the rows of the last call that they follow; at first the sentences.
            count: of candidates, N; the vocabulary may have fewer.
        """

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences alone; the next parents are rows of the last call, still."""


@dataclass(frozen=True)
class Written:
    """The unfinished hypotheses of every sentence, K each, all rows one after the other."""

    tokens: Ints  # (R, t), without BOS
    steps: Floats  # (R, t)
    looks: Floats  # (R, t, S); no columns if they were not asked for
    log_prob: Floats  # (B, K)

    def extended(self, parents: Ints, tokens: Ints, steps: Floats, following: Next) -> "Written":
        """Return the rows that parents and tokens describe, (R',) each, without their sum."""
        looks = self.looks[parents]
        if following.looks is not None:
            looks = np.concatenate([looks, following.looks[parents][:, None]], axis=1)
        return Written(
            np.concatenate([self.tokens[parents], tokens[:, None]], axis=1),
            np.concatenate([self.steps[parents], steps[:, None]], axis=1),
            looks,
            self.log_prob,
        )


def search_beams(
    reader: Reader, lengths: Sequence[int], config: BeamConfig, *, width: int
) -> list[list[Hypothesis]]:
    """Translate a batch; return one to ``config.n_best`` hypotheses per sentence, best first.

    What is unfinished at its length limit is ended there.

    Args:
        reader: of the batch.
        lengths: tokens of every source, EOS included.
        config: how to search; of prefixes, diversity and repetition it knows nothing.
        width: columns of what was looked at, S; 0 if that is not asked for.

    Raises:
        NmtError: if a sentence has no translation of positive probability.
    """
    size = config.beam_size
    limits = np.array([config.limit_length(length) for length in lengths], dtype=np.int64)
    found: list[list[Hypothesis]] = [[] for _ in lengths]
    sentences = np.arange(len(lengths))
    tokens, parents = np.full(len(lengths), BOS), np.arange(len(lengths))
    live = Written(
        np.empty((len(lengths), 0), dtype=np.int64),
        np.empty((len(lengths), 0), dtype=np.float32),
        np.empty((len(lengths), 0, width), dtype=np.float32),
        np.zeros((len(lengths), 1), dtype=np.float32),
    )
    for length in range(1, max(limits, default=0) + 1):
        following = end_at_limits(reader.read(tokens, parents, 2 * size), limits == length)
        chosen = choose(live.log_prob, following, 2 * size)
        ends = chosen.tokens == EOS
        norm = length**config.length_penalty
        for row, place in np.argwhere(ends[:, :size] & np.isfinite(chosen.log_prob[:, :size])):
            one = Choice._make(column[row, place : place + 1] for column in chosen)
            ended = live.extended(one.rows, one.tokens, one.steps, following)
            best = found[sentences[row]]
            best.append(write(ended, float(one.log_prob[0] / norm), one, lengths[sentences[row]]))
            best.sort(key=lambda hypothesis: -hypothesis.score)
            del best[size:]
        chosen = keep_live(chosen, ends, size)
        parents, tokens = chosen.rows.ravel(), chosen.tokens.ravel()
        live = live.extended(parents, tokens, chosen.steps.ravel(), following)
        live = Written(live.tokens, live.steps, live.looks, chosen.log_prob)
        bounds = chosen.log_prob.max(axis=1) / limits.astype(np.float32) ** config.length_penalty
        going = np.array(
            [
                not is_done(found[sentence], bound, config)
                for sentence, bound in zip(sentences, bounds, strict=True)
            ]
        )
        if going.all():
            continue
        if not going.any():
            break
        rows = np.repeat(going, chosen.log_prob.shape[1])
        reader.keep(np.flatnonzero(going))
        sentences, limits = sentences[going], limits[going]
        parents, tokens = parents[rows], tokens[rows]
        live = Written(live.tokens[rows], live.steps[rows], live.looks[rows], live.log_prob[going])
    return [drop_impossible(best)[: config.n_best] for best in found]


class Choice(NamedTuple):
    """Extensions of the hypotheses, (B, N) each or a part of that, best first."""

    rows: Ints
    """Of what they extend."""
    tokens: Ints
    steps: Floats
    """Log-probability of the tokens."""
    log_prob: Floats
    """Log-probability of the whole."""


def end_at_limits(following: Next, at_limit: NDArray[np.bool_]) -> Next:
    """Let nothing but EOS follow the hypotheses of sentences that are as long as they may be."""
    if not at_limit.any():
        return following
    rows = np.repeat(at_limit, len(following.end) // len(at_limit))
    log_probs, tokens = following.log_probs.copy(), following.tokens.copy()
    log_probs[rows] = -np.inf
    log_probs[rows, 0] = following.end[rows]
    tokens[rows, 0] = EOS
    return following._replace(log_probs=log_probs, tokens=tokens)


def choose(log_prob: Floats, following: Next, count: int) -> Choice:
    """Return the best extensions of every sentence, ``count`` or all there are."""
    sentences, hypotheses = log_prob.shape
    each = following.log_probs.shape[1]
    total = (log_prob.reshape(-1, 1) + following.log_probs).reshape(sentences, -1)
    best = np.argsort(-total, axis=1, kind="stable")[:, :count]
    rows = best // each + np.arange(sentences)[:, None] * hypotheses
    return Choice(
        rows,
        following.tokens[rows, best % each],
        following.log_probs[rows, best % each],
        np.take_along_axis(total, best, axis=1),
    )


def keep_live(chosen: Choice, ends: NDArray[np.bool_], size: int) -> Choice:
    """Return the first ``size`` that end no sentence; fewer are filled up with impossible ones."""
    order = np.argsort(ends, axis=1, kind="stable")[:, :size]
    impossible = chosen._replace(log_prob=np.where(ends, np.float32(-np.inf), chosen.log_prob))
    return Choice._make(np.take_along_axis(column, order, axis=1) for column in impossible)


def write(ended: Written, score: float, one: Choice, source: int) -> Hypothesis:
    """Return the one row of ``ended`` as a translation of so many source tokens."""
    return Hypothesis(
        tuple(ended.tokens[0, :-1].tolist()),
        score,
        float(one.log_prob[0]),
        tuple(ended.steps[0].tolist()),
        ended.looks[0, :, :source] if ended.looks.size else None,
    )


def is_done(best: Sequence[Hypothesis], bound: float, config: BeamConfig) -> bool:
    """Tell whether no live hypothesis of a sentence can still enter its best.

    Log-probabilities only fall, and none is positive, so no hypothesis can end with a better score
    than the one it would have at the greatest length with the log-probability it has now.

    Args:
        best: those that have ended.
        bound: that score, of the best live hypothesis.
        config: how to search.
    """
    if config.stopping == "fast" and len(best) >= config.beam_size:
        return True
    if len(best) < config.n_best:
        return bound == -np.inf
    return best[config.n_best - 1].score >= bound
