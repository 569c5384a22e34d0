"""The journal of corrections: one JSON object a line, appended, and rewritten only to delete.

Several processes may append to one journal. Each reopens the file under a lock beside it, because
deleting replaces the file. A line is on the disk before the caller receives the confirmation.
Reading needs neither the lock nor a writable disk.
"""

import hashlib
import json
import logging
import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NamedTuple

from pydantic import Field, TypeAdapter, field_validator

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.files import require_regular_file
from nmt_core.base.languages import Languages

_log = logging.getLogger(__name__)

HEADER = b'{"format": "nmt corrections 1"}\n'
"""The first line of the file."""

PRIVATE = 0o600
"""Mode of the file: it holds text of users."""

MAX_JOURNAL_BYTES = 2**30
"""A journal of this length takes no more suggestions."""

ID_CHARACTERS = 16

KEY_CHARACTERS = 16
"""Characters of the digest of an API key that name it."""

CorrectionVerdict = Literal["approved", "dropped"]
CorrectionStatus = Literal["suggested", "approved", "dropped"]


class Suggestion(Config):
    """A better translation of a text, as a user gives it."""

    languages: Languages
    """Languages of the text and of its translation."""
    source: str
    """The text, of any number of lines."""
    target: str
    """The corrected translation."""
    before: str = ""
    """The translation that is corrected; empty if it is not known."""
    key: str = ""
    """Beginning of the digest of the user's API key; empty if nobody needs one."""
    model: str = ""
    """Digest of the exported model that was served then; empty if there was none."""

    @field_validator("source", "target")
    @classmethod
    def _holds_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must hold text, and is empty")
        return text

    @property
    def id(self) -> str:
        """A digest of languages, text, correction and key: equal for equal ones of a user."""
        fields = [*self.languages.codes, self.source, self.target, self.key]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:ID_CHARACTERS]


class SuggestedEntry(Suggestion):
    """A line of the journal: a suggestion came."""

    event: Literal["suggested"] = "suggested"
    time: str
    """When it came, by the clock of the machine: it orders nothing, since clocks jump."""


class DecidedEntry(Config):
    """A line of the journal: a correction was approved or dropped."""

    event: CorrectionVerdict
    id: str
    reason: str = ""
    """Written by earlier versions."""
    time: str


JournalEntry = Annotated[SuggestedEntry | DecidedEntry, Field(discriminator="event")]
ENTRIES: TypeAdapter[SuggestedEntry | DecidedEntry] = TypeAdapter(JournalEntry)

JournalLine = tuple[int, bytes, SuggestedEntry | DecidedEntry]
"""A line's number from 1, its bytes and its entry."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A suggestion, and what has become of it."""

    id: str
    suggestion: SuggestedEntry
    status: CorrectionStatus
    place: int
    """Number of the line that gave it its status: the later, the newer, whatever clocks said."""


class SelectedCorrection(NamedTuple):
    """A pair to learn from."""

    source: str
    """A line."""
    target: str
    """A line."""
    id: str
    """Number of the correction in the journal."""


