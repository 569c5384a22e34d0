"""Corrections to fine-tune on: valid ones, without noise and leaks.

A share of them is held out for evaluation. Their source alone decides which, so that a held-out one
was not learnt by an earlier fine-tuning.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from nmt_core.corpora.filters import FilterConfig, find_fault, make_comparison_key
from nmt_core.corpora.near_duplicates import SentenceIndex
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.screen import Screen
from nmt_core.corpora.splitting import digest
from nmt_core.translation.memory.journal import SelectedCorrection

SALT = "corrections"
"""Key of the hash that sets corrections aside."""


@dataclass(frozen=True)
class KnownText:
    """Comparison keys of an earlier training's sentences, as far as corrections have them, too."""

    tested: frozenset[str]
    """Both sides of validation and test."""
    learnt: frozenset[str]
    """Both sides of the training text."""

    @classmethod
    def read(
        cls,
        held_out: Iterable[str],
        train: Iterable[str],
        corrections: Iterable[SelectedCorrection],
    ) -> "KnownText":
        """Compare lines of validation and test, and of training, with corrections."""
        keys = {make_comparison_key(side) for each in corrections for side in each[:2]}
        tested, learnt = (
            frozenset(keys.intersection(map(make_comparison_key, lines)))
            for lines in (held_out, train)
        )
        return cls(tested, learnt)


@dataclass
class CorrectionSplit:
    """The corrections of one fine-tuning."""

    learnt: list[SelectedCorrection] = field(default_factory=list)
    held_out: list[SelectedCorrection] = field(default_factory=list)
    dropped: dict[str, list[SelectedCorrection]] = field(default_factory=dict)
    """Others by reason: the name of a filter, ``also_tested`` if validation or test has it,
    ``already_learnt`` if it is held out but train has it, ``near_held_out`` if it is near to a
    held-out one."""

    def drop(self, correction: SelectedCorrection, reason: str) -> None:
        """Leave a correction out."""
        self.dropped.setdefault(reason, []).append(correction)


def split_corrections(
    corrections: Sequence[SelectedCorrection],
    approved: Collection[str],
    known: KnownText,
    *,
    filters: FilterConfig,
    screen: Screen | None,
    held_out: float,
    distance: float,
) -> CorrectionSplit:
    """Assign each correction to training, the held-out set, or neither.

    Args:
        corrections: valid ones.
        approved: ids of those that a person approved: the screen does not judge these.
        known: text that the model was trained and tested on.
        filters: of training pairs.
        screen: learnt from the training text; None if there is too little.
        held_out: share of the held-out set, from 0 to 1.
        distance: edits per word up to which a correction is too near to a held-out one.
    """
    split = CorrectionSplit()
    pairs = [Pair(each.source, each.target) for each in corrections]
    noise = screen.judge(pairs) if screen and pairs else [None] * len(pairs)
    for each, pair, reason in zip(corrections, pairs, noise, strict=True):
        keys = {make_comparison_key(side) for side in pair}
        if fault := find_fault(pair, filters) or (None if each.id in approved else reason):
            split.drop(each, fault)
        elif keys & known.tested:
            split.drop(each, "also_tested")
        elif not is_held_out(each.source, held_out):
            split.learnt.append(each)
        elif keys & known.learnt:
            split.drop(each, "already_learnt")
        else:
            split.held_out.append(each)
    if distance and split.held_out:
        _drop_near(split, distance)
    return split


def is_held_out(source: str, share: float) -> bool:
    """Tell whether a correction of this source is held out for evaluation."""
    number = digest(make_comparison_key(source), salt=SALT)
    return int.from_bytes(number, "little") / 2**64 < share


def _drop_near(split: CorrectionSplit, distance: float) -> None:
    """Drop what is to be learnt but near to a held-out correction on either side."""
    indices = [SentenceIndex([each[side] for each in split.held_out], distance) for side in (0, 1)]
    learnt, split.learnt = split.learnt, []
    for each in learnt:
        if any(index.find_near(each[side]) for side, index in enumerate(indices)):
            split.drop(each, "near_held_out")
        else:
            split.learnt.append(each)
