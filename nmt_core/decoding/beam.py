"""Beam search: keep the ``width`` best unfinished hypotheses of every sentence at every step.

Dimension letters as in ``seq2seq.py``, and N = 2K candidates, t tokens so far, BOS included.

Twice as many candidates as beams are kept: at most K of them end their sentence, so K live ones
remain. The source is encoded once and shared by the K rows of its sentence; sentences that are done
leave the batch. A step asks the device two questions at most: whether any hypothesis ends, and
which sentences go on.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nmt_core.decoding.constraints import Constraint
from nmt_core.decoding.hypothesis import Hypothesis, drop_impossible
from nmt_core.decoding.rules import Rules
from nmt_core.decoding.settings import BeamConfig
from nmt_core.models.seq2seq import Rows, Seq2Seq
from nmt_core.text.vocabulary import BOS, EOS, PAD


class Candidates(NamedTuple):
    """The best one-token extensions of every sentence's hypotheses, in the order of selection."""

    parent: Int[Tensor, "B N"]
    """Which hypothesis is extended, 0 <= parent < K."""

    token: Int[Tensor, "B N"]

    step: Float[Tensor, "B N"]
    """Log-probability of the token."""

    log_prob: Float[Tensor, "B N"]
    """Log-probability of the whole; -inf where nothing may be written."""

    def first(self, count: int) -> "Candidates":
        """Return the first of every sentence."""
        return Candidates(*(column[:, :count] for column in self))


@dataclass(frozen=True)
class ActiveBeams(Rows):
    """The unfinished hypotheses of every sentence, in the order of selection; one at first."""

    tokens: Int[Tensor, "B K t"]
    """BOS first."""

    steps: Float[Tensor, "B K t"]
    """Log-probability of every token, 0 for BOS."""

    log_prob: Float[Tensor, "B K"]


