"""Watch a beam search: the hypotheses after every token."""

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
"""The unfinished hypotheses after some tokens, BOS excluded, and the log-probability of each."""


class SearchTrace:
    """A constraint that forbids nothing and records what a search of one sentence reads."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._next: dict[tuple[int, ...], Float[Tensor, " V"]] = {}

    def __call__(self, tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        """Record the hypotheses that are read, and what may follow each."""
        rows = [tuple(row) for row in tokens[:, 1:].tolist()]
        step = {row: self._sum(row) for row in rows}
        self._next = dict(zip(rows, log_probs.clone(), strict=True))
        self.steps.append({row: each for row, each in step.items() if each > -torch.inf})

    def _sum(self, row: tuple[int, ...]) -> float:
        """Return the log-probability of a hypothesis; that of one before it is known."""
        if not row:
            return 0.0
        *before, last = row
        earlier = self.steps[-1].get(tuple(before), -torch.inf)
        return earlier + self._next[tuple(before)][last].item()


def trace_beam_search(
    model: Seq2Seq[Any, Any], source: Int[Tensor, "1 S"], config: BeamConfig, **options: Any
) -> tuple[list[Step], list[Hypothesis]]:
    """Return the steps of the search of one sentence, and all finished hypotheses, best first."""
    trace = SearchTrace()
    constraints = (*options.pop("constraints", ()), trace)
    search = config.change(n_best=config.beam_size)
    [finished] = beam_search(model, source, source == PAD, search, constraints, **options)
    return trace.steps[1:], finished
