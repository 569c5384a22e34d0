"""Training pairs as people type them and with symbols for literals, drawn anew in every epoch."""

import numpy as np

from nmt_core.base.random import make_generator
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.data.modifiers import Lines, list_modifiers
from nmt_core.data.settings import AugmentationConfig
from nmt_core.data.shards import ShardDataset
from nmt_core.data.symbol_modifier import SymbolModifier
from nmt_core.text.side import Side


class AugmentedPairs:
    """Pairs of which each is, in an epoch, a function of seed, epoch and its number.

    A pair that would become longer than the longest of the dataset stays as it is.

    Args:
        dataset: the pairs as they are.
        sides: source and target.
        languages: codes of both.
        config: the share of the pairs that each modifier changes.
        seed: decides all draws, with the epoch.
    """

    def __init__(
        self,
        dataset: ShardDataset,
        sides: tuple[Side, Side],
        languages: tuple[str, str],
        config: AugmentationConfig,
        seed: int,
    ) -> None:
        modifiers = [*list_modifiers(languages[0]), SymbolModifier(languages)]
        shares = [getattr(config, modifier.name) for modifier in modifiers]
        if not all(symbol in side.vocabulary for side in sides for symbol in ALL_SYMBOLS):
            shares[-1] = 0.0  # of a tokenizer from before there were any
        self._dataset, self._sides, self._seed = dataset, sides, seed
        self._modifiers = modifiers
        self._shares = np.array([config.merged, *shares])
        self._longest = dataset.longest

    def draw(self, number: int, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the source and target tokens that a pair has in an epoch."""
        draw = make_generator(self._seed, "augmentation", epoch, number)
        merged, *chosen = (draw.random(len(self._shares)) < self._shares).tolist()
        if not merged and not any(chosen):
            return self._dataset[number]
        lines = self._read(number)
        if merged:
            other = self._read(int(draw.integers(len(self._dataset))))
            lines = Lines(*map(" ".join, zip(lines, other, strict=True)))
        for modifier, wanted in zip(self._modifiers, chosen, strict=True):
            if wanted:
                lines = modifier.modify(lines, draw)
        source, target = (
            np.array(side.ids(line), np.int32)
            for side, line in zip(self._sides, lines, strict=True)
        )
        fits = 0 < min(len(source), len(target)) and max(len(source), len(target)) <= self._longest
        return (source, target) if fits else self._dataset[number]

    def _read(self, number: int) -> Lines:
        pair = zip(self._sides, self._dataset[number], strict=True)
        return Lines(*(side.text(tokens.tolist()) for side, tokens in pair))
