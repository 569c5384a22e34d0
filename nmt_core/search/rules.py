"""Rules of every search: length limits, forbidden tokens and prefixes of translations.

A constraint sets log-probabilities of next tokens to minus infinity. It does not change or
normalise the others, so scores stay the model's. It writes in place, because a copy of rows by
vocabulary may be larger than the model.

Dimension letters as in ``seq2seq.py``, plus P tokens of the longest prefix and t tokens with BOS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.models.seq2seq import Rows
from nmt_core.search.settings import SearchConfig, Unknown
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK

Constraint = Callable[[Int[Tensor, "R t"], Float[Tensor, "R V"]], None]
"""Takes the tokens so far and the log-probabilities of next tokens, and sets some of these to -inf.
At the length limit, it cannot forbid EOS."""


def forbid_tokens(tokens: Sequence[int], device: torch.device) -> Constraint:
    """Return a constraint that forbids some tokens at every position."""
    forbidden = torch.tensor(tokens, device=device)

    def constraint(_: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        log_probs.index_fill_(1, forbidden, -torch.inf)

    return constraint


def forbid_repeated_ngrams(size: int) -> Constraint:
    """Return a constraint that forbids n-grams of ``size`` tokens to repeat in a hypothesis.

    Raises:
        ValueError: if ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")

    def constraint(tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        length = tokens.size(1)
        if length < size:
            return
        ngrams = tokens.unfold(1, size, 1)  # (R, t - size + 1, size)
        latest = tokens[:, length - size + 1 :]  # (R, size - 1)
        repeats = (ngrams[:, :, :-1] == latest[:, None]).all(dim=2)
        forbidden = ngrams[:, :, -1].where(repeats, PAD)
        log_probs.scatter_(1, forbidden, -torch.inf)

    return constraint


def compute_length_limits(
    source_padding: Bool[Tensor, "B S"], config: SearchConfig
) -> Int[Tensor, " B"]:
    """Return the maximum tokens of a hypothesis of each sentence, EOS included."""
    lengths = (~source_padding).sum(dim=1)
    limits = (lengths * config.max_length_factor).long() + config.max_length_offset
    return limits.clamp(max=config.max_length)


@dataclass(frozen=True)
class Rules(Rows):
    """The rules of each sentence of a batch."""

    limits: Int[Tensor, " B"]
    """Maximum tokens of a hypothesis, EOS included; no prefix is longer."""

    prefix: Int[Tensor, "B P"]
    """Required beginning of each hypothesis, padded with PAD."""

    constraints: tuple[Constraint, ...]

    last_steps: frozenset[int]
    """All values of ``limits``, to avoid synchronizing with the device."""

    @classmethod
    def of(
        cls,
        limits: Int[Tensor, " B"],
        *,
        unknown: Unknown = "forbid",
        constraints: tuple[Constraint, ...] = (),
        prefix: Int[Tensor, "B P"] | None = None,
    ) -> "Rules":
        """Return the rules of a batch; limits are raised for a longer prefix and EOS.

        Raises:
            ValueError: if a prefix contains BOS or EOS.
        """
        if prefix is None:
            prefix = limits.new_empty((len(limits), 0))
        if ((prefix == BOS) | (prefix == EOS)).any():
            raise ValueError("a prefix must not contain BOS or EOS")
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
        """Return the rules of a batch from settings, with further constraints."""
        if config.no_repeat_ngram_size:
            constraints = (forbid_repeated_ngrams(config.no_repeat_ngram_size), *constraints)
        limits = compute_length_limits(source_padding, config)
        return cls.of(limits, unknown=config.unknown, constraints=constraints, prefix=prefix)

    @property
    def longest(self) -> int:
        """The greatest length limit, EOS included."""
        return max(self.last_steps, default=0)

    def apply(
        self, tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]
    ) -> Float[Tensor, "R V"]:
        """Set the log-probabilities of forbidden tokens to -inf in place, and return the tensor.

        Prefixes and length limits take precedence over constraints. A batch's log-probabilities may
        be the largest tensor, so they are not copied.
        """
        forced = self._find_forced_tokens(tokens)
        originals = None if forced is None else log_probs.gather(1, forced)
        for constraint in self.constraints:
            constraint(tokens, log_probs)
        if forced is not None and originals is not None:
            is_forced = forced != PAD
            log_probs.masked_fill_(is_forced, -torch.inf)
            log_probs.scatter_(1, forced, originals.where(is_forced, log_probs.gather(1, forced)))
        return log_probs

    def _find_forced_tokens(self, tokens: Int[Tensor, "R t"]) -> Int[Tensor, "R 1"] | None:
        """Return the forced next token of each row, PAD for a free row; None if all are free."""
        length = tokens.size(1)  # of the hypothesis with the next token, without BOS
        in_prefix = length <= self.prefix.size(1)
        if not in_prefix and length not in self.last_steps:
            return None
        forced = self.prefix[:, length - 1] if in_prefix else torch.full_like(self.limits, PAD)
        forced = forced.masked_fill(self.limits == length, EOS)
        return forced.repeat_interleave(len(tokens) // len(forced))[:, None]