@dataclass(frozen=True)
class Finished(Rows):
    """The K best finished hypotheses of every sentence, best first; PAD follows their EOS."""

    tokens: Int[Tensor, "B K t"]
    steps: Float[Tensor, "B K t"]
    log_prob: Float[Tensor, "B K"]
    score: Float[Tensor, "B K"]
    """-inf where there is none yet."""


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

    The model must be in evaluation mode. What is unfinished at its length limit is ended there.

    Args:
        model: what to search.
        source: source sentences, each ended by EOS.
        source_padding: True where ``source`` is padding.
        config: how to search.
        constraints: what hypotheses may not hold.
        prefix: how they begin, followed by PAD; its probability counts.

    Raises:
        NmtError: if a sentence has no translation of positive probability.
    """
    rules = Rules.configured(config, source_padding, constraints, prefix)
    found: list[list[Hypothesis]] = [[] for _ in source]
    sentences = torch.arange(len(source), device=source.device)
    memory = model.encode(source, source_padding)
    state = model.start(memory)
    live, finished = start_beams(len(source), config.beam_size, source.device)
    ended = False

    for length in range(1, rules.longest + 1):
        hidden, state = model.decode(live.tokens[:, :, -1:].flatten(0, 1), memory, state)
        step = rules.allow(live.tokens.flatten(0, 1), model.log_probs(hidden[:, -1]))
        candidates = extend(live, step, config.beam_size, config.diversity)
        ends = candidates.token == EOS
        if ends.any():
            ended = True
            finished = collect_finished(finished, live, candidates, length**config.length_penalty)
            candidates = keep_live(candidates, ends)
        candidates = candidates.first(config.beam_size)
        live = grow(live, candidates)
        state = state.follow(candidates.parent)
        if not ended:
            continue

        done = find_done(finished, live, rules.limits, config)
        going = (~done).nonzero().flatten()
        if len(going) < len(done):
            report_finished(
                found, sentences[done], finished.select(done.nonzero().flatten()), config.n_best
            )
            if not len(going):
                break
            sentences, rules, memory = sentences[going], rules.select(going), memory.select(going)
            live, finished = live.select(going), finished.select(going)
            state = state.keep(going, live.log_prob.size(1))

    return [drop_impossible(hypotheses) for hypotheses in found]


def start_beams(sentences: int, size: int, device: torch.device) -> tuple[ActiveBeams, Finished]:
    """Return one hypothesis that holds BOS alone, and none of ``size`` that may be done."""
    tokens = torch.full((sentences, 1, 1), BOS, device=device)
    live = ActiveBeams(
        tokens,
        torch.zeros(tokens.shape, device=device),
        torch.zeros((sentences, 1), device=device),
    )
    nothing = torch.full((sentences, size), -torch.inf, device=device)
    written = tokens.expand(-1, size, -1)
    return live, Finished(written, torch.zeros(written.shape, device=device), nothing, nothing)


def extend(
    live: ActiveBeams, step: Float[Tensor, "R V"], size: int, diversity: float
) -> Candidates:
    """Return the best one-token extensions of every sentence, twice ``size`` or all there are.

    A hypothesis' best extension competes as it is, its second best less ``diversity``, its third
    best less twice that, and so on.
    """
    # The best 2K are among the best 2K of every hypothesis.
    each = step.unflatten(0, live.log_prob.shape).topk(min(2 * size, step.size(1)), dim=2)
    total = live.log_prob[:, :, None] + each.values
    rivals = total
    if diversity:
        rivals = total - diversity * torch.arange(each.values.size(2), device=total.device)
    best = rivals.flatten(1).topk(min(2 * size, total[0].numel()), dim=1)
    return Candidates(
        parent=best.indices // each.values.size(2),
        token=each.indices.flatten(1).gather(1, best.indices),
        step=each.values.flatten(1).gather(1, best.indices),
        log_prob=total.flatten(1).gather(1, best.indices) if diversity else best.values,
    )


def collect_finished(
    finished: Finished, live: ActiveBeams, candidates: Candidates, norm: float
) -> Finished:
    """Add the hypotheses that end among the K best candidates; keep the K best of all.

    Args:
        finished: what has ended before.
        live: what the candidates extend.
        candidates: the 2K best extensions.
        norm: what a log-probability is divided by to be the score of a hypothesis of this length.
    """
    size = finished.score.size(1)
    candidates = candidates.first(size)
    log_prob = candidates.log_prob.masked_fill(candidates.token != EOS, -torch.inf)
    ended = grow(live, candidates)
    score = torch.cat([finished.score, log_prob / norm], dim=1)
    best = score.topk(size, dim=1)
    longer = (0, ended.tokens.size(2) - finished.tokens.size(2))
    tokens, steps = F.pad(finished.tokens, longer, value=PAD), F.pad(finished.steps, longer)
    return Finished(
        tokens=follow(torch.cat([tokens, ended.tokens], dim=1), best.indices),
        steps=follow(torch.cat([steps, ended.steps], dim=1), best.indices),
        log_prob=torch.cat([finished.log_prob, log_prob], dim=1).gather(1, best.indices),
        score=best.values,
    )


def keep_live(candidates: Candidates, ends: Bool[Tensor, "B N"]) -> Candidates:
    """Put the candidates that end their sentence last, and let them do nothing more."""
    order = ends.to(torch.uint8).argsort(dim=1, stable=True)
    log_prob = candidates.log_prob.masked_fill(ends, -torch.inf)
    return Candidates(*(column.gather(1, order) for column in (*candidates[:3], log_prob)))


def grow(live: ActiveBeams, candidates: Candidates) -> ActiveBeams:
    """Return the hypotheses that the candidates describe."""
    return ActiveBeams(
        torch.cat([follow(live.tokens, candidates.parent), candidates.token[:, :, None]], dim=2),
        torch.cat([follow(live.steps, candidates.parent), candidates.step[:, :, None]], dim=2),
        candidates.log_prob,
    )


def find_done(
    finished: Finished, live: ActiveBeams, limits: Int[Tensor, " B"], config: BeamConfig
) -> Bool[Tensor, " B"]:
    """Tell of which sentences no live hypothesis can still enter the best.

    Log-probabilities only fall, and none is positive, so no hypothesis can end with a better score
    than the one it would have at the greatest length with the log-probability it has now.
    """
    best_live = live.log_prob.amax(dim=1)
    bound = best_live / limits.to(best_live.dtype) ** config.length_penalty
    done = finished.score[:, config.n_best - 1] >= bound
    if config.stopping == "fast":
        done |= finished.score[:, -1] > -torch.inf
    return done


def report_finished(
    found: list[list[Hypothesis]], sentences: Int[Tensor, " N"], finished: Finished, best: int
) -> None:
    """Write down the best hypotheses of the given sentences."""
    lengths = (finished.tokens != PAD).sum(dim=2)
    columns = (lengths, finished.tokens, finished.steps, finished.log_prob, finished.score)
    rows = zip(*(column[:, :best].tolist() for column in columns), strict=True)
    for sentence, row in zip(sentences.tolist(), rows, strict=True):
        found[sentence] = [
            Hypothesis(tuple(tokens[1 : length - 1]), score, log_prob, tuple(steps[1:length]))
            for length, tokens, steps, log_prob, score in zip(*row, strict=True)
        ]


def follow(values: Shaped[Tensor, "B M t"], parent: Int[Tensor, "B N"]) -> Shaped[Tensor, "B N t"]:
    """Return the row of its parent for every hypothesis."""
    return values.gather(1, parent[:, :, None].expand(-1, -1, values.size(2)))
