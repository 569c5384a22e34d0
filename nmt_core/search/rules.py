"""Rules of every search: length, forbidden tokens and prefixes of translations.

Dimension letters as in ``seq2seq.py``; P tokens of the longest prefix, t tokens so far with BOS.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.models.seq2seq import Rows
from nmt_core.search.constraints import (
    Constraint,
    forbid_repeated_ngrams,
    forbid_tokens,
    force_tokens,
)
from nmt_core.search.settings import SearchConfig, Unknown
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK


def compute_length_limits(
    source_padding: Bool[Tensor, "B S"], config: SearchConfig
) -> Int[Tensor, " B"]:
    """Return how many tokens a hypothesis of each sentence may have, its EOS included."""
    lengths = (~source_padding).sum(dim=1)
    limits = (lengths * config.max_length_factor).long() + config.max_length_offset
    return limits.clamp(max=config.max_length)


@dataclass(frozen=True)
class Rules(Rows):
    """The rules of each sentence of a batch."""

    limits: Int[Tensor, " B"]
    """Tokens of a hypothesis, its EOS included; no prefix is longer."""

    prefix: Int[Tensor, "B P"]
    """How hypotheses begin, followed by PAD."""

    constraints: tuple[Constraint, ...]

    last_steps: frozenset[int]
    """All values of ``limits``, known without asking the device."""

    @classmethod
    def of(
        cls,
        limits: Int[Tensor, " B"],
        *,
        unknown: Unknown = "forbid",
        constraints: tuple[Constraint, ...] = (),
        prefix: Int[Tensor, "B P"] | None = None,
    ) -> "Rules":
        """Return the rules of a batch; a limit makes room for its prefix and the end.

        Raises:
            ValueError: if a prefix holds BOS or EOS.
        """
        if prefix is None:
            prefix = limits.new_empty((len(limits), 0))
        if ((prefix == BOS) | (prefix == EOS)).any():
            raise ValueError("a prefix may hold neither the start nor the end of a sentence")
        limits = limits.maximum((prefix != PAD).sum(dim=1) + 1)
        forbidden = [PAD, BOS, UNK] if unknown == "forbid" else [PAD, BOS]
        return cls(
            limits,
            prefix,
            (forbid_tokens(forbidden, limits.device), *constraints),
            frozenset(limits.tolist()),
        )

    @classmethod
    def configured(
        cls,
        config: SearchConfig,
        source_padding: Bool[Tensor, "B S"],
        constraints: tuple[Constraint, ...] = (),
        prefix: Int[Tensor, "B P"] | None = None,
    ) -> "Rules":
        """Return the rules of a batch as configured, and further constraints."""
        guard = (
            (forbid_repeated_ngrams(config.no_repeat_ngram_size),)
            if config.no_repeat_ngram_size
            else ()
        )
        return cls.of(
            compute_length_limits(source_padding, config),
            unknown=config.unknown,
            constraints=(*guard, *constraints),
            prefix=prefix,
        )

    @property
    def longest(self) -> int:
        """Tokens that the longest hypothesis of all may have, its EOS included."""
        return max(self.last_steps, default=0)

    def allow(
        self, tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]
    ) -> Float[Tensor, "R V"]:
        """Set the next log-probabilities to -inf where a token may not follow, and return them.

        Prefix and length limit outweigh constraints. Nothing is copied: a batch's log-probabilities
        may be the largest tensor there is.
        """
        wanted = self._wanted(tokens)
        own = None if wanted is None else log_probs.gather(1, wanted)
        for constraint in self.constraints:
            constraint(tokens, log_probs)
        if wanted is not None and own is not None:
            force_tokens(wanted, own, log_probs)
        return log_probs

    def _wanted(self, tokens: Int[Tensor, "R t"]) -> Int[Tensor, "R 1"] | None:
        """Return the forced next token of each row, PAD for any; None if none is forced."""
        length = tokens.size(1)  # of the hypothesis with the next token, BOS not counted
        given = length <= self.prefix.size(1)
        if not given and length not in self.last_steps:
            return None
        wanted = self.prefix[:, length - 1] if given else torch.full_like(self.limits, PAD)
        wanted = wanted.masked_fill(self.limits == length, EOS)
        return wanted.repeat_interleave(len(tokens) // len(wanted))[:, None]
