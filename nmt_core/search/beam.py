"""Beam search: keep the K best unfinished hypotheses of every sentence at every step.

Twice as many candidates as beams are compared: at most K of them end their sentence, so K live ones
remain. Sentences that are done leave the batch.

Dimension letters as in ``seq2seq.py``, and N candidates per hypothesis, t tokens so far, BOS
included.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.engine import Hypothesis, drop_impossible
from nmt_core.search.rules import Constraint, Rules
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]


Next = tuple[Floats, Ints]
"""Log-probabilities of continuations of every hypothesis (R, N), best first, -inf where nothing may
be written; and their tokens (R, N)."""


class Candidates(NamedTuple):
    """The best one-token extensions of every sentence's hypotheses, (B, N) each, best first."""

    rows: Ints
    """Of what they extend."""
    tokens: Ints
    steps: Floats
    """Log-probability of the tokens."""
    log_prob: Floats
    """Log-probability of the whole; -inf where nothing may be written."""

    def first(self, count: int) -> "Candidates":
        """Return the first of every sentence."""
        return Candidates._make(column[:, :count] for column in self)


def grow(tokens: Ints, steps: Floats, candidates: Candidates) -> tuple[Ints, Floats]:
    """Return the tokens and their log-probabilities of the hypotheses that candidates describe.

    Args:
        tokens: of all hypotheses so far, (R, t).
        steps: log-probability of every token but BOS, (R, t - 1).
        candidates: what extends them.
    """
    rows = candidates.rows.ravel()
    return (
        np.concatenate([tokens.take(rows, 0), candidates.tokens.reshape(-1, 1)], axis=1),
        np.concatenate([steps.take(rows, 0), candidates.steps.reshape(-1, 1)], axis=1),
    )


class ModelReader:
    """Reads a batch of sources once, and their hypotheses token by token, by the rules of each."""

    def __init__(
        self,
        model: Seq2Seq[Any, Any],
        source: Int[Tensor, "B S"],
        source_padding: Bool[Tensor, "B S"],
        rules: Rules,
    ) -> None:
        self.model, self.rules = model, rules
        self.memory = model.encode(source, source_padding)
        self.state = model.start(self.memory)
        self.hypotheses = 1

    def read(self, tokens: Ints, parents: Ints, count: int) -> Next:
        """Read the last token of every hypothesis; the best candidates alone leave the device.

        Args:
            tokens: (R, t), all that was written.
            parents: (R,), the rows of the last call that they follow; at first the sentences.
            count: of candidates, N; the vocabulary may have fewer.
        """
        device = self.rules.limits.device
        within = parents.reshape(len(self.rules.limits), -1) % self.hypotheses
        self.state = self.state.reorder(torch.from_numpy(within).to(device))
        self.hypotheses = within.shape[1]
        written = torch.from_numpy(tokens).to(device)
        hidden, self.state = self.model.decode(written[:, -1:], self.memory, self.state)
        step = self.rules.allow(written, self.model.log_probs(hidden[:, -1]))
        best = step.topk(min(count, step.size(1)), dim=1)
        return best.values.cpu().numpy(), best.indices.cpu().numpy()

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences alone; the next parents are rows of the last call, still."""
        going = torch.from_numpy(sentences).to(self.rules.limits.device)
        self.rules, self.memory = self.rules.select(going), self.memory.select(going)
        self.state = self.state.select_sentences(going, self.hypotheses)


@torch.inference_mode()
def beam_search(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    config: BeamConfig,
    constraints: tuple[Constraint, ...] = (),
    prefix: Int[Tensor, "B P"] | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch; return one to ``config.n_best`` hypotheses per sentence, best first.

    The model must be in evaluation mode, and sources end with EOS. A hypothesis that is unfinished
    at its length limit is ended there. The probability of a prefix counts; PAD follows it.

    Raises:
        NmtError: if a sentence has no translation of positive probability.
    """
    rules = Rules.configured(config, source_padding, constraints, prefix)
    reader = ModelReader(model, source, source_padding, rules)
    size, limits = config.beam_size, rules.limits.tolist()
    finished: list[list[Hypothesis]] = [[] for _ in limits]
    sentences = parents = np.arange(len(limits))
    norms = np.array(limits) ** config.length_penalty
    scores = np.full((len(limits), size), -np.inf)  # of the K best that are finished
    tokens, steps = np.full((len(limits), 1), BOS), np.empty((len(limits), 0), np.float32)
    log_prob = np.zeros((len(limits), 1), np.float32)
    for length in range(1, max(limits, default=0) + 1):
        following = reader.read(tokens, parents, 2 * size)
        candidates = extend(log_prob, following, size, config.diversity)
        ends = candidates.tokens == EOS
        if ends.any():
            ended = candidates.log_prob / length**config.length_penalty
            for row, rank in np.argwhere((ends & (ended > scores[:, -1:]))[:, :size]):
                chosen = Candidates._make(column[row, [rank]] for column in candidates)
                best = finished[sentences[row]]
                [words], [terms] = grow(tokens, steps, chosen)
                best.append(
                    Hypothesis(
                        tuple(words[1:-1].tolist()),
                        ended[row, rank].item(),
                        chosen.log_prob.item(),
                        tuple(terms.tolist()),
                    )
                )
                best[:] = sorted(best, key=lambda hypothesis: -hypothesis.score)[:size]
                scores[row, : len(best)] = [hypothesis.score for hypothesis in best]
            candidates = keep_live(candidates, ends)
        candidates = candidates.first(size)
        log_prob, parents = candidates.log_prob, candidates.rows.ravel()
        tokens, steps = grow(tokens, steps, candidates)
        done = find_done(scores, log_prob.max(axis=1) / norms, config)
        if not (any(finished) and done.any()):
            continue
        if done.all():
            break
        going = ~done
        rows = np.repeat(going, log_prob.shape[1])
        reader.keep(np.flatnonzero(going))
        sentences, norms, scores = sentences[going], norms[going], scores[going]
        tokens, steps, log_prob, parents = tokens[rows], steps[rows], log_prob[going], parents[rows]
    return [drop_impossible(best)[: config.n_best] for best in finished]


