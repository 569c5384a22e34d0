"""Validation and test from the end of sessions that a file names, a line per pair."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_core.base import config
from nmt_core.base.errors import CorpusError, suggest
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK
from nmt_core.corpora.splitting import SessionSplit, Split
from nmt_core.corpora.text_files import require_pinned

Ranks: TypeAlias = npt.NDArray[np.int32]
Mask: TypeAlias = npt.NDArray[np.bool_]

NOT_HELD_OUT = -1


def rank_sessions(sessions: SessionSplit, lines: int) -> Ranks:
    """Return for every pair the rank of its session among those held out, or NOT_HELD_OUT.

    Args:
        sessions: the held-out ones.
        lines: of the corpus.

    Raises:
        CorpusError: if the file cannot be read, has another number of lines, or does not name a
            held-out session.
    """
    require_pinned(sessions)
    columns = ((line or b"").partition(b"\t")[0] for line in read_raw_lines(sessions.file))
    names = [name.decode(errors="replace").strip(BYTE_ORDER_MARK).strip() for name in columns]
    if len(names) != lines:
        raise CorpusError(
            f"{sessions.file} has {len(names)} lines but the corpus {lines}; "
            f"line N must name the session of pair N"
        )
    known = sorted(set(names))
    for beginning in sessions.held_out:
        if not any(name.startswith(beginning) for name in known):
            raise CorpusError(
                f"download.split.sessions.held_out: no session of {sessions.file} begins with "
                f"{beginning!r}; {suggest_sessions(beginning, known)}"
            )
    held_out = [name for name in known if name.startswith(sessions.held_out)]
    ranks = {name: rank for rank, name in enumerate(held_out)}
    return np.array([ranks.get(name, NOT_HELD_OUT) for name in names], dtype=np.int32)


def suggest_sessions(beginning: str, known: Sequence[str]) -> str:
    """Suggest the closest names of sessions for ``beginning``."""
    alike = sorted({name[: len(beginning)] for name in known})
    if len(alike) > config.BRIEF_CHARACTERS // 10:
        closest = suggest(beginning, alike)
        return closest if closest.startswith("did") else f"it names {known[0]} to {known[-1]}"
    return suggest(beginning, alike)


def take_last(
    unique: Mask, ranks: Ranks, sessions: SessionSplit, wanted: Collection[Split]
) -> dict[Split, Mask]:
    """Select the pairs of the sessions to hold out: the last unique ones.

    Args:
        unique: pairs whose sides occur nowhere else.
        ranks: of their sessions, in the order of the names.
        sessions: says how many pairs to take.
        wanted: "test", "validation", or both.

    Raises:
        CorpusError: if there are too few.
    """
    sizes: dict[Split, int] = {
        "test": sessions.test_pairs,
        "validation": sessions.validation_pairs,
    }
    places = np.flatnonzero(unique)
    places = places[np.argsort(ranks[places], kind="stable")]
    needed = sum(sizes[name] for name in wanted)
    if len(places) < needed:
        raise CorpusError(
            f"download.split.sessions: those held out hold {len(places):,} pairs that stand "
            f"nowhere else, fewer than the {needed:,} asked for; name more sessions, or ask for "
            f"fewer pairs"
        )
    taken: dict[Split, Mask] = {}
    for name in (name for name in ("test", "validation") if name in wanted):
        taken[name] = np.zeros(len(unique), dtype=np.bool_)
        taken[name][places[len(places) - sizes[name] :]] = True
        places = places[: len(places) - sizes[name]]
    return taken


def mark_unique(digests: Iterable[npt.NDArray[np.uint64]]) -> Mask:
    """Mark the rows whose digest is unique in every column."""
    marked: list[Mask] = []
    for column in digests:
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        marked.append(counts[places] == 1)
    return np.logical_and.reduce(marked)
