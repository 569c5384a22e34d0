"""Corrections to fine-tune on: valid ones, without noise and leaks.

A share of them is held out for evaluation. Their source alone decides which, so that a held-out one
was not learnt by an earlier fine-tuning.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from nmt_core.corpora.filters import FilterConfig, find_fault, make_comparison_key
from nmt_core.corpora.near_duplicates import SentenceIndex
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.screen import Screen
from nmt_core.corpora.splitting import digest
from nmt_core.translation.memory.journal import SelectedCorrection

SALT = "corrections"
"""Key of the hash that sets corrections aside."""


@dataclass
class CorrectionSplit:
    """The corrections of one fine-tuning."""

    learnt: list[SelectedCorrection] = field(default_factory=list)
    held_out: list[SelectedCorrection] = field(default_factory=list)
    dropped: dict[str, list[SelectedCorrection]] = field(default_factory=lambda: defaultdict(list))
    """Others by reason: the name of a filter, ``also_tested`` if validation or test has it,
    ``already_learnt`` if it is held out but train has it, ``near_held_out`` if it is near to a
    held-out one."""


def split_corrections(
    corrections: Sequence[SelectedCorrection],
    approved: Collection[str],
    known: tuple[Iterable[str], Iterable[str]],
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
        known: lines of validation and test, and those of the training text, of both sides.
        filters: of training pairs.
        screen: learnt from the training text; None if there is too little.
        held_out: share of the held-out set, from 0 to 1.
        distance: edits per word up to which a correction is too near to a held-out one.
    """
    split = CorrectionSplit()
    keys_of = {each: {make_comparison_key(side) for side in each[:2]} for each in corrections}
    own = {*chain.from_iterable(keys_of.values())}
    tested, learnt = (own.intersection(map(make_comparison_key, lines)) for lines in known)
    pairs = [Pair(each.source, each.target) for each in corrections]
    noise = screen.judge(pairs) if screen and pairs else [None] * len(pairs)
    for each, pair, reason in zip(corrections, pairs, noise, strict=True):
        if fault := find_fault(pair, filters) or (None if each.id in approved else reason):
            split.dropped[fault].append(each)
        elif keys_of[each] & tested:
            split.dropped["also_tested"].append(each)
        elif not is_held_out(each.source, held_out):
            split.learnt.append(each)
        elif keys_of[each] & learnt:
            split.dropped["already_learnt"].append(each)
        else:
            split.held_out.append(each)
    if distance and split.held_out:
        indices = [SentenceIndex([e[side] for e in split.held_out], distance) for side in (0, 1)]
        candidates, split.learnt = split.learnt, []
        for each in candidates:
            is_near = any(index.find_near(each[side]) for side, index in enumerate(indices))
            (split.dropped["near_held_out"] if is_near else split.learnt).append(each)
    return split


def is_held_out(source: str, share: float) -> bool:
    """Tell whether a correction of this source is held out for evaluation."""
    number = digest(make_comparison_key(source), salt=SALT)
    return int.from_bytes(number, "little") / 2**64 < share