def extend(log_prob: Floats, following: Next, size: int, diversity: float) -> Candidates:
    """Return the best one-token extensions of every sentence, twice ``size`` or all there are.

    A hypothesis' best extension competes as it is, its second best less ``diversity``, its third
    best less twice that, and so on.
    """
    sentences, hypotheses = log_prob.shape
    log_probs, tokens = following
    each = log_probs.shape[1]
    total = log_prob.reshape(-1, 1) + log_probs
    costs = diversity * np.arange(each, dtype=total.dtype) - total if diversity else -total
    order = costs.reshape(sentences, -1).argsort(axis=1)[:, : 2 * size]
    places = order + np.arange(sentences)[:, None] * hypotheses * each
    columns = (tokens, log_probs, total)
    return Candidates._make([places // each, *(column.take(places) for column in columns)])


def keep_live(candidates: Candidates, ends: NDArray[np.bool_]) -> Candidates:
    """Put the candidates that end their sentence last, and let them do nothing more."""
    order = ends.argsort(axis=1, kind="stable")
    candidates.log_prob[ends] = -np.inf
    return Candidates._make(np.take_along_axis(column, order, axis=1) for column in candidates)


def find_done(scores: Floats, bounds: Floats, config: BeamConfig) -> NDArray[np.bool_]:
    """Tell of which sentences no live hypothesis can still enter the best.

    Log-probabilities only fall, and none is positive, so no hypothesis can end with a better score
    than the one it would have at the greatest length with the log-probability it has now.

    Args:
        scores: (B, K), of the finished hypotheses, best first, -inf where there is none yet.
        bounds: (B,), that best possible score, of the best live hypothesis.
        config: settings of the search.
    """
    done = scores[:, config.n_best - 1] >= bounds
    if config.stopping == "fast":
        done |= scores[:, -1] > -np.inf
    return done
