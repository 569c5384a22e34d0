"""One token after the other, each chosen once and for all: what greedy search and sampling share.

Dimension letters as in ``seq2seq.py``, and N hypotheses per sentence, L tokens of the longest.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.decoding.hypothesis import Hypothesis
from nmt_core.decoding.rules import Rules
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.vocabulary import BOS, EOS, PAD

Choose = Callable[[Float[Tensor, "R V"], Int[Tensor, " B"], int], Int[Tensor, " R"]]
"""Takes the next log-probabilities, the sentences they belong to by number, ``R / B`` rows each,
and the position, from 0; returns a token per row."""


@torch.inference_mode()
def decode_stepwise(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    rules: Rules,
    choose: Choose,
    *,
    hypotheses: int = 1,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """Translate a batch; return so many hypotheses per sentence, in no order of merit.

    The model must be in evaluation mode. A sentence leaves the batch when all of
    its hypotheses have ended.
    """
    tokens = source.new_full((len(source), hypotheses, rules.longest + 1), PAD)
    tokens[:, :, 0] = BOS
    steps: list[Tensor] = []
    sentences = torch.arange(len(source), device=source.device)
    memory = model.encode(source, source_padding)
    state = model.start(memory, beam_size=hypotheses)

    for position in range(rules.longest):
        so_far = tokens[sentences, :, : position + 1].flatten(0, 1)
        newest = so_far[:, -1]
        hidden, state = model.decode(newest[:, None], memory, state)
        log_probs = model.log_probs(hidden[:, -1])
        chosen = choose(rules.allow(so_far, log_probs), sentences, position)
        chosen = chosen.masked_fill((newest == EOS) | (newest == PAD), PAD)
        step = log_probs.new_zeros((len(source), hypotheses))
        own = log_probs.gather(1, chosen[:, None]).view(-1, hypotheses)
        step[sentences] = own
        steps.append(step)
        chosen = chosen.view(-1, hypotheses)
        tokens[sentences, :, position + 1] = chosen

        going = ((chosen != EOS) & (chosen != PAD)).any(dim=1).nonzero().flatten()
        if not len(going):
            break
        if len(going) < len(chosen):
            rows = (
                going[:, None] * hypotheses + torch.arange(hypotheses, device=going.device)
            ).flatten()
            sentences, rules = sentences[going], rules.select(going)
            memory, state = memory.select(going), state.select(rows)
    return _hypotheses(tokens, steps, length_penalty)


def _hypotheses(
    tokens: Int[Tensor, "B N t"], steps: list[Tensor], length_penalty: float
) -> list[list[Hypothesis]]:
    if not steps:
        return []
    log_probs = torch.stack(steps, dim=2).masked_fill(tokens[:, :, 1 : len(steps) + 1] == PAD, 0)
    columns = (tokens, log_probs, log_probs.sum(dim=2), (tokens != PAD).sum(dim=2) - 1)
    return [
        [
            Hypothesis(
                tuple(words[1:length]),
                log_prob / length**length_penalty,
                log_prob,
                tuple(terms[:length]),
            )
            for words, terms, log_prob, length in zip(*sentence, strict=True)
        ]
        for sentence in zip(*(column.tolist() for column in columns), strict=True)
    ]
