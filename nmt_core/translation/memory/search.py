"""Find the units most similar to a text: by shared rare terms, then by edit distance.

The terms of a text are its words and, if it is short, pairs of adjacent words. In scripts without
spaces, terms are pairs of characters. Similar texts share most of their terms and have about the
same length. SQLite's FTS5 is not used: before version 3.42, it leaves deleted text in the file.
"""

import sqlite3
import zlib
from itertools import chain, pairwise
from typing import Literal, NamedTuple

import regex
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

THRESHOLD = 0.75
"""Minimum similarity of a match."""

SPACELESS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
WORD = regex.compile(rf"(?<spaceless>{SPACELESS}+)|\p{{Alphabetic}}+|\p{{N}}+")

PIECE = regex.compile(r"\s+|[\p{L}\p{M}\p{N}_]+|.", regex.DOTALL)
"""Words, spaces and punctuation marks, the units of a difference."""

SHORT_WORDS = 12
"""Maximum words of a text that is also indexed by pairs of words."""

HASH_OFFSET = 1 << 31
"""Subtracted from 32-bit hashes, so that SQLite stores them in four bytes."""

MAX_TERM_UNITS = 3000
"""Maximum units of all rare terms together, within the bounds of length."""

MAX_TERMS = 40
"""Maximum terms of a text to look up, the longest first."""

MAX_COMMON_TERMS = 2
"""Minimum number of terms to look up, even if they are common."""

MAX_CANDIDATES = 400
"""Maximum units of a scope whose edit distance is computed, those with most shared terms."""

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
    """A unit of a memory whose source is similar or equal to a text."""

    source: str
    target: str
    score: float
    """Similarity of the source and the text, from 0 to 1."""


def list_terms(text: str) -> list[int]:
    """Return distinct hashes of a text's terms, the longest first, because they are rare."""
    words: list[str] = []
    for match in WORD.finditer(text.casefold()):
        run = match[0]
        pairs = [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        words += pairs if match["spaceless"] else [run]
    terms = words or [text]  # a text of punctuation marks
    if len(terms) <= SHORT_WORDS:
        terms = [*terms, *map(" ".join, pairwise(["", *terms, ""]))]
    ordered = sorted(terms, key=len, reverse=True)
    return [*dict.fromkeys(zlib.crc32(term.encode()) - HASH_OFFSET for term in ordered)]


def bound_lengths(length: int, threshold: float) -> tuple[int, int]:
    """Return the minimum and maximum length of a text whose similarity can reach a threshold.

    The similarity is 1 minus the number of edits (insertions, deletions and substitutions of
    characters) divided by the length of the longer text.
    """
    return int(length * threshold), int(length / threshold) + 1


def search_units(
    connection: sqlite3.Connection, scope: int, source: str, threshold: float, most: int
) -> list[MemoryMatch]:
    """Return at most ``most`` approved units of a scope, the most similar first."""
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
    """Return source and target of the approved units that share most terms with a text."""
    bounds = bound_lengths(len(source), threshold)
    counts = [
        (connection.execute(f"SELECT count(*) FROM ({UNITS})", values).fetchone()[0], values)  # noqa: S608 - no value is in it
        for values in ((scope, t, *bounds, MAX_TERM_UNITS) for t in list_terms(source)[:MAX_TERMS])
    ]
    rare: list[tuple[int, ...]] = []
    rows = 0
    for count, values in sorted(counts):
        if count and (rows + count <= MAX_TERM_UNITS or len(rare) < MAX_COMMON_TERMS):
            rare.append(values)
            rows += count
    if not rare:
        return []
    query = MOST_SHARED.format(units=" UNION ALL ".join([UNITS] * len(rare)))
    return connection.execute(query, (*chain.from_iterable(rare), MAX_CANDIDATES)).fetchall()


def list_differences(old: str, new: str) -> list[tuple[Literal["same", "old", "new"], str]]:
    """Return the word-level difference of two texts, as spans of both, the old or the new text."""
    before, after = PIECE.findall(old), PIECE.findall(new)
    spans: list[tuple[Literal["same", "old", "new"], str]] = []
    for step in Levenshtein.opcodes(before, after):
        removed = "".join(before[step.src_start : step.src_end])
        added = "".join(after[step.dest_start : step.dest_end])
        spans += [("same", removed)] if step.tag == "equal" else [("old", removed), ("new", added)]
    return [(kind, text) for kind, text in spans if text]


def format_differences(old: str, new: str) -> str:
    """Return the new text with removed parts as ``[-old-]`` and added parts as ``{+new+}``."""
    marks = {"same": "{}", "old": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(marks[kind].format(text) for kind, text in list_differences(old, new))
