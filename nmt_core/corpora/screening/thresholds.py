"""Thresholds of filters, fitted to drop as much as possible for a given loss of trusted pairs."""

from collections.abc import Mapping, Sequence

import numpy as np

from nmt_core.corpora.screening.flat_text import Array
from nmt_core.corpora.screening.settings import FilterName, ScreenConfig

NEVER = float("inf")
"""The threshold of a filter that is off."""

PLAINLY_WRONG: Mapping[FilterName, float] = {
    "language": 1.5,
    "script": 0.5,
    "copied": 0.6,
    "repetition": 4.5,
    "literals": 1.0,  # a number on one side only counts 1, a changed one more
    "truncated": 8.0,
    "alignment": 0.0,  # explained no better than by chance
}
"""Thresholds without trusted text: pairs above are wrong in any text."""

DOUBT = 2.0
"""Standard deviations added to the number of trusted pairs above a threshold."""

MIN_LOSABLE = 10
"""Minimum number of trusted pairs that may be lost; with fewer, thresholds would be random."""

MIN_GAIN = 2.0
"""Minimum ratio of the shares of sample and trusted pairs that a step drops: equal shares are not
noise."""

Measured = Mapping[FilterName, Array]


def fit_thresholds(
    sample: Measured, trusted: Measured | None, config: ScreenConfig
) -> dict[FilterName, float]:
    """Return the threshold of each filter, above which pairs are dropped.

    Args:
        sample: signals of pairs of the corpus, (pairs,) for each filter.
        trusted: signals of sound pairs; without any, or with too few to state the loss, thresholds
            are :data:`PLAINLY_WRONG`.
        config: the share of trusted pairs that may be lost, and thresholds set by the user.
    """
    settings = {name: getattr(config, name) for name in PLAINLY_WRONG}
    chosen = {
        name: NEVER if setting == "off" else float(setting)
        for name, setting in settings.items()
        if setting is not None
    }
    free = [name for name, setting in settings.items() if setting is None]
    if trusted is None or count_losable(trusted, config) < MIN_LOSABLE:
        return {name: chosen.get(name, PLAINLY_WRONG[name]) for name in settings}
    return chosen | _fit(sample, trusted, free, config)


def count_losable(trusted: Measured, config: ScreenConfig) -> int:
    """Return the number of trusted pairs that may be lost.

    A new pair is above the greatest of n values with probability 1 / (n + 1), and above the k-th
    with k / (n + 1).
    """
    pairs = max((len(values) for values in trusted.values()), default=0)
    return int(config.lost_share * (pairs + 1))


def _fit(
    sample: Measured, trusted: Measured, names: Sequence[FilterName], config: ScreenConfig
) -> dict[FilterName, float]:
    """Lower thresholds step by step, each time where most of the sample is dropped for the loss.

    Filters begin above all trusted pairs, at what is plainly wrong or higher, and stay there if the
    sample has no more pairs above than the trusted ones. A step may be as long as the loss allows,
    since the first pairs that a filter loses may be outliers. A pair that several filters lose
    counts once.
    """
    losable = count_losable(trusted, config)
    thresholds = {name: max(PLAINLY_WRONG[name], float(trusted[name].max())) for name in names}
    lost = dict.fromkeys(names, 0)
    kept = np.ones(max(len(trusted[name]) for name in trusted), np.bool_)
    left = np.ones(max(len(sample[name]) for name in sample), np.bool_)
    for name in names:
        left &= sample[name] <= thresholds[name]
    while losable:
        steps: list[tuple[float, FilterName, int, float]] = []
        costs = np.arange(1, losable + 1)
        for name in names:
            before = lost[name]
            likely = costs + DOUBT * (np.sqrt(before + costs) - np.sqrt(before))
            # the first pair that a filter costs is the one at its threshold, which stays
            falling = np.sort(trusted[name][kept])[::-1][costs - (0 if before else 1)]
            values = np.sort(sample[name][left])
            gains = (len(values) - np.searchsorted(values, falling, side="right")) / likely
            best = int(gains.argmax())
            steps.append((float(gains[best]), name, int(costs[best]), float(falling[best])))
        gain, name, cost, threshold = max(steps)
        if gain * len(kept) < MIN_GAIN * len(left):
            break
        lost[name] += cost
        losable -= cost
        thresholds[name] = threshold
        kept &= trusted[name] <= threshold
        left &= sample[name] <= threshold
    return thresholds
