"""Language models of n-gram counts.

Maximum likelihood gives unseen k-grams probability 0. Interpolated Kneser-Ney (Kneser and Ney 1995;
Chen and Goodman 1999) takes a discount off every count, spends it on the shorter context, and there
counts the contexts of a token instead of its occurrences. At the bottom all tokens are equally
likely.

The k-grams of a level are a sorted array of integers ``context * V + token``: the number of the
first k - 1 tokens among the (k - 1)-grams, and the last token. No context crosses BOS.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.extensions.language_models.model import LanguageModel, Window, slide
from nmt_core.text.vocabulary import BOS, PAD

UNSEEN = -1
"""The number of a k-gram that was never seen."""

NO_SINGLETONS = 0.5
"""The discount where no k-gram stands once, so that none can be estimated."""


class MaximumLikelihood(Config):
    """Relative frequencies after the longest context that was seen."""

    kind: Literal["maximum_likelihood"] = "maximum_likelihood"
    """The tag of this choice."""


class KneserNey(Config):
    """Interpolated Kneser-Ney, one discount per level."""

    kind: Literal["kneser_ney"] = "kneser_ney"
    """The tag of this choice."""
    discount: float | None = Field(None, gt=0, lt=1)
    """What is taken off every count; null estimates it per level as n1 / (n1 + 2 n2), from how many
    k-grams were counted once and twice."""


Smoothing = Annotated[MaximumLikelihood | KneserNey, Field(discriminator="kind")]


class NGramConfig(Config):
    """A language model of n-gram counts."""

    kind: Literal["ngram"] = "ngram"
    """The tag of this choice."""
    order: int = Field(5, ge=1, le=1000)
    """Tokens of an n-gram, N: the context and the token after it."""
    smoothing: Smoothing = KneserNey()
    """Smoothing of unseen n-grams."""


Level = tuple[Tensor, Tensor]
"""The k-grams of one length that were seen: ``context * V + token`` (G), ascending; and counts (G),
0 for BOS alone, which is seen and never predicted."""


class NGram(LanguageModel[Window]):
    """An n-gram model over V tokens, of the k-grams for k = 1 to N."""

    floor: Tensor

    def __init__(self, config: NGramConfig, words: int, levels: Sequence[Level]) -> None:
        super().__init__()
        self.config = config
        contexts = [1, *(len(keys) for keys, _ in levels)]
        self.levels = nn.ModuleList(
            Shares(level, config.smoothing, contexts=contexts[k], words=words)
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
        grams = [_single(tokens)]
        for _ in range(1, config.order):
            grams.append(_longer(grams[-1], tokens, words))
        continuing = isinstance(config.smoothing, KneserNey)
        levels = [
            (
                torch.from_numpy(gram.keys),
                torch.from_numpy(_continuations(gram, longer) if continuing else gram.counts),
            )
            for gram, longer in zip(grams, [*grams[1:], None], strict=True)
        ]
        return cls(config, words, levels)

    @classmethod
    def restore(cls, config: NGramConfig, words: int, tensors: Mapping[str, Tensor]) -> "NGram":
        """Return a model as it was saved.

        Raises:
            BundleError: if the tensors do not fit the settings.
        """
        try:
            levels = [
                (tensors[f"levels.{k}.keys"], tensors[f"levels.{k}.counts"])
                for k in range(config.order)
            ]
            return cls(config, words, levels)
        except (KeyError, RuntimeError) as error:
            raise BundleError(
                f"the tensors do not fit the settings of the model: {error}"
            ) from None

    @override
    def start(self, rows: int) -> Window:
        return Window.empty(rows, self.config.order, self.device)

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Window
    ) -> tuple[Int[Tensor, "R T N-1"], Window]:
        return slide(tokens, state)

    @override
    def log_probs(self, hidden: Int[Tensor, "*N N-1"]) -> Float[Tensor, "*N V"]:
        """See the contract; in float64."""
        contexts = hidden[None].flatten(0, -2)
        p = self.floor.repeat(len(contexts), 1)
        for shares, context in zip(self._shares(), self._find(contexts), strict=True):
            p = shares.spread(p, context)
        return p.log().view(*hidden.shape[:-1], -1)

    @override
    def log_likelihood(
        self, hidden: Int[Tensor, "*N N-1"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """See the contract; looks up these tokens alone."""
        wanted = tokens.flatten()
        contexts = self._find(hidden[None].flatten(0, -2))
        p = self.floor[wanted]
        for shares, context in zip(self._shares(), contexts, strict=True):
            p = p * shares.left[context] + shares.share[shares.find(context, wanted)]
        return p.log().view(tokens.shape)

    def _shares(self) -> list["Shares"]:
        return cast("list[Shares]", list(self.levels))

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


class Shares(nn.Module):
    """Probabilities of the k-grams of a level, and the mass left over for each context.

    P(token | context) = share(context, token) + left(context) * P(token | shorter context)
    """

    keys: Tensor
    counts: Tensor
    share: Tensor  # (G + 1,)
    left: Tensor  # (contexts + 1,)
    first: Tensor  # (contexts + 1,), where the k-grams of a context begin

    def __init__(self, level: Level, smoothing: Smoothing, *, contexts: int, words: int) -> None:
        super().__init__()
        self.words = words
        keys, occurrences = level
        counts, context = occurrences.double(), keys // words
        total = torch.zeros(contexts, dtype=torch.float64).index_add_(0, context, counts)
        discount = 0.0
        if isinstance(smoothing, KneserNey):
            discount = smoothing.discount or estimate_discount(occurrences)
        share = (counts - discount).clamp(min=0) / total[context]
        left = torch.zeros_like(total).index_add_(0, context, counts.clamp(max=discount)) / total
        self.register_buffer("keys", keys)
        self.register_buffer("counts", occurrences)
        left = left.masked_fill(total == 0, 1.0)
        # the last entry is what UNSEEN, an index from the end, has and leaves over
        self.register_buffer("share", F.pad(share, (0, 1), value=0.0), persistent=False)
        self.register_buffer("left", F.pad(left, (0, 1), value=1.0), persistent=False)
        first = torch.searchsorted(keys, torch.arange(contexts + 1) * words)
        self.register_buffer("first", first, persistent=False)

    def find(self, context: Int[Tensor, " N"], token: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
        """Return the numbers of k-grams, UNSEEN where one has none."""
        if not len(self.keys):
            return torch.full_like(context, UNSEEN)
        key = context * self.words + token
        index = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        return index.where((self.keys[index] == key) & (context != UNSEEN), UNSEEN)

    def spread(self, p: Float[Tensor, "N V"], context: Int[Tensor, " N"]) -> Float[Tensor, "N V"]:
        """Return the probabilities of all tokens, given those after the shorter context."""
        p = p * self.left[context][:, None]
        begin = self.first[context].where(context != UNSEEN, 0)
        count = self.first[context + 1].where(context != UNSEEN, 0) - begin
        rows = torch.arange(len(p), device=p.device).repeat_interleave(count)
        skipped = count.cumsum(0) - count - begin
        grams = torch.arange(len(rows), device=p.device) - skipped[rows]
        p[rows, self.keys[grams] % self.words] += self.share[grams]
        return p


def estimate_discount(counts: Int[Tensor, " G"]) -> float:
    """Return n1 / (n1 + 2 n2), from how many k-grams were counted once and twice."""
    once, twice = (int((counts == times).sum()) for times in (1, 2))
    return once / (once + 2 * twice) if once else NO_SINGLETONS


@dataclass(frozen=True)
class _Grams:
    """The k-grams of a text."""

    keys: Int[np.ndarray, " G"]
    counts: Int[np.ndarray, " G"]
    firsts: Int[np.ndarray, " G"]  # where each ends in the text for the first time
    numbers: Int[np.ndarray, " T"]  # of the k-gram that ends at each token, or UNSEEN


def _single(tokens: Int[np.ndarray, " T"]) -> _Grams:
    keys, firsts, numbers, counts = np.unique(
        tokens.astype(np.int64), return_index=True, return_inverse=True, return_counts=True
    )
    return _Grams(keys, np.where(keys == BOS, 0, counts).astype(np.int32), firsts, numbers)


def _longer(shorter: _Grams, tokens: Int[np.ndarray, " T"], words: int) -> _Grams:
    """Return the n-grams that are one token longer; none reaches behind BOS."""
    ends = 1 + np.flatnonzero((shorter.numbers[:-1] != UNSEEN) & (tokens[1:] != BOS))
    keys, firsts, inverse, counts = np.unique(
        shorter.numbers[ends - 1].astype(np.int64) * words + tokens[ends],
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    numbers = np.full(len(tokens), UNSEEN, np.int64)
    numbers[ends] = inverse
    return _Grams(keys, counts.astype(np.int32), ends[firsts], numbers)


def _continuations(grams: _Grams, longer: _Grams | None) -> Int[np.ndarray, " G"]:
    """Return after how many tokens each n-gram stood; how often, if it is longest or opens."""
    if longer is None:
        return grams.counts
    contexts = np.bincount(grams.numbers[longer.firsts], minlength=len(grams.keys))
    return np.where(contexts == 0, grams.counts, contexts).astype(np.int32)
