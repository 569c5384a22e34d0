"""Greedy decoding: always the most likely next token. For validation, where speed matters most."""

from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.rules import Rules
from nmt_core.search.settings import Unknown
from nmt_core.search.stepwise import decode_stepwise


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

    It finds what a beam of one finds that stops fast. The model must be in evaluation mode.

    Args:
        model: what to search.
        source: source sentences, each ended by EOS.
        source_padding: True where ``source`` is padding.
        max_lengths: tokens that a translation may have, its EOS included, as of
            ``compute_length_limits``.
        unknown: whether the unknown token may be written; see ``SearchConfig``.
        prefix: how translations begin, followed by PAD.
    """
    rules = Rules.of(max_lengths, unknown=unknown, prefix=prefix)
    hypotheses = decode_stepwise(model, source, source_padding, rules, pick_most_likely)
    return [list(hypothesis.tokens) for [hypothesis] in hypotheses]


def pick_most_likely(
    log_probs: Float[Tensor, "R V"], _sentences: Int[Tensor, " B"], _position: int
) -> Int[Tensor, " R"]:
    """Choose the most likely token."""
    return log_probs.argmax(dim=-1)
