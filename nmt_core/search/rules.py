"""Rules of every search: length, forbidden tokens and prefixes of translations.

A constraint sets next log-probabilities to minus infinity: it decides what is forbidden, never how
likely the rest is, so scores stay the model's own. It writes in place, for a copy of rows by
vocabulary may be larger than the model.

Dimension letters as in ``seq2seq.py``; P tokens of the longest prefix, t tokens so far with BOS.
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
"""Takes the tokens so far, BOS first, and the next log-probabilities; sets some of these to -inf.
Forbidding the end of the sentence has no effect at the length limit."""


def forbid_tokens(tokens: Sequence[int], device: torch.device) -> Constraint:
    """Return a constraint that forbids some tokens everywhere."""
    forbidden = torch.tensor(tokens, device=device)

    def constraint(_: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        log_probs.index_fill_(1, forbidden, -torch.inf)

    return constraint


def forbid_repeated_ngrams(size: int) -> Constraint:
    """Return a constraint that forbids ``size`` tokens in a row to repeat in a hypothesis.

    Raises:
        ValueError: if ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"an n-gram has at least one token, got {size}")

    def constraint(tokens: Int[Tensor, "R t"], log_probs: Float[Tensor, "R V"]) -> None:
        length = tokens.size(1)
        if length < size:
            return
        seen = tokens.unfold(1, size, 1)  # (R, t - size + 1, size)
        latest = tokens[:, length - size + 1 :]  # (R, size - 1)
        repeats = (seen[:, :, :-1] == latest[:, None]).all(dim=2)
        forbidden = seen[:, :, -1].where(repeats, PAD)
        log_probs.scatter_(1, forbidden, -torch.inf)

    return constraint


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
        if config.no_repeat_ngram_size:
            constraints = (forbid_repeated_ngrams(config.no_repeat_ngram_size), *constraints)
        limits = compute_length_limits(source_padding, config)
        return cls.of(limits, unknown=config.unknown, constraints=constraints, prefix=prefix)

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
            forced = wanted != PAD
            log_probs.masked_fill_(forced, -torch.inf)
            log_probs.scatter_(1, wanted, own.where(forced, log_probs.gather(1, wanted)))
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
