"""The journal of corrections: one JSON object a line, appended, and rewritten only to delete.

Several processes may append to one journal. Each reopens the file under a lock beside it, because
deleting replaces the file. A line is on the disk before the caller receives the confirmation.
Reading needs neither the lock nor a writable disk.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError, DiskError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import require_regular_file
from nmt_core.translation.memory.correction import (
    ENTRIES,
    Correction,
    CorrectionVerdict,
    DecidedEntry,
    SuggestedEntry,
    Suggestion,
)

_log = logging.getLogger(__name__)

JOURNAL_FORMAT = "nmt corrections 1"
"""What the first line says."""

PRIVATE = 0o600
"""Mode of the file: it holds text of users."""

MOST_JOURNAL_BYTES = 2**30
"""A journal that is as long takes no more suggestions."""


JournalLine = tuple[int, bytes, SuggestedEntry | DecidedEntry]
"""A line's number from 1, its bytes and its entry."""


class CorrectionJournal:
    """The corrections that users gave, in the order in which they came.

    The first suggestion makes the file; beyond ``most_bytes`` suggestions are refused.
    """

    def __init__(self, path: Path, *, most_bytes: int = MOST_JOURNAL_BYTES) -> None:
        self.path = path
        self.most_bytes = most_bytes

    def suggest(self, *suggestions: Suggestion) -> list[str]:
        """Append suggestions, all or none; return their ids once they are on the disk.

        Raises:
            CorpusError: if the file is no journal of this version.
            DiskError: if there is no room; nothing was appended.
        """
        time = _tell_time()
        entries = [SuggestedEntry(**dict(each), time=time) for each in suggestions]
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) >= self.most_bytes:
                raise DiskError(
                    f"{self.path} holds {self.most_bytes:,} bytes, which is as many as it may; "
                    f"export what is wanted of it by nmt corrections export, and begin a new one"
                )
            self._append(file, entries)
        return [each.id for each in suggestions]

    def decide(
        self, verdict: CorrectionVerdict, ids: Collection[str], *, reason: str = ""
    ) -> list[Correction]:
        """Approve or drop corrections, all or none; return them as they are then.

        Raises:
            ConfigError: if there is none of an id.
            CorpusError: if the file cannot be read.
            DiskError: if there is no room; nothing was decided.
        """
        time, decided = _tell_time(), dict.fromkeys(ids)
        entries = [DecidedEntry(event=verdict, id=i, reason=reason, time=time) for i in decided]
        with self._opened() as file:
            known = {entry.id for _, _, entry in self._parse()}
            if unknown := [each for each in decided if each not in known]:
                raise ConfigError(
                    f"{self.path} holds no correction {unknown[0]!r}; nmt corrections list shows "
                    f"those that it holds"
                )
            self._append(file, entries)
            return _fold(line for line in self._parse() if line[2].id in decided)

    def read(self) -> list[Correction]:
        """Return all corrections, the newest decision or suggestion last; none without a file.

        Raises:
            CorpusError: if the file is no journal of this version, or a line of it is damaged.
        """
        if not require_regular_file(self.path).exists():
            return []
        return sorted(_fold(self._parse()), key=lambda each: each.place)

    def check(self) -> None:
        """Make sure that the file, if there is one, is a journal; only its first line is read.

        Raises:
            CorpusError: if it is another file.
        """
        if require_regular_file(self.path).exists():
            with self.path.open("rb") as file:
                self._check_header(file)

    def delete(self, wanted: Callable[[Correction], bool]) -> list[Correction]:
        """Rewrite the file without some corrections and their decisions; return them.

        Raises:
            CorpusError: if the file cannot be read.
            DiskError: if there is no room; it is as it was.
        """
        if not self.path.exists():
            return []
        with self._opened():
            gone = [each for each in _fold(self._parse()) if wanted(each)]
            ids = {each.id for each in gone}
            if gone:
                rest = (line for _, line, entry in self._parse() if entry.id not in ids)
                whole = files.whole_file(self.path, mode=PRIVATE)
                with whole as part, part.open("wb") as file:
                    file.writelines(chain([_HEADER], rest))
        return gone

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Yield the file, which no other process changes meanwhile; repair its end first."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with files.locked(lock):
                made = not require_regular_file(self.path).exists()
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                with os.fdopen(os.open(self.path, flags, PRIVATE), "r+b", buffering=0) as file:
                    if made:
                        files.sync(self.path.parent)
                    self._repair(file)
                    yield file
        except OSError as error:
            raise files.disk_error(error, self.path) or error from None

    def _repair(self, file: BinaryIO) -> None:
        """Take off what follows the last line end: a process died before it was written whole."""
        size = end = file.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - 2**16)
            file.seek(begin)
            block = file.read(end - begin)
            newline = block.rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
        if end < size:
            file.truncate(end)
            os.fsync(file.fileno())
            _log.warning(
                "the last line of %s was cut off in the middle of writing; its %d bytes, which "
                "were not confirmed to anybody, are removed",
                self.path,
                size - end,
            )

    def _append(self, file: BinaryIO, entries: Sequence[SuggestedEntry | DecidedEntry]) -> None:
        """Append lines, and wait until they are on the disk; else leave the file as it was."""
        size = file.seek(0, os.SEEK_END)
        self._check_header(file)
        lines = b"".join(entry.model_dump_json().encode() + b"\n" for entry in entries)
        content = memoryview(lines if size else _HEADER + lines)
        try:
            while content:
                content = content[file.write(content) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise

    def _check_header(self, file: BinaryIO) -> None:
        """Raise a CorpusError if the file has a first line, and one of another format."""
        file.seek(0)
        first, newline, _ = file.read(len(_HEADER) + 100).partition(b"\n")
        if first + newline == _HEADER or (not newline and _HEADER.startswith(first)):
            return  # or a process died while it wrote the first line
        try:
            known = json.loads(first)["format"]
        except (ValueError, TypeError, KeyError):
            raise CorpusError(
                f"{self.path} is no journal of corrections; name one that nmt serve wrote, or a "
                f"new file"
            ) from None
        raise CorpusError(
            f"{self.path} has format {str(known)[:40]!r}, but this program reads format "
            f"{JOURNAL_FORMAT!r}; install the version of nmt that wrote it"
        )

    def _parse(self) -> Iterator[JournalLine]:
        """Yield the lines after the first; one that is being written, without an end, is left out.

        Raises:
            CorpusError: naming the line that is damaged, but nothing of its text.
        """
        with self.path.open("rb") as file:
            self._check_header(file)
            file.seek(0)
            for number, line in enumerate(file, start=1):
                if number == 1 or not line.endswith(b"\n"):
                    continue
                try:
                    yield number, line, ENTRIES.validate_json(line)
                except ValueError:
                    raise CorpusError(
                        f"line {number} of {self.path} is damaged; restore the file from a backup, "
                        f"or take the line out"
                    ) from None


_HEADER = json.dumps({"format": JOURNAL_FORMAT}).encode() + b"\n"


def _tell_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _fold(lines: Iterable[JournalLine]) -> list[Correction]:
    """Return the corrections that lines tell of, in the order of their first ones."""
    corrections: dict[str, Correction] = {}
    fields, pairs = set(Suggestion.model_fields), dict[tuple[str, str], Languages]()
    for number, _, entry in lines:
        known = corrections.get(entry.id)
        if isinstance(entry, DecidedEntry):
            if known is not None:
                corrections[entry.id] = replace(
                    known, status=entry.event, place=number, reason=entry.reason
                )
        elif known is None:
            values = {name: getattr(entry, name) for name in fields}
            pair = values["languages"]
            shared = {
                "languages": pairs.setdefault(pair.codes, pair),
                "key": sys.intern(values["key"]),
                "model": sys.intern(values["model"]),
            }
            suggestion = Suggestion.model_construct(fields, **values | shared)
            corrections[entry.id] = Correction(
                entry.id, suggestion, "suggested", number, entry.time
            )
        else:
            place = number if known.status == "suggested" else known.place
            corrections[entry.id] = replace(known, place=place, times=known.times + 1)
    return [*corrections.values()]
