"""Batches of a text in training: successive windows, shuffled ones, or ones with masked tokens.

A row begins with BOS, which says that nothing is known of what came before. Targets are PAD where
there is nothing to learn: in padding, and at the BOS between two lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nmt_core.base.random import make_generator
from nmt_core.data.batch import TensorBatch, TokenNumbers, pad
from nmt_core.data.batching import shuffle_by_length
from nmt_core.text.vocabulary import BOS, PAD, SPECIALS

MASKED_SHARE = 0.15
"""Share of the tokens that a masked model predicts (Devlin et al. 2019, section 3.1)."""

AS_MASK, AS_ANOTHER = 0.8, 0.1
"""Shares of these that are read as the mask and as a random token; the rest stay as they are."""

Tokens = Int[np.ndarray, " T"]

_Span = tuple[int, int]
"""Begin and end of a part of a text."""


@dataclass(frozen=True)
class TextBatch(TensorBatch):
    """A batch of one step."""

    tokens: Int[Tensor, "R T"]
    targets: Int[Tensor, "R T"]
    continues: bool
    """Whether every row continues its row of the batch before."""


@dataclass(frozen=True)
class Streams:
    """A text cut into as many streams as there are rows, read side by side from end to end.

    Attributes:
        text: in which BOS begins what is independent.
        rows: streams, R; fewer for a short text.
        window: tokens of a row, T.
    """

    text: Int[np.ndarray, " N"]
    rows: int
    window: int

    def steps(self, epoch: int) -> int:
        """See the contract."""
        del epoch
        return -(-self._targets().size(1) // self.window)

    def epoch(self, epoch: int) -> Iterator[TextBatch]:
        """See the contract; the text of all epochs is the same."""
        targets = self._targets()
        begin = torch.full((len(targets), 1), BOS)
        tokens = torch.cat([begin, targets[:, :-1]], dim=1)
        targets = targets.masked_fill(targets == BOS, PAD)
        for step in range(self.steps(epoch)):
            window = slice(step * self.window, (step + 1) * self.window)
            yield TextBatch(tokens[:, window], targets[:, window], continues=step > 0)

    def _targets(self) -> Int[Tensor, "R T"]:
        targets = torch.from_numpy(self.text[1:])
        rows = max(1, min(self.rows, len(targets) // self.window))
        length = -(-len(targets) // rows)
        missing = rows * length - len(targets)
        return torch.cat([targets, targets.new_full((missing,), PAD)]).view(rows, length)


@dataclass(frozen=True)
class Windows:
    """A text cut into windows, or lines, that are read in an order of chance.

    What is longer than a window is cut, each epoch at other places.

    Attributes:
        text: in which BOS begins what is independent.
        rows: windows of a batch, R.
        window: tokens per window at most, T.
        seed: where chance comes from.
        masked: vocabulary, in tokens, V, of a model of which some tokens are masked; the mask is
            token V.
    """

    text: Int[np.ndarray, " N"]
    rows: int
    window: int
    seed: int
    masked: int | None = None

    def steps(self, epoch: int) -> int:
        """See the contract."""
        return -(-len(self._spans(epoch)) // self.rows)

    def epoch(self, epoch: int) -> Iterator[TextBatch]:
        """See the contract."""
        draw = make_generator(self.seed, "windows", epoch)
        spans = self._spans(epoch)
        lengths = [end - begin for begin, end in spans]
        for batch in shuffle_by_length(lengths, rows=self.rows, draw=draw):
            rows = [self._read(*spans[row], epoch) for row in batch]
            tokens, targets = zip(*rows, strict=True)
            yield TextBatch(pad(tokens), pad(targets), continues=False)

    def _read(self, begin: int, end: int, epoch: int) -> tuple[TokenNumbers, TokenNumbers]:
        """Return a window as it is read, from BOS, and what to predict there."""
        row = self.text[begin:end]
        if self.masked is None:
            return [BOS, *row[:-1]], row
        draw = make_generator(self.seed, "masks", epoch, begin)
        read, wanted = mask_tokens(row, self.masked, draw)
        return [BOS, *read], [PAD, *wanted]

    def _spans(self, epoch: int) -> list[_Span]:
        begins = 1 + np.flatnonzero(self.text == BOS)
        ends = [*(begins[1:] - 1), len(self.text)]
        offset = int(make_generator(self.seed, "offset", epoch).integers(1, self.window + 1))
        spans = []
        for begin, end in zip(begins.tolist(), ends, strict=True):
            cuts = [begin, end]
            if end - begin > self.window:
                cuts = [begin, *range(begin + offset, end, self.window), end]
            spans += [(int(a), int(b)) for a, b in pairwise(cuts) if a < b]
        return spans


def mask_tokens(tokens: Tokens, words: int, draw: np.random.Generator) -> tuple[Tokens, Tokens]:
    """Choose 15 % of a line's tokens, at least one and none reserved.

    Returns:
        The line, in which a chosen token is the mask V (80 %), a random one that is not reserved
        (10 %) or itself (10 %); and the chosen tokens, PAD elsewhere.
    """
    places = np.flatnonzero(tokens >= len(SPECIALS))
    count = min(len(places), max(1, round(MASKED_SHARE * len(places))))
    chosen = draw.permutation(places)[:count]
    chance = draw.random(count)
    others = draw.integers(len(SPECIALS), words, count)
    read, wanted = tokens.copy(), np.full_like(tokens, PAD)
    wanted[chosen] = tokens[chosen]
    shown = np.where(chance < AS_MASK + AS_ANOTHER, others, tokens[chosen])
    read[chosen] = np.where(chance < AS_MASK, words, shown)
    return read, wanted
