"""Stepwise decoding, one final token after the other: greedy search, and the base of sampling.

Dimension letters as in ``seq2seq.py``, and N hypotheses per sentence, L tokens of the longest.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.engine import Hypothesis
from nmt_core.search.rules import Rules
from nmt_core.search.settings import Unknown
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
    """Translate a batch; return ``hypotheses`` per sentence, in no order of merit.

    The model must be in evaluation mode. A sentence leaves the batch when all of
    its hypotheses have ended.
    """
    finished: list[list[Hypothesis]] = [[] for _ in source]
    sentences = torch.arange(len(source), device=source.device)
    memory = model.encode(source, source_padding)
    state = model.start(memory, beam_size=hypotheses)
    tokens = source.new_full((len(source) * hypotheses, 1), BOS)
    steps = torch.empty((len(tokens), 0), device=source.device)
    ended = torch.zeros(len(tokens), dtype=torch.bool, device=source.device)

    for position in range(rules.longest):
        hidden, state = model.decode(tokens[:, -1:], memory, state)
        log_probs = model.log_probs(hidden[:, -1])
        chosen = choose(rules.allow(tokens, log_probs), sentences, position)
        chosen = chosen.masked_fill(ended, PAD)[:, None]
        tokens = torch.cat([tokens, chosen], dim=1)
        steps = torch.cat([steps, log_probs.gather(1, chosen)], dim=1)
        ended = ((chosen == EOS) | (chosen == PAD)).squeeze(1)

        done = ended.view(-1, hypotheses).all(dim=1)
        going = (~done).nonzero().flatten()
        if len(going) == len(done):
            continue
        left = done[:, None].expand(-1, hypotheses).flatten()
        written = _write(tokens[left], steps[left], length_penalty)
        for number, sentence in enumerate(sentences[done].tolist()):
            finished[sentence] = written[number * hypotheses : (number + 1) * hypotheses]
        if not len(going):
            break
        sentences, rules = sentences[going], rules.select(going)
        memory, state = memory.select(going), state.keep(going, hypotheses)
        tokens, steps, ended = tokens[~left], steps[~left], ended[~left]
    return finished


def _write(
    tokens: Int[Tensor, "R t"], steps: Float[Tensor, "R t-1"], length_penalty: float
) -> list[Hypothesis]:
    """Turn rows into hypotheses."""
    log_probs = steps.masked_fill(tokens[:, 1:] == PAD, 0)
    columns = (tokens, log_probs, log_probs.sum(dim=1), (tokens != PAD).sum(dim=1) - 1)
    return [
        Hypothesis(
            tuple(words[1:length]),
            log_prob / length**length_penalty,
            log_prob,
            tuple(terms[:length]),
        )
        for words, terms, log_prob, length in zip(*(c.tolist() for c in columns), strict=True)
    ]


def greedy_search(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    max_lengths: Int[Tensor, " B"],
    *,
    unknown: Unknown = "forbid",
    prefix: Int[Tensor, "B P"] | None = None,
) -> list[list[int]]:
    """Translate a batch; return the tokens of every sentence, without BOS and EOS.

    It finds what a beam of one finds that stops fast. The model must be in evaluation mode, and
    sources end with EOS.

    Args:
        model: the model.
        source: source sentences.
        source_padding: True where ``source`` is padding.
        max_lengths: see ``compute_length_limits``.
        unknown: see ``SearchConfig``.
        prefix: prefixes of translations, followed by PAD.
    """
    rules = Rules.of(max_lengths, unknown=unknown, prefix=prefix)
    hypotheses = decode_stepwise(model, source, source_padding, rules, pick_most_likely)
    return [list(hypothesis.tokens) for [hypothesis] in hypotheses]


def pick_most_likely(
    log_probs: Float[Tensor, "R V"], _sentences: Int[Tensor, " B"], _position: int
) -> Int[Tensor, " R"]:
    """Choose the most likely token."""
    return log_probs.argmax(dim=-1)
