"""Beam search over a model of torch."""

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.beam import Ints, Next, search_beams
from nmt_core.search.constraints import Constraint
from nmt_core.search.hypothesis import Hypothesis
from nmt_core.search.rules import Rules
from nmt_core.search.settings import BeamConfig


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
    reader = ModelReader(model, source, source_padding, rules)
    return search_beams(reader, rules.limits.tolist(), config)


class ModelReader:
    """Reads sources once, and their hypotheses token by token.

    Args:
        model: what reads.
        source: source sentences, each ended by EOS.
        source_padding: True where ``source`` is padding.
        rules: what each sentence keeps to.
    """

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
        """Read the last token of every hypothesis; the best candidates alone leave the device."""
        device = self.rules.limits.device
        within = parents.reshape(len(self.rules.limits), -1) % self.hypotheses
        self.state = self.state.follow(torch.from_numpy(within).to(device))
        self.hypotheses = within.shape[1]
        written = torch.from_numpy(tokens).to(device)
        hidden, self.state = self.model.decode(written[:, -1:], self.memory, self.state)
        step = self.rules.allow(written, self.model.log_probs(hidden[:, -1]))
        best = step.topk(min(count, step.size(1)), dim=1)
        return Next(best.values.cpu().numpy(), best.indices.cpu().numpy())

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences alone."""
        going = torch.from_numpy(sentences).to(self.rules.limits.device)
        self.rules, self.memory = self.rules.select(going), self.memory.select(going)
        self.state = self.state.keep(going, self.hypotheses)
