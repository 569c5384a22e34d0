"""Which corrections are learnt: each once, and of those that contradict each other the newest."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nmt_core.base.languages import Languages
from nmt_core.translation.memory.correction import Correction
from nmt_core.translation.memory.index import join_spaces


class SelectedCorrection(NamedTuple):
    """A pair to learn from."""

    source: str
    """A line."""
    target: str
    """A line."""
    id: str
    """Of the correction in the journal."""


def select_corrections(
    corrections: Iterable[Correction], languages: Languages, *, undecided: bool = False
) -> Iterator[SelectedCorrection]:
    """Yield the corrections that hold, in the order in which they were given or approved.

    Of several corrections of one source, the newest approved one holds, or with ``undecided`` else
    the newest suggested one; a dropped one never does. Line ends and other white space become
    single spaces, as parallel text needs.
    """
    newest: dict[str, tuple[tuple[bool, int], SelectedCorrection]] = {}
    for each in corrections:
        approved = each.status == "approved"
        if each.suggestion.languages != languages:
            continue
        if not approved and not (undecided and each.status == "suggested"):
            continue
        rank = (approved, each.place)
        source, target = map(join_spaces, (each.suggestion.source, each.suggestion.target))
        if source not in newest or newest[source][0] < rank:
            newest[source] = (rank, SelectedCorrection(source, target, each.id))
    yield from (pair for (_, _), pair in sorted(newest.values(), key=lambda one: one[0][1]))
