"""Find the units most like a text: by rare terms that they share, then by similarity.

A text is indexed by its words and, if it is short, by pairs of adjacent words; scripts without
spaces by pairs of characters. Similar texts share most of them, and are about equally long. FTS5
of SQLite is not used, since before version 3.42 it leaves deleted text in the file.
"""

import sqlite3
import zlib
from itertools import chain, pairwise
from typing import Literal, NamedTuple

import regex
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

THRESHOLD = 0.75
"""Similarity from which a unit is offered."""

SPACELESS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
WORD = regex.compile(rf"(?<spaceless>{SPACELESS}+)|\p{{Alphabetic}}+|\p{{N}}+")

PIECE = regex.compile(r"\s+|[\p{L}\p{M}\p{N}_]+|.", regex.DOTALL)
"""Words, spaces and signs, by which texts are compared."""

SHORT_WORDS = 12
"""A text of at most this many words is indexed by pairs of words, too."""

HALF = 1 << 31
"""Makes a hash of 32 bits one that SQLite keeps in four bytes; few of a million terms share one."""

MAX_BATCH_ROWS = 3000
"""Units of a term, within the bounds of length, beyond which it is common and looked up last."""

MOST_TERMS = 40
"""Limit of terms of a text that are looked up: its longest."""

MOST_COMMON = 2
"""Limit of common terms that are looked up if there is no rare one."""

CANDIDATES = 400
"""Units of a scope that share most terms with a text, and are compared with it."""

UNITS = """
SELECT * FROM (
    SELECT unit FROM term WHERE scope = ? AND term = ? AND length BETWEEN ? AND ? LIMIT ?
)
"""
MOST_SHARED = """
SELECT source, target FROM unit JOIN (
    SELECT unit AS number, count(*) AS shared FROM ({units})
    GROUP BY unit ORDER BY shared DESC LIMIT ?
) ON id = number WHERE approved
"""


class MemoryMatch(NamedTuple):
    """A remembered pair that is like a text, or is its translation."""

    source: str
    target: str
    score: float
    """Similarity of its source and the text, from 0 to 1."""


def list_terms(text: str) -> list[int]:
    """Return hashes of the terms of a text, each once, the longest first, which are rare."""
    words: list[str] = []
    for match in WORD.finditer(text.casefold()):
        run = match[0]
        pairs = [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        words += pairs if match["spaceless"] else [run]
    terms = words or [text]  # or signs alone
    if len(terms) <= SHORT_WORDS:
        terms = [*terms, *map(" ".join, pairwise(["", *terms, ""]))]
    ordered = sorted(terms, key=len, reverse=True)
    return [*dict.fromkeys(zlib.crc32(term.encode()) - HALF for term in ordered)]


def bound_lengths(length: int, threshold: float) -> tuple[int, int]:
    """Return the least and greatest length of a text that may be as similar as a threshold.

    The similarity is 1 less the edits (insertions, deletions and substitutions of characters) as a
    share of the longer text.
    """
    return int(length * threshold), int(length / threshold) + 1


def search_units(
    connection: sqlite3.Connection, scope: int, source: str, threshold: float, most: int
) -> list[MemoryMatch]:
    """Return the approved units of one scope most like a text."""
    rows = _find_candidates(connection, scope, source, threshold)
    best = process.extract(
        source,
        [row[0] for row in rows],
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=threshold,
        limit=most,
    )
    return [MemoryMatch(text, rows[index][1], score) for text, score, index in best]


def _find_candidates(
    connection: sqlite3.Connection, scope: int, source: str, threshold: float
) -> list[tuple[str, str]]:
    """Return source and target of the approved units that share the most of a text's terms."""
    bounds = bound_lengths(len(source), threshold)
    counts = [
        (connection.execute(f"SELECT count(*) FROM ({UNITS})", values).fetchone()[0], values)  # noqa: S608 - no value is in it
        for values in ((scope, t, *bounds, MAX_BATCH_ROWS) for t in list_terms(source)[:MOST_TERMS])
    ]
    rare: list[tuple[int, ...]] = []
    rows = 0
    for count, values in sorted(counts):
        if count and (rows + count <= MAX_BATCH_ROWS or len(rare) < MOST_COMMON):
            rare.append(values)
            rows += count
    if not rare:
        return []
    query = MOST_SHARED.format(units=" UNION ALL ".join([UNITS] * len(rare)))
    return connection.execute(query, (*chain.from_iterable(rare), CANDIDATES)).fetchall()


def list_differences(old: str, new: str) -> list[tuple[Literal["same", "old", "new"], str]]:
    """Return the parts of two texts, word by word: both have the same ones, one has the others."""
    before, after = PIECE.findall(old), PIECE.findall(new)
    parts: list[tuple[Literal["same", "old", "new"], str]] = []
    for step in Levenshtein.opcodes(before, after):
        own = "".join(before[step.src_start : step.src_end])
        other = "".join(after[step.dest_start : step.dest_end])
        parts += [("same", own)] if step.tag == "equal" else [("old", own), ("new", other)]
    return [(kind, text) for kind, text in parts if text]


def format_differences(old: str, new: str) -> str:
    """Return the new text, with parts of the old one alone ``[-so-]``, its own ``{+so+}``."""
    marks = {"same": "{}", "old": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(marks[kind].format(text) for kind, text in list_differences(old, new))
