"""Beam search: keep the K best unfinished hypotheses of every sentence at every step.

Each step compares 2 K candidates per sentence. At most K of them end the sentence, so K live
candidates remain. Finished sentences leave the batch.

Dimension letters as in ``seq2seq.py``, plus N candidates per hypothesis and t tokens with BOS.
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
"""Log-probabilities of each hypothesis's next tokens (R, N), best first, -inf for forbidden tokens;
and these tokens (R, N)."""


class Candidates(NamedTuple):
    """The best one-token extensions of every sentence's hypotheses, (B, N) each, best first."""

    rows: Ints
    """Rows of the extended hypotheses."""
    tokens: Ints
    steps: Floats
    """Log-probability of each new token."""
    log_prob: Floats
    """Log-probability of the extended hypothesis; -inf if the token is forbidden."""

    def first(self, count: int) -> "Candidates":
        """Return the ``count`` best candidates of every sentence."""
        return Candidates._make(column[:, :count] for column in self)


def append_tokens(tokens: Ints, steps: Floats, candidates: Candidates) -> tuple[Ints, Floats]:
    """Return the tokens of the extended hypotheses, and the log-probability of each token.

    Args:
        tokens: tokens of all hypotheses, (R, t).
        steps: log-probability of every token except BOS, (R, t - 1).
        candidates: the extensions, (B, N).
    """
    rows = candidates.rows.ravel()
    return (
        np.concatenate([tokens.take(rows, 0), candidates.tokens.reshape(-1, 1)], axis=1),
        np.concatenate([steps.take(rows, 0), candidates.steps.reshape(-1, 1)], axis=1),
    )


class ModelReader:
    """Encodes a batch of sources, then scores next tokens under the rules of each sentence."""

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
        """Read the last token of every hypothesis; return the best next tokens.

        Args:
            tokens: tokens of all hypotheses, (R, t).
            parents: row of each hypothesis in the last call, (R,); at first the sentence's number.
            count: number of next tokens, N, at most the size of the vocabulary.
        """
        device = self.rules.limits.device
        beams = parents.reshape(len(self.rules.limits), -1) % self.hypotheses
        self.state = self.state.reorder(torch.from_numpy(beams).to(device))
        self.hypotheses = beams.shape[1]
        on_device = torch.from_numpy(tokens).to(device)
        hidden, self.state = self.model.decode(on_device[:, -1:], self.memory, self.state)
        log_probs = self.rules.apply(on_device, self.model.log_probs(hidden[:, -1]))
        best = log_probs.topk(min(count, log_probs.size(1)), dim=1)
        return best.values.cpu().numpy(), best.indices.cpu().numpy()

    def select_sentences(self, sentences: Ints) -> None:
        """Continue with these sentences only; the next parents are still rows of the last call."""
        rows = torch.from_numpy(sentences).to(self.rules.limits.device)
        self.rules, self.memory = self.rules.select(rows), self.memory.select(rows)
        self.state = self.state.select_sentences(rows, self.hypotheses)


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

    The model must be in evaluation mode, and sources end with EOS. At its length limit, a
    hypothesis gets EOS. Prefixes are padded with PAD, and their probability counts in the score.

    Raises:
        NmtError: if a sentence has no translation of positive probability.
    """
    rules = Rules.configured(config, source_padding, constraints, prefix)
    reader = ModelReader(model, source, source_padding, rules)
    size, limits = config.beam_size, rules.limits.tolist()
    finished: list[list[Hypothesis]] = [[] for _ in limits]
    sentences = parents = np.arange(len(limits))
    norms = np.array(limits) ** config.length_penalty
    scores = np.full((len(limits), size), -np.inf)  # of the K best finished hypotheses
    tokens, steps = np.full((len(limits), 1), BOS), np.empty((len(limits), 0), np.float32)
    log_prob = np.zeros((len(limits), 1), np.float32)
    for length in range(1, max(limits, default=0) + 1):
        following = reader.read(tokens, parents, 2 * size)
        candidates = find_extensions(log_prob, following, size, config.diversity)
        ends = candidates.tokens == EOS
        if ends.any():
            ended = candidates.log_prob / length**config.length_penalty
            for row, rank in np.argwhere((ends & (ended > scores[:, -1:]))[:, :size]):
                chosen = Candidates._make(column[row, [rank]] for column in candidates)
                best = finished[sentences[row]]
                [words], [terms] = append_tokens(tokens, steps, chosen)
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
            candidates = move_ended_last(candidates, ends)
        candidates = candidates.first(size)
        log_prob, parents = candidates.log_prob, candidates.rows.ravel()
        tokens, steps = append_tokens(tokens, steps, candidates)
        done = find_finished_sentences(scores, log_prob.max(axis=1) / norms, config)
        if not (any(finished) and done.any()):
            continue
        if done.all():
            break
        going = ~done
        rows = np.repeat(going, log_prob.shape[1])
        reader.select_sentences(np.flatnonzero(going))
        sentences, norms, scores = sentences[going], norms[going], scores[going]
        tokens, steps, log_prob, parents = tokens[rows], steps[rows], log_prob[going], parents[rows]
    return [drop_impossible(best)[: config.n_best] for best in finished]


def find_extensions(log_prob: Floats, following: Next, size: int, diversity: float) -> Candidates:
    """Return the best one-token extensions of every sentence, at most twice ``size``.

    ``diversity`` times the rank among the extensions of the same hypothesis, from 0, is subtracted
    from an extension's log-probability for the comparison.
    """
    sentences, hypotheses = log_prob.shape
    log_probs, tokens = following
    width = log_probs.shape[1]
    total = log_prob.reshape(-1, 1) + log_probs
    costs = diversity * np.arange(width, dtype=total.dtype) - total if diversity else -total
    order = costs.reshape(sentences, -1).argsort(axis=1)[:, : 2 * size]
    places = order + np.arange(sentences)[:, None] * hypotheses * width
    columns = (tokens, log_probs, total)
    return Candidates._make([places // width, *(column.take(places) for column in columns)])


def move_ended_last(candidates: Candidates, ends: NDArray[np.bool_]) -> Candidates:
    """Return the candidates with finished ones last, at a score of -inf."""
    order = ends.argsort(axis=1, kind="stable")
    candidates.log_prob[ends] = -np.inf
    return Candidates._make(np.take_along_axis(column, order, axis=1) for column in candidates)


def find_finished_sentences(
    scores: Floats, bounds: Floats, config: BeamConfig
) -> NDArray[np.bool_]:
    """Return whether each sentence is finished: no live hypothesis can enter its n-best list.

    Log-probabilities are never positive and never rise. So the best possible score of a live
    hypothesis is its current log-probability divided by the length penalty at the length limit.

    Args:
        scores: scores of the finished hypotheses, best first, then -inf, (B, K).
        bounds: best possible score of the live hypotheses, (B,).
        config: settings of the search.
    """
    done = scores[:, config.n_best - 1] >= bounds
    if config.stopping == "fast":
        done |= scores[:, -1] > -np.inf
    return done
