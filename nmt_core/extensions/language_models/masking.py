"""Masking for masked language models (Devlin et al. 2019, section 3.1).

Which are hidden, and how, is a function of seed, epoch and where a line stands in the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from nmt_core.base.random import make_generator
from nmt_core.data.batch import pad
from nmt_core.extensions.language_models.reading import TextBatch, Windows
from nmt_core.text.vocabulary import BOS, PAD, SPECIALS

CHOSEN = 0.15
"""Share of the tokens that are to be found."""

MASKED, REPLACED = 0.8, 0.1
"""Shares of these that are read as the mask, and as any token; the rest are read as they are."""

Tokens = Int[np.ndarray, " T"]


@dataclass(frozen=True)
class MaskedWindows:
    """A text in windows with some tokens masked.

    Attributes:
        windows: the text, cut.
        words: vocabulary, in tokens, V; the mask is token V.
    """

    windows: Windows
    words: int

    def steps(self, epoch: int) -> int:
        """See the contract."""
        return self.windows.steps(epoch)

    def epoch(self, epoch: int) -> Iterator[TextBatch]:
        """See the contract; every row begins with BOS, and targets are PAD where none is chosen."""
        for spans in self.windows.batches(epoch):
            masked = [
                mask_tokens(
                    self.windows.text[begin:end],
                    self.words,
                    make_generator(self.windows.seed, "masks", epoch, begin),
                )
                for begin, end in spans
            ]
            tokens = pad([[BOS, *read] for read, _ in masked])
            targets = pad([[PAD, *wanted] for _, wanted in masked])
            yield TextBatch(tokens, targets, continues=False)


def mask_tokens(tokens: Tokens, words: int, draw: np.random.Generator) -> tuple[Tokens, Tokens]:
    """Mask 15 % of the tokens, at least one; return the masked tokens and the targets.

    Reserved tokens are not chosen. Of those chosen each is, by chance, the mask (80 %), any token
    that is not reserved (10 %), or itself (10 %).

    Args:
        tokens: of a line.
        words: vocabulary, in tokens, V.
        draw: chooses.

    Returns:
        Tokens with the mask as V, and the tokens where one was chosen and else PAD.
    """
    places = np.flatnonzero(tokens >= len(SPECIALS))
    count = min(len(places), max(1, round(CHOSEN * len(places))))
    chosen = draw.permutation(places)[:count]
    chance = draw.random(count)
    others = draw.integers(len(SPECIALS), words, count)
    read, wanted = tokens.copy(), np.full_like(tokens, PAD)
    wanted[chosen] = tokens[chosen]
    shown = np.where(chance < MASKED + REPLACED, others, tokens[chosen])
    read[chosen] = np.where(chance < MASKED, words, shown)
    return read, wanted
