"""A screen: signals and thresholds that a corpus taught, which jobs load from a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.settings import FilterName, ScreenConfig
from nmt_core.corpora.screening.signals import (
    FILTERS,
    Gains,
    LengthModel,
    LineList,
    Signals,
    learn_signals,
)
from nmt_core.corpora.screening.thresholds import LEAST_LOSABLE, count_losable, fit_thresholds
from nmt_core.corpora.screening.word_pairs import WordPairs

LEAST_PAIRS = 1000
"""Pairs of a sample that a screen is learnt from; fewer teach no aligner what goes together."""


@dataclass(frozen=True)
class Screen:
    """Filters of pairs, as :func:`learn_screen` made them."""

    signals: Signals
    thresholds: dict[FilterName, float]
    """What lies above is taken; infinite for a filter that is off."""
    fitted: bool
    """Whether they were fitted to trusted pairs, or are those of what is plainly wrong."""

    def judge(self, pairs: Sequence[Pair]) -> list[FilterName | None]:
        """Return the first filter that takes each pair, or None; neighbours change nothing."""
        measured = self.signals.measure(*split_sides(pairs))
        always = np.ones(len(pairs), np.bool_)
        taken = np.stack([*(measured[name] > self.thresholds[name] for name in FILTERS), always])
        return [(*FILTERS, None)[first] for first in taken.argmax(axis=0).tolist()]

    def save(self, folder: Path) -> None:
        """Write ``screen.json`` and ``screen.npz`` into a folder that appears whole."""
        signals = self.signals
        known = _Known(
            languages=list(signals.languages),
            candidates=signals.candidates,
            scripts=[*signals.scripts],
            words=signals.words.words,
            lengths=signals.lengths,
            gains=signals.gains,
            thresholds={name: value for name, value in self.thresholds.items() if value < np.inf},
            fitted=self.fitted,
        )
        with files.whole_folder(folder) as part:
            files.write_json(part / "screen.json", known.model_dump(mode="json"))
            np.savez(
                part / "screen.npz",
                keys=signals.words.keys,
                lifts=signals.words.lifts,
                known=signals.words.known,
            )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load a screen.

        Raises:
            CorpusError: if it cannot be read.
        """
        try:
            known = _Known.model_validate_json((folder / "screen.json").read_bytes())
            with np.load(folder / "screen.npz", allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            signals = Signals(
                (known.languages[0], known.languages[1]),
                known.candidates,
                (known.scripts[0], known.scripts[1]),
                WordPairs(known.words, arrays["keys"], arrays["lifts"], arrays["known"]),
                known.lengths,
                known.gains,
            )
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CorpusError(f"{folder} holds no screen ({error}); learn it again") from None
        return cls(
            signals, {name: known.thresholds.get(name, np.inf) for name in FILTERS}, known.fitted
        )


class _Known(Config):
    """What a screen knows besides its arrays."""

    languages: list[str]
    candidates: list[str]
    scripts: list[list[str]]
    words: list[str]
    lengths: LengthModel
    gains: Gains
    thresholds: dict[FilterName, float]
    fitted: bool


def split_sides(pairs: Sequence[tuple[str, str]]) -> tuple[LineList, LineList]:
    """Return the sources and the targets of pairs."""
    return [source for source, _ in pairs], [target for _, target in pairs]


def learn_screen(
    sample: Sequence[Pair],
    trusted: Sequence[Pair],
    languages: tuple[str, str],
    config: ScreenConfig,
    *,
    judged: Sequence[Pair] = (),
) -> Screen:
    """Learn what is usual in a corpus, and thresholds of what is not.

    Args:
        sample: pairs drawn evenly from all of the corpus, wrong ones included.
        trusted: pairs that are known to be sound and are not among the sample, such as a given
            validation text. Without them, or with too few to state the loss (some 1,000 at 1 %),
            thresholds are those of what is plainly wrong in whatever text.
        languages: codes of source and target.
        config: the share of trusted pairs that may be lost, and what a person has set.
        judged: pairs among which there is noise, if it is to be looked for in other text than the
            sample.

    Raises:
        CorpusError: if the sample is too small to learn from, or py3langid is missing.
    """
    if len(sample) < LEAST_PAIRS:
        raise CorpusError(
            f"a screen is learnt from {LEAST_PAIRS:,} pairs or more, and there are "
            f"{len(sample):,}; give more text or leave the screen out"
        )
    sides, sound = split_sides(sample), split_sides(trusted)
    signals = learn_signals(sides, sound, languages)
    measured = signals.measure(*sound)
    noisy = signals.measure(*(split_sides(judged) if judged else sides))
    thresholds = fit_thresholds(noisy, measured, config)
    return Screen(signals, thresholds, count_losable(measured, config) >= LEAST_LOSABLE)
