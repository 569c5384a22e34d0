"""A translation memory in one SQLite file: units by language pair, project and user key.

Each scope has its own index, so that scopes do not affect each other's results. Readers never wait
for a writer, and no text of a deleted unit remains in the file.
"""

import errno
import hashlib
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.base.files import require_regular_file
from nmt_core.base.languages import Languages
from nmt_core.translation.memory.journal import Correction, join_spaces
from nmt_core.translation.memory.search import THRESHOLD, MemoryMatch, list_terms, search_units

APPLICATION_ID = 0x6E6D746D
"""SQLite's application id of the file, "nmtm"."""

READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors after which a file can perhaps be opened for reading only."""

MEMORY_VERSION = 1
PORTION_UNITS = 50_000
"""Units per transaction; their terms are sorted, so that the index grows in order."""

SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {MEMORY_VERSION};
CREATE TABLE scope (
    id INTEGER PRIMARY KEY, source TEXT, target TEXT, project TEXT, key TEXT,
    UNIQUE (source, target, project, key)
);
CREATE TABLE unit (
    id INTEGER PRIMARY KEY, scope INTEGER, digest INTEGER, source TEXT, target TEXT,
    approved INTEGER, origin TEXT, time TEXT,
    UNIQUE (scope, digest)
);
CREATE INDEX unit_origin ON unit (origin) WHERE origin <> '';
CREATE TABLE term (
    scope INTEGER, term INTEGER, length INTEGER, unit INTEGER,
    PRIMARY KEY (scope, term, length, unit)
) WITHOUT ROWID;
"""

PUT = """
INSERT INTO unit (scope, digest, source, target, approved, origin, time)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, digest) DO UPDATE
SET target = excluded.target, approved = excluded.approved, origin = excluded.origin,
    time = excluded.time
RETURNING id
"""


class MemoryScope(NamedTuple):
    """The languages, project and user of some units."""

    languages: Languages
    project: str = ""
    """Name of the project; empty for no project."""
    key: str = ""
    """Prefix of the digest of a user's API key; empty for units of everybody."""


class MemoryUnit(NamedTuple):
    """A source and its approved translation."""

    source: str
    target: str
    origin: str = ""
    """Id of the correction that the unit comes from, or empty."""


class TranslationMemory:
    """Approved translations by source, in a SQLite file, which is created if it does not exist.

    Raises:
        CorpusError: if the file is not a memory of this version.
        NmtError: if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = require_regular_file(path)
        self._local = threading.local()
        with _explained(path):
            _open(path, flags=os.O_CREAT).close()

    def put(self, scope: MemoryScope, units: Iterable[MemoryUnit]) -> int:
        """Store approved units; return their number.

        A unit replaces an existing unit of the same source.

        Raises:
            NmtError: if the disk is full; the last portion is not stored.
        """
        remaining, count = iter(units), 0
        while portion := [*islice(remaining, PORTION_UNITS)]:
            with self._connected() as connection:
                count += _put(connection, scope, portion)
        self._empty_log()
        return count

    def find_exact(self, text: str, scope: MemoryScope) -> MemoryMatch | None:
        """Return the approved unit of a text, or None; own units take precedence over shared."""
        source = join_spaces(text)
        with self._connected() as connection:
            for number, *_ in _list_visible(connection, scope):
                row = connection.execute(
                    "SELECT target FROM unit WHERE scope = ? AND digest = ? AND source = ? "
                    "AND approved",
                    (number, _digest(source), source),
                ).fetchone()
                if row:
                    return MemoryMatch(source, row[0], 1.0)
        return None

    def search(
        self, text: str, scope: MemoryScope, *, threshold: float = THRESHOLD, most: int = 3
    ) -> list[MemoryMatch]:
        """Return at most ``most`` visible units of at least a similarity, most similar first."""
        source = join_spaces(text)
        with self._connected() as connection:
            matches = [
                match
                for number, *_ in _list_visible(connection, scope)
                for match in search_units(connection, number, source, threshold, most)
            ]
        best: dict[tuple[str, str], MemoryMatch] = {}
        for match in sorted(matches, key=lambda each: -each.score):
            best.setdefault(match[:2], match)
        return [*best.values()][:most]

    def read(self, scope: MemoryScope) -> Iterator[MemoryUnit]:
        """Yield the approved units of a scope in order of arrival."""
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT source, target, origin FROM unit WHERE scope = ? AND approved ORDER BY id",
                (_find_scope(connection, scope),),
            )
            yield from map(MemoryUnit._make, rows)

    def delete(self, *, key: str = "", origins: Collection[str] = ()) -> int:
        """Delete the units of a key and of some corrections; return their number.

        No text of a deleted unit remains in the file.
        """
        with self._connected() as connection:
            query = "SELECT id, scope, source FROM unit WHERE origin = ? AND origin <> ''"
            rows = [row for origin in origins for row in connection.execute(query, (origin,))]
            for number, scope, source in rows:
                connection.executemany(
                    "DELETE FROM term WHERE scope = ? AND term = ? AND length = ? AND unit = ?",
                    [(scope, term, len(source), number) for term in list_terms(source)],
                )
                connection.execute("DELETE FROM unit WHERE id = ?", (number,))
            count = len(rows)
            scopes = connection.execute("SELECT id FROM scope WHERE key = ? AND key <> ''", (key,))
            for (scope,) in scopes.fetchall():
                connection.execute("DELETE FROM term WHERE scope = ?", (scope,))
                count += connection.execute("DELETE FROM unit WHERE scope = ?", (scope,)).rowcount
                connection.execute("DELETE FROM scope WHERE id = ?", (scope,))
        self._empty_log()
        return count

    def remember(self, corrections: Iterable[Correction], *, shared: bool) -> int:
        """Store approved corrections, the newest last; return their number.

        If ``shared``, everybody gets them; otherwise, only users of the key that suggested them.
        """
        units: dict[MemoryScope, list[MemoryUnit]] = {}
        for each in sorted(corrections, key=lambda correction: correction.place):
            if each.status == "approved":
                pair = each.suggestion
                scope = MemoryScope(pair.languages, key="" if shared else pair.key)
                units.setdefault(scope, []).append(MemoryUnit(pair.source, pair.target, each.id))
        return sum(self.put(scope, scope_units) for scope, scope_units in units.items())

    def _empty_log(self) -> None:
        """Move all changes from the write-ahead log into the file."""
        with self._connected() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield this thread's connection in a transaction; reopen the file if it was replaced."""
        with _explained(self.path):
            try:
                status = self.path.stat()
            except FileNotFoundError:
                raise CorpusError(
                    f"{self.path} was removed; restore it, or restart without --memory"
                ) from None
            file = (status.st_dev, status.st_ino)
            if getattr(self._local, "file", None) != file:
                self._local.connection, self._local.file = _open(self.path), file
            with self._local.connection as connection:
                yield connection


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert errors of SQLite to messages without text of users."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
    else:
        return
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
        raise NmtError(
            f"{path} could not be written ({name}); free disk space, or make it writable"
        )
    if name.startswith("SQLITE_BUSY"):
        raise NmtError(f"{path} is being written by another program; try again when it is done")
    raise CorpusError(
        f"{path} is damaged, or not a translation memory ({name}); give a memory that nmt memory "
        f"import wrote, or a new file"
    )


