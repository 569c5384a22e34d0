"""Record the hypotheses of a beam search after every token."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.beam import beam_search
from nmt_core.search.engine import Hypothesis
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import PAD

Step = dict[tuple[int, ...], float]
"""The unfinished hypotheses after some tokens, without BOS, with their log-probabilities."""


class SearchTrace:
    """A constraint that forbids nothing, and records the hypotheses of a sentence in ``steps``."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._next: dict[tuple[int, ...], Float[Tensor, " V"]] = {}

    def __call__(self, tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        """Record the hypotheses, and the log-probabilities of their next tokens."""
        rows = [tuple(row) for row in tokens[:, 1:].tolist()]
        step = {row: self._sum(row) for row in rows}
        self._next = dict(zip(rows, log_probs.clone(), strict=True))
        self.steps.append({row: value for row, value in step.items() if value > -torch.inf})

    def _sum(self, row: tuple[int, ...]) -> float:
        """Return the log-probability of a hypothesis, from that of its parent."""
        if not row:
            return 0.0
        *parent, last = row
        log_prob = self.steps[-1].get(tuple(parent), -torch.inf)
        return log_prob + self._next[tuple(parent)][last].item()


def trace_beam_search(
    model: Seq2Seq[Any, Any], source: Int[Tensor, "1 S"], config: BeamConfig, **options: Any
) -> tuple[list[Step], list[Hypothesis]]:
    """Return the steps of a sentence's search, and the finished hypotheses, best first."""
    trace = SearchTrace()
    constraints = (*options.pop("constraints", ()), trace)
    search = config.change(n_best=config.beam_size)
    [finished] = beam_search(model, source, source == PAD, search, constraints, **options)
    return trace.steps[1:], finished
