"""Language models of n-gram counts.

Maximum likelihood gives unseen k-grams probability 0. Interpolated Kneser-Ney (Kneser and Ney 1995;
Chen and Goodman 1999) takes a discount off every count, spends it on the shorter context, and there
counts the contexts of a token instead of its occurrences. At the bottom all tokens are equally
likely.

The k-grams of a level are a sorted array of integers ``context * V + token``: the number of the
first k - 1 tokens among the (k - 1)-grams, and the last token. No context crosses BOS.
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
    slide,
    start_window,
)
from nmt_core.text.vocabulary import BOS, PAD

UNSEEN = -1
"""The number of a k-gram that was never seen."""

NO_SINGLETONS = 0.5
"""The discount where no k-gram stands once, so that none can be estimated."""


class Smoothing(Config):
    """Probabilities of unseen n-grams."""

    kind: Literal["kneser_ney", "maximum_likelihood"] = "kneser_ney"
    """Interpolated Kneser-Ney, or relative frequencies after the longest context that was seen."""
    discount: float | None = Field(None, gt=0, lt=1)
    """Kneser-Ney only: discount of every count; null estimates one per level as n1 / (n1 + 2 n2),
    from how many k-grams occur once and twice."""


class NGramConfig(Config):
    """A language model of n-gram counts."""

    kind: Literal["ngram"] = "ngram"
    """The tag of this choice."""
    order: int = Field(5, ge=1, le=1000)
    """Tokens of an n-gram, N: the context and the token after it."""
    smoothing: Smoothing = Smoothing()
    """Smoothing of unseen n-grams."""


Level = tuple[Tensor, Tensor]
"""The k-grams of a length: ``context * V + token`` (G), ascending; counts (G), 0 for BOS alone."""


class NGram(LanguageModel):
    """An n-gram model over V tokens, of the k-grams for k = 1 to N."""

    floor: Tensor

    def __init__(self, config: NGramConfig, words: int, levels: Sequence[Level]) -> None:
        super().__init__()
        self.config = config
        contexts = [1, *(len(keys) for keys, _ in levels)]
        self.levels = nn.ModuleList(
            _Shares(level, config.smoothing, contexts=contexts[k], words=words)
            for k, level in enumerate(levels)
        )
        floor = torch.full((words,), 1 / (words - 2), dtype=torch.float64)
        floor[[PAD, BOS]] = 0
        self.register_buffer("floor", floor, persistent=False)

    @classmethod
    def count(cls, config: NGramConfig, words: int, tokens: Int[np.ndarray, " T"]) -> "NGram":
        """Count the n-grams of a text in which BOS begins every line.

        Raises:
            ValueError: if the text is empty.
        """
        if not (tokens != BOS).any():
            raise ValueError("there is nothing to count in an empty text")
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
        return slide(tokens, state)

    @override
    def log_probs(self, hidden: Int[Tensor, "*N N-1"]) -> Float[Tensor, "*N V"]:
        """See the contract; in float64."""
        every = torch.arange(len(self.floor), device=hidden.device)
        return self._look_up(hidden, every.expand(*hidden.shape[:-1], -1))

    @override
    def log_likelihood(
        self, hidden: Int[Tensor, "*N N-1"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """See the contract; looks up these tokens alone."""
        return self._look_up(hidden, tokens[..., None]).squeeze(-1)

    def _look_up(
        self, hidden: Int[Tensor, "*N N-1"], tokens: Int[Tensor, "*N M"]
    ) -> Float[Tensor, "*N M"]:
        """Return the log-probability of some tokens after each context."""
        wanted = tokens[None].flatten(0, -2)
        p = self.floor[wanted]
        contexts = self._find(hidden[None].flatten(0, -2))
        for shares, context in zip(self._shares(), contexts, strict=True):
            share = shares.share[shares.find(context[:, None], wanted)]
            p = p * shares.left[context][:, None] + share
        return p.log().view(tokens.shape)

    def _shares(self) -> list["_Shares"]:
        return cast("list[_Shares]", list(self.levels))

    def _find(self, contexts: Int[Tensor, "N C"]) -> list[Int[Tensor, " N"]]:
        """Return the number of the last k tokens, for k = 0 to N - 1; UNSEEN if it has none."""
        numbers = []
        for k in range(self.config.order):
            number = contexts.new_zeros(len(contexts))
            latest = contexts[:, contexts.size(1) - k :]
            for shares, token in zip(self._shares(), latest.T, strict=False):
                number = shares.find(number, token)
            numbers.append(number)
        return numbers


class _Shares(nn.Module):
    """Probabilities of the k-grams of a level, and the mass left over for each context.

    P(token | context) = share(context, token) + left(context) * P(token | shorter context)
    """

    keys: Tensor
    counts: Tensor
    share: Tensor  # (G + 1,)
    left: Tensor  # (contexts + 1,)

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
        left = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount)) / total
        self.register_buffer("keys", keys)
        self.register_buffer("counts", occurrences)
        left = left.masked_fill(total == 0, 1.0)
        # the last entry is what UNSEEN, an index from the end, has and leaves over
        self.register_buffer("share", F.pad(share, (0, 1), value=0.0), persistent=False)
        self.register_buffer("left", F.pad(left, (0, 1), value=1.0), persistent=False)

    def find(self, context: Tensor, token: Tensor) -> Tensor:
        """Return the number of each k-gram of a context and a token, or UNSEEN."""
        key = context * self.words + token
        if not len(self.keys):
            return torch.full_like(key, UNSEEN)
        index = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        return index.where((self.keys[index] == key) & (context != UNSEEN), UNSEEN)


def estimate_discount(counts: Int[Tensor, " G"]) -> float:
    """Return n1 / (n1 + 2 n2), from how many k-grams were counted once and twice."""
    once, twice = (int((counts == times).sum()) for times in (1, 2))
    return once / (once + 2 * twice) if once else NO_SINGLETONS


class _Grams(NamedTuple):
    """The k-grams of a text."""

    keys: Int[np.ndarray, " G"]
    counts: Int[np.ndarray, " G"]
    firsts: Int[np.ndarray, " G"]
    """Where each ends in the text for the first time."""
    numbers: Int[np.ndarray, " T"]
    """Number of the k-gram that ends at each token, or UNSEEN."""


def _count_grams(
    contexts: Int[np.ndarray, " T"], tokens: Int[np.ndarray, " T"], words: int
) -> _Grams:
    """Count k-grams by the number of the (k - 1)-gram before each token, or UNSEEN."""
    ends = np.flatnonzero(contexts != UNSEEN)
    keys, firsts, inverse, counts = np.unique(
        contexts[ends] * words + tokens[ends],
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    numbers = np.full(len(tokens), UNSEEN, np.int64)
    numbers[ends] = inverse
    counts[keys == BOS] = 0  # BOS alone; no longer k-gram ends in it
    return _Grams(keys, counts.astype(np.int32), ends[firsts], numbers)


def _count_continuations(grams: _Grams, longer: _Grams) -> Int[np.ndarray, " G"]:
    """Return after how many tokens each k-gram stood; how often, if it opens a line."""
    contexts = np.bincount(grams.numbers[longer.firsts], minlength=len(grams.keys))
    return np.where(contexts == 0, grams.counts, contexts).astype(np.int32)