def _open(path: Path, flags: int = 0) -> sqlite3.Connection:
    """Open a memory, read-only if it cannot be written; ``O_CREAT`` creates a missing file.

    Raises:
        CorpusError: if the file is not a memory of this version.
    """
    mode = "rwc"
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600))
    except OSError as error:
        if error.errno not in READ_ONLY or not path.exists():
            raise
        mode = "ro&immutable=1"  # without locks, for a read-only volume
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, timeout=30, uri=True)
    try:
        if mode != "rwc":
            _check_version(connection, path)
            return connection
        connection.execute("PRAGMA secure_delete = ON")
        count = "SELECT count(*) FROM sqlite_master"
        if connection.execute(count).fetchone() == (0,):
            connection.execute("BEGIN IMMEDIATE")  # another process may create it, too
            if connection.execute(count).fetchone() == (0,):
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
            connection.commit()
        _check_version(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA mmap_size = 2147483648")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) != (APPLICATION_ID, MEMORY_VERSION):
        raise CorpusError(
            f"{path} is not a translation memory of version {MEMORY_VERSION}; give a memory that "
            f"nmt memory import wrote, or a new file"
        )


def _digest(source: str) -> int:
    digest = hashlib.blake2b(source.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _find_scope(connection: sqlite3.Connection, scope: MemoryScope) -> int | None:
    exact = [number for number, *name in _list_visible(connection, scope) if name == [*scope[1:]]]
    return exact[0] if exact else None


def _list_visible(connection: sqlite3.Connection, scope: MemoryScope) -> list[tuple[int, str, str]]:
    """Return number, project and key of the scopes visible to a user, the closest first."""
    return connection.execute(
        "SELECT id, project, key FROM scope WHERE source = ? AND target = ? "
        "AND project IN (?, '') AND key IN (?, '') ORDER BY key = '', project = ''",
        (*scope.languages.codes, scope.project, scope.key),
    ).fetchall()


def _put(connection: sqlite3.Connection, scope: MemoryScope, units: Collection[MemoryUnit]) -> int:
    connection.execute(
        "INSERT OR IGNORE INTO scope (source, target, project, key) VALUES (?, ?, ?, ?)",
        (*scope.languages.codes, scope.project, scope.key),
    )
    number, time = _find_scope(connection, scope), datetime.now(UTC).isoformat(timespec="seconds")
    terms, count = [], 0
    for unit in units:
        source, target = join_spaces(unit.source), join_spaces(unit.target)
        if not source or not target:
            continue
        count += 1
        values = (number, _digest(source), source, target, True, unit.origin, time)
        for (row,) in connection.execute(PUT, values).fetchall():
            terms += [(number, term, len(source), row) for term in list_terms(source)]
    terms.sort()
    connection.executemany("INSERT OR IGNORE INTO term VALUES (?, ?, ?, ?)", terms)
    return count
