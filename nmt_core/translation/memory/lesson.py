"""Corrections to fine-tune on: valid ones, without noise and leaks.

A share of them is held out for evaluation. Their source alone decides which, so that a held-out one
was not learnt by an earlier fine-tuning.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nmt_core.corpora.filters import FilterConfig, find_fault, make_comparison_key
from nmt_core.corpora.near_duplicates import SentenceIndex
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.screen import Screen
from nmt_core.corpora.splitting import digest
from nmt_core.translation.memory.selection import SelectedCorrection

SALT = "corrections"
"""Key of the hash that sets corrections aside."""


@dataclass(frozen=True)
class KnownText:
    """Sentences of an earlier training, by which leaks are found."""

    tested: frozenset[str]
    """Comparison keys of both sides of validation and test."""
    learnt: frozenset[str]
    """Those of train; both hold no more than what stands in corrections, too."""

    @classmethod
    def read(
        cls,
        held_out: Iterable[str],
        train: Iterable[str],
        corrections: Iterable[SelectedCorrection],
    ) -> "KnownText":
        """Compare lines of both sides with corrections, of which alone something is held."""
        asked = {make_comparison_key(side) for each in corrections for side in each[:2]}
        tested, learnt = (
            frozenset(asked.intersection(map(make_comparison_key, lines)))
            for lines in (held_out, train)
        )
        return cls(tested, learnt)


@dataclass
class Lesson:
    """The corrections of one fine-tuning."""

    learnt: list[SelectedCorrection] = field(default_factory=list)
    held_out: list[SelectedCorrection] = field(default_factory=list)
    dropped: dict[str, list[SelectedCorrection]] = field(default_factory=dict)
    """Others by reason: the name of a filter, ``also_tested`` if validation or test has it,
    ``already_learnt`` if it is held out but train has it, ``near_held_out`` if it is near to a
    held-out one."""

    def drop(self, correction: SelectedCorrection, why: str) -> None:
        """Leave a correction out."""
        self.dropped.setdefault(why, []).append(correction)


def prepare_lesson(
    corrections: Sequence[SelectedCorrection],
    approved: Collection[str],
    known: KnownText,
    *,
    filters: FilterConfig,
    screen: Screen | None,
    held_out: float,
    distance: float,
) -> Lesson:
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
    lesson = Lesson()
    sound = _leave_out_noise(corrections, approved, filters, screen, lesson)
    for each in sound:
        keys = {make_comparison_key(side) for side in each[:2]}
        if keys & known.tested:
            lesson.drop(each, "also_tested")
        elif not is_held_out(each.source, held_out):
            lesson.learnt.append(each)
        elif keys & known.learnt:
            lesson.drop(each, "already_learnt")
        else:
            lesson.held_out.append(each)
    _leave_out_near(lesson, distance)
    return lesson


def is_held_out(source: str, share: float) -> bool:
    """Tell whether a correction of this source is one to test on."""
    drawn = digest(make_comparison_key(source), salt=SALT)
    return int.from_bytes(drawn, "little") / 2**64 < share


def _leave_out_noise(
    corrections: Sequence[SelectedCorrection],
    approved: Collection[str],
    filters: FilterConfig,
    screen: Screen | None,
    lesson: Lesson,
) -> Iterator[SelectedCorrection]:
    pairs = [Pair(each.source, each.target) for each in corrections]
    taken = screen.judge(pairs) if screen and pairs else [None] * len(pairs)
    for each, pair, noise in zip(corrections, pairs, taken, strict=True):
        why = find_fault(pair, filters) or (None if each.id in approved else noise)
        if why:
            lesson.drop(each, why)
        else:
            yield each


def _leave_out_near(lesson: Lesson, distance: float) -> None:
    """Learn nothing that is near to what is tested on, on either side."""
    if not (distance and lesson.held_out):
        return
    indices = [SentenceIndex([each[side] for each in lesson.held_out], distance) for side in (0, 1)]
    learnt = []
    for each in lesson.learnt:
        if any(index.find_near(each[side]) for side, index in enumerate(indices)):
            lesson.drop(each, "near_held_out")
        else:
            learnt.append(each)
    lesson.learnt = learnt