class CorrectionJournal:
    """The corrections that users gave, in order of arrival; the first one makes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def suggest(self, *suggestions: Suggestion) -> list[str]:
        """Append suggestions, all or none; return their ids once they are on the disk.

        Raises:
            CorpusError: if the file is no journal of this version.
            NmtError: if there is no room; nothing was appended.
        """
        time = _read_clock()
        entries = [SuggestedEntry(**dict(each), time=time) for each in suggestions]
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) >= MAX_JOURNAL_BYTES:
                raise NmtError(
                    f"{self.path} holds {MAX_JOURNAL_BYTES:,} bytes, which is the limit; export "
                    f"approved corrections by nmt corrections export, and begin a new journal"
                )
            self._append(file, entries)
        return [each.id for each in suggestions]

    def decide(self, verdict: CorrectionVerdict, ids: Collection[str]) -> list[Correction]:
        """Approve or drop corrections, all or none; return them as they are then.

        Raises:
            ConfigError: if there is none of an id.
            CorpusError: if the file cannot be read.
            NmtError: if there is no room; nothing was decided.
        """
        time, decided = _read_clock(), dict.fromkeys(ids)
        entries = [DecidedEntry(event=verdict, id=i, time=time) for i in decided]
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

    def delete(self, is_unwanted: Callable[[Correction], bool]) -> list[Correction]:
        """Rewrite the file without some corrections and their decisions; return them.

        Raises:
            CorpusError: if the file cannot be read.
            NmtError: if there is no room; it is as it was.
        """
        if not self.path.exists():
            return []
        with self._opened():
            gone = [each for each in _fold(self._parse()) if is_unwanted(each)]
            ids = {each.id for each in gone}
            if gone:
                rest = (line for _, line, entry in self._parse() if entry.id not in ids)
                whole = files.whole_file(self.path, mode=PRIVATE)
                with whole as part, part.open("wb") as file:
                    file.writelines(chain([HEADER], rest))
        return gone

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Yield the file, which no other process changes meanwhile; repair its end first."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with files.locked(lock):
                is_new = not require_regular_file(self.path).exists()
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                with os.fdopen(os.open(self.path, flags, PRIVATE), "r+b", buffering=0) as file:
                    if is_new:
                        files.sync(self.path.parent)
                    self._repair(file)
                    yield file
        except OSError as error:
            raise files.disk_error(error, self.path) or error from None

    def _repair(self, file: BinaryIO) -> None:
        """Remove what follows the last line end: a process died before it was written whole."""
        size = end = file.seek(0, os.SEEK_END)
        newline = -1
        while end and newline < 0:
            end, stop = max(0, end - 2**16), end
            file.seek(end)
            newline = file.read(stop - end).rfind(b"\n")
        end += newline + 1
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
        content = memoryview(lines if size else HEADER + lines)
        try:
            while content:
                content = content[file.write(content) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise

    def _check_header(self, file: BinaryIO) -> None:
        """Raise a CorpusError if the first line is of another format; it may be cut off."""
        file.seek(0)
        first = file.read(len(HEADER))
        if not HEADER.startswith(first):
            raise CorpusError(
                f"{self.path} is no journal of corrections that this version reads; name one that "
                f"nmt serve wrote, or a new file"
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


def _read_clock() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _fold(lines: Iterable[JournalLine]) -> list[Correction]:
    """Return the corrections of journal lines, in the order of their first suggestions.

    A repeated suggestion is as new as its last line; a decision stays until the next decision.
    """
    corrections: dict[str, Correction] = {}
    for number, _, entry in lines:
        known = corrections.get(entry.id)
        if isinstance(entry, SuggestedEntry):
            if known is None:
                corrections[entry.id] = Correction(entry.id, entry, "suggested", number)
            elif known.status == "suggested":
                corrections[entry.id] = replace(known, place=number)
        elif known is not None:
            corrections[entry.id] = replace(known, status=entry.event, place=number)
    return [*corrections.values()]


def select_corrections(
    corrections: Iterable[Correction], languages: Languages, *, undecided: bool = False
) -> Iterator[SelectedCorrection]:
    """Yield the corrections that hold, in the order in which they were given or approved.

    Of several corrections of one source, the newest approved one holds, or with ``undecided`` else
    the newest suggested one; a dropped one never does. Line ends and other white space become
    single spaces, as parallel text needs.
    """
    statuses = ("approved", "suggested") if undecided else ("approved",)
    newest: dict[str, tuple[int, SelectedCorrection]] = {}
    for each in sorted(corrections, key=lambda each: (each.status == "approved", each.place)):
        if each.suggestion.languages == languages and each.status in statuses:
            source, target = map(join_spaces, (each.suggestion.source, each.suggestion.target))
            newest[source] = each.place, SelectedCorrection(source, target, each.id)
    yield from (pair for _, pair in sorted(newest.values()))


def join_spaces(text: str) -> str:
    """Return a text as a memory compares it: composed (NFC), its white space single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())
