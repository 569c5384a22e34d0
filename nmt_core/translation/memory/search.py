"""Which units of a memory are most like a text: by rare terms they share, then by similarity."""

import sqlite3

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from nmt_core.translation.memory.index import bound_lengths, list_terms
from nmt_core.translation.memory.unit import MemoryMatch

MOST_ROWS = 3000
"""Units of a term, within the bounds of length, beyond which it is common and asked last."""

MOST_TERMS = 40
"""Terms of a text that are asked: its longest."""

MOST_COMMON = 2
"""Common terms that are asked where there is no rare one."""

CANDIDATES = 400
"""Units of a scope that share most terms with a text, and are compared with it."""

COUNT_UNITS = """
SELECT count(*) FROM (
    SELECT 1 FROM term WHERE scope = ? AND term = ? AND length BETWEEN ? AND ? LIMIT ?
)
"""
UNITS = """
SELECT * FROM (
    SELECT unit FROM term WHERE scope = ? AND term = ? AND length BETWEEN ? AND ? LIMIT ?
)
"""
MOST_SHARED = """
SELECT id, source, target, approved FROM unit JOIN (
    SELECT unit AS found, count(*) AS shared FROM ({units})
    GROUP BY unit ORDER BY shared DESC LIMIT ?
) ON id = found
"""


def search_units(
    connection: sqlite3.Connection,
    scope: int,
    source: str,
    *,
    threshold: float,
    most: int,
    approved: bool,
) -> list[MemoryMatch]:
    """Return the units of one scope most like a text; with ``approved``, none but those."""
    bounds = bound_lengths(len(source), threshold)
    rows = _find_candidates(connection, scope, list_terms(source)[:MOST_TERMS], bounds)
    sources = {number: text for number, text, _, is_approved in rows if is_approved or not approved}
    best = process.extract(
        source,
        sources,
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=threshold,
        limit=most,
    )
    known = {number: (target, bool(is_approved)) for number, _, target, is_approved in rows}
    return [MemoryMatch(text, known[at][0], score, known[at][1]) for text, score, at in best]


def _find_candidates(
    connection: sqlite3.Connection, scope: int, terms: list[int], bounds: tuple[int, int]
) -> list[tuple[int, str, str, int]]:
    """Return number, source, target and state of the units that share the most of a text's terms.

    Args:
        connection: to the memory.
        scope: whose units.
        terms: of the text.
        bounds: of the lengths of units.
    """
    counts = [
        (connection.execute(COUNT_UNITS, (scope, term, *bounds, MOST_ROWS)).fetchone()[0], term)
        for term in terms
    ]
    rare: list[int] = []
    rows = 0
    for count, term in sorted(counts):
        if count and (rows + count <= MOST_ROWS or len(rare) < MOST_COMMON):
            rare.append(term)
            rows += count
    if not rare:
        return []
    wanted = [value for term in rare for value in (scope, term, *bounds, MOST_ROWS)]
    query = MOST_SHARED.format(units=" UNION ALL ".join([UNITS] * len(rare)))
    return connection.execute(query, (*wanted, CANDIDATES)).fetchall()
