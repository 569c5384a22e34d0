"""A screen: signals and thresholds learnt from a corpus, which jobs load from a folder."""

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
from nmt_core.corpora.screening.thresholds import MIN_LOSABLE, count_losable, fit_thresholds
from nmt_core.corpora.screening.word_pairs import WordPairs

MIN_PAIRS = 1000
"""Minimum size of a sample; the aligner cannot learn from fewer pairs."""


@dataclass(frozen=True)
class Screen:
    """Filters of pairs, as learnt by :func:`learn_screen`."""

    signals: Signals
    thresholds: dict[FilterName, float]
    """Pairs above are dropped; infinite for a filter that is off."""
    fitted: bool
    """Whether they were fitted to trusted pairs."""

    def judge(self, pairs: Sequence[Pair]) -> list[FilterName | None]:
        """Return the first filter that drops each pair, or None."""
        measured = self.signals.measure(*split_sides(pairs))
        always = np.ones(len(pairs), np.bool_)
        dropped = np.stack([*(measured[name] > self.thresholds[name] for name in FILTERS), always])
        return [(*FILTERS, None)[first] for first in dropped.argmax(axis=0).tolist()]

    def save(self, folder: Path) -> None:
        """Write ``screen.json`` and ``screen.npz`` into a folder that appears whole."""
        signals = self.signals
        content = _StoredScreen(
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
            files.write_json(part / "screen.json", content.model_dump(mode="json"))
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
            content = _StoredScreen.model_validate_json((folder / "screen.json").read_bytes())
            with np.load(folder / "screen.npz", allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            signals = Signals(
                (content.languages[0], content.languages[1]),
                content.candidates,
                (content.scripts[0], content.scripts[1]),
                WordPairs(content.words, arrays["keys"], arrays["lifts"], arrays["known"]),
                content.lengths,
                content.gains,
            )
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CorpusError(f"{folder} is not a screen ({error}); learn it again") from None
        return cls(
            signals,
            {name: content.thresholds.get(name, np.inf) for name in FILTERS},
            content.fitted,
        )


class _StoredScreen(Config):
    """The content of ``screen.json``."""

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
    """Learn signals and thresholds from a corpus.

    Args:
        sample: pairs drawn evenly from the whole corpus, wrong ones included.
        trusted: sound pairs that are not in the sample, such as a given validation set. Without
            them, or with too few to state the loss (some 1,000 at 1 %), thresholds are those of
            pairs that are wrong in any text.
        languages: codes of source and target.
        config: the share of trusted pairs that may be lost, and thresholds set by the user.
        judged: pairs to fit thresholds to, if these are not the sample.

    Raises:
        CorpusError: if the sample is too small, or py3langid is missing.
    """
    if len(sample) < MIN_PAIRS:
        raise CorpusError(
            f"a screen needs {MIN_PAIRS:,} pairs or more, got {len(sample):,}; give more text or "
            f"omit the screen"
        )
    sides, sound = split_sides(sample), split_sides(trusted)
    signals = learn_signals(sides, sound, languages)
    measured = signals.measure(*sound)
    noisy = signals.measure(*(split_sides(judged) if judged else sides))
    thresholds = fit_thresholds(noisy, measured, config)
    return Screen(signals, thresholds, count_losable(measured, config) >= MIN_LOSABLE)
