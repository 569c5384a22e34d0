"""Language models of n-gram counts.

Maximum likelihood gives unseen k-grams probability 0. Interpolated Kneser-Ney (Kneser and Ney 1995;
Chen and Goodman 1999) subtracts a discount from every count and gives it to the shorter context,
which counts the different contexts of a token instead of its occurrences. Below the shortest
context, all tokens are equally likely.

The k-grams of a level are a sorted array of integers ``context * V + token``, where ``context`` is
the index of the first k - 1 tokens among the (k - 1)-grams. Contexts end at BOS.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.config import Config
from nmt_core.extensions.language_models.model import (
    LanguageModel,
    LanguageState,
    build_windows,
    start_window,
)
from nmt_core.text.vocabulary import BOS, PAD

UNSEEN = -1
"""The index of a k-gram that does not occur in the training text."""

DEFAULT_DISCOUNT = 0.5
"""Discount if no k-gram occurs exactly once, so that the discount cannot be estimated."""


class Smoothing(Config):
    """Probabilities of unseen n-grams."""

    kind: Literal["kneser_ney", "maximum_likelihood"] = "kneser_ney"
    """Interpolated Kneser-Ney, or relative frequencies after the longest known context."""
    discount: float | None = Field(None, gt=0, lt=1)
    """Kneser-Ney only: discount of every count; null estimates it for each level as
    n1 / (n1 + 2 n2), where n1 and n2 k-grams occur once and twice."""


class NGramConfig(Config):
    """A language model of n-gram counts."""

    kind: Literal["ngram"] = "ngram"
    """Selects these settings."""
    order: int = Field(5, ge=1, le=1000)
    """Tokens of an n-gram, N: the context and the next token."""
    smoothing: Smoothing = Smoothing()
    """Smoothing of unseen n-grams."""


Level = tuple[Tensor, Tensor]
"""The G k-grams of one length: sorted keys ``context * V + token`` (G), and counts (G)."""


class NGram(LanguageModel):
    """An n-gram model over V tokens, with the k-grams for k = 1 to N."""

    floor: Tensor

    def __init__(self, config: NGramConfig, words: int, levels: Sequence[Level]) -> None:
        super().__init__()
        self.config = config
        contexts = [1, *(len(keys) for keys, _ in levels)]
        self.levels = nn.ModuleList(
            _LevelProbabilities(level, config.smoothing, contexts=contexts[k], words=words)
            for k, level in enumerate(levels)
        )
        floor = torch.full((words,), 1 / (words - 2), dtype=torch.float64)
        floor[[PAD, BOS]] = 0
        self.register_buffer("floor", floor, persistent=False)

    @classmethod
    def count(cls, config: NGramConfig, words: int, tokens: Int[np.ndarray, " T"]) -> "NGram":
        """Return a model of a text's n-gram counts; BOS must begin every line.

        Raises:
            ValueError: if the text is empty.
        """
        if not (tokens != BOS).any():
            raise ValueError("the text is empty; give text with tokens")
        contexts, grams = np.zeros(len(tokens), np.int64), []
        for _ in range(config.order):
            grams.append(_count_grams(contexts, tokens, words))
            contexts = np.append(UNSEEN, grams[-1].numbers[:-1])
            contexts[tokens == BOS] = UNSEEN
        counts = [gram.counts for gram in grams]
        if config.smoothing.kind == "kneser_ney":
            counts[:-1] = [_count_continuations(*pair) for pair in pairwise(grams)]
        levels = [
            (torch.from_numpy(gram.keys), torch.from_numpy(count))
            for gram, count in zip(grams, counts, strict=True)
        ]
        return cls(config, words, levels)

    @override
    def start(self, rows: int) -> LanguageState:
        return start_window(rows, self.config.order, self.device)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: LanguageState
    ) -> tuple[Int[Tensor, "R T N-1"], LanguageState]:
        return build_windows(tokens, state)

    @override
    def log_probs(self, hidden: Int[Tensor, "*N N-1"]) -> Float[Tensor, "*N V"]:
        """Return the log-probabilities of the next token, in float64."""
        all_tokens = torch.arange(len(self.floor), device=hidden.device)
        return self._look_up(hidden, all_tokens.expand(*hidden.shape[:-1], -1))

    @override
    def log_likelihood(
        self, hidden: Int[Tensor, "*N N-1"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """Return the log-probability of these next tokens, without computing the others."""
        return self._look_up(hidden, tokens[..., None]).squeeze(-1)

    def _look_up(
        self, hidden: Int[Tensor, "*N N-1"], tokens: Int[Tensor, "*N M"]
    ) -> Float[Tensor, "*N M"]:
        """Return the log-probability of some tokens after each context."""
        flat = tokens[None].flatten(0, -2)
        p = self.floor[flat]
        contexts = self._find(hidden[None].flatten(0, -2))
        for level, context in zip(self._list_levels(), contexts, strict=True):
            share = level.share[level.find(context[:, None], flat)]
            p = p * level.backoff[context][:, None] + share
        return p.log().view(tokens.shape)

    def _list_levels(self) -> list["_LevelProbabilities"]:
        return cast("list[_LevelProbabilities]", list(self.levels))

    def _find(self, contexts: Int[Tensor, "N C"]) -> list[Int[Tensor, " N"]]:
        """Return the index of the last k tokens, or UNSEEN, for k = 0 to N - 1."""
        numbers = []
        for k in range(self.config.order):
            number = contexts.new_zeros(len(contexts))
            latest = contexts[:, contexts.size(1) - k :]
            for level, token in zip(self._list_levels(), latest.T, strict=False):
                number = level.find(number, token)
            numbers.append(number)
        return numbers


class _LevelProbabilities(nn.Module):
    """Probabilities of the k-grams of a level, and the backoff weight of each context.

    P(token | context) = share(context, token) + backoff(context) * P(token | shorter context)
    """

    keys: Tensor  # (G,)
    counts: Tensor  # (G,)
    share: Tensor  # (G + 1,)
    backoff: Tensor  # (contexts + 1,)

    def __init__(self, level: Level, smoothing: Smoothing, *, contexts: int, words: int) -> None:
        super().__init__()
        self.words = words
        keys, occurrences = level
        counts, context = occurrences.double(), keys // words
        total = torch.zeros(contexts, dtype=torch.float64).index_add_(0, context, counts)
        discount = 0.0
        if smoothing.kind == "kneser_ney":
            discount = smoothing.discount or estimate_discount(occurrences)
        share = (counts - discount).clamp(min=0) / total[context]
        discounts = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount))
        self.register_buffer("keys", keys)
        self.register_buffer("counts", occurrences)
        backoff = (discounts / total).masked_fill(total == 0, 1.0)
        # the last entry belongs to UNSEEN, which is the index -1
        self.register_buffer("share", F.pad(share, (0, 1), value=0.0), persistent=False)
        self.register_buffer("backoff", F.pad(backoff, (0, 1), value=1.0), persistent=False)

    def find(self, context: Tensor, token: Tensor) -> Tensor:
        """Return the index of each k-gram of a context and a token, or UNSEEN."""
        key = context * self.words + token
        if not len(self.keys):
            return torch.full_like(key, UNSEEN)
        index = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        return index.where((self.keys[index] == key) & (context != UNSEEN), UNSEEN)


def estimate_discount(counts: Int[Tensor, " G"]) -> float:
    """Return n1 / (n1 + 2 n2), where n1 and n2 k-grams have the count 1 and 2."""
    once, twice = (int((counts == times).sum()) for times in (1, 2))
    return once / (once + 2 * twice) if once else DEFAULT_DISCOUNT


class _Grams(NamedTuple):
    """The k-grams of a text."""

    keys: Int[np.ndarray, " G"]
    counts: Int[np.ndarray, " G"]
    firsts: Int[np.ndarray, " G"]
    """Position of the last token of each k-gram's first occurrence."""
    numbers: Int[np.ndarray, " T"]
    """Index of the k-gram that ends at each token, or UNSEEN."""


def _count_grams(
    contexts: Int[np.ndarray, " T"], tokens: Int[np.ndarray, " T"], words: int
) -> _Grams:
    """Count k-grams, given the index of the (k - 1)-gram before each token, or UNSEEN."""
    ends = np.flatnonzero(contexts != UNSEEN)
    keys, firsts, inverse, counts = np.unique(
        contexts[ends] * words + tokens[ends],
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    numbers = np.full(len(tokens), UNSEEN, np.int64)
    numbers[ends] = inverse
    counts[keys == BOS] = 0  # the unigram BOS; longer k-grams do not end in BOS
    return _Grams(keys, counts.astype(np.int32), ends[firsts], numbers)


def _count_continuations(grams: _Grams, longer: _Grams) -> Int[np.ndarray, " G"]:
    """Return the number of different tokens before each k-gram; its count if a line starts it."""
    contexts = np.bincount(grams.numbers[longer.firsts], minlength=len(grams.keys))
    return np.where(contexts == 0, grams.counts, contexts).astype(np.int32)
