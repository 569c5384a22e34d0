"""Corrections for fine-tuning: valid corrections without noise and leaks.

A share of the corrections is held out for evaluation. A hash of the source selects them, so that an
earlier fine-tuning has not trained on a held-out correction.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from nmt_core.corpora.filters import FilterConfig, find_fault, make_comparison_key
from nmt_core.corpora.near_duplicates import SentenceIndex
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.splitting import digest
from nmt_core.translation.memory.journal import SelectedCorrection

SALT = "corrections"
"""Salt of the hash that selects held-out corrections."""


@dataclass
class CorrectionSplit:
    """The corrections of one fine-tuning."""

    learnt: list[SelectedCorrection] = field(default_factory=list)
    held_out: list[SelectedCorrection] = field(default_factory=list)
    dropped: dict[str, list[SelectedCorrection]] = field(default_factory=lambda: defaultdict(list))
    """Unused corrections by reason: the name of a filter, ``also_tested`` if validation or test
    text has it, ``already_learnt`` if it would be held out but training text has it, and
    ``near_held_out`` if it is similar to a held-out correction."""


def split_corrections(
    corrections: Sequence[SelectedCorrection],
    approved: Collection[str],
    known: tuple[Iterable[str], Iterable[str]],
    *,
    filters: FilterConfig,
    noise: Mapping[str, str],
    held_out: float,
    distance: float,
) -> CorrectionSplit:
    """Assign each correction to training, the held-out set, or neither.

    Args:
        corrections: the selected corrections.
        approved: ids of corrections that a person approved; ``noise`` does not drop them.
        known: lines of validation and test text, and lines of training text, of both sides.
        filters: filters of training pairs.
        noise: why a noise filter would drop a correction, by its id.
        held_out: share of held-out corrections, from 0 to 1.
        distance: maximum edits per word of a near duplicate of a held-out correction; 0 for none.
    """
    split = CorrectionSplit()
    keys_of = {each: {make_comparison_key(side) for side in each[:2]} for each in corrections}
    all_keys = {*chain.from_iterable(keys_of.values())}
    tested, learnt = (all_keys.intersection(map(make_comparison_key, lines)) for lines in known)
    for each in corrections:
        reason = None if each.id in approved else noise.get(each.id)
        if fault := find_fault(Pair(each.source, each.target), filters) or reason:
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
        index = SentenceIndex([*chain.from_iterable(e[:2] for e in split.held_out)], distance)
        candidates, split.learnt = split.learnt, []
        for each in candidates:
            is_near = index.find_near(each[:2])
            (split.dropped["near_held_out"] if is_near else split.learnt).append(each)
    return split


def is_held_out(source: str, share: float) -> bool:
    """Return whether corrections of this source are held out for evaluation."""
    number = digest(source, salt=SALT)
    return int.from_bytes(number, "little") / 2**64 < share
