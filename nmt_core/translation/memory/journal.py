"""The journal of corrections: one JSON object per line, appended, and rewritten only to delete.

Several processes can append to one journal. Each opens the file again under a lock, because
deletion replaces the file. A line is on disk before the caller gets the confirmation. Reading needs
neither the lock nor a writable disk.
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
"""Mode of the file, which contains text of users."""

MAX_JOURNAL_BYTES = 2**30
"""Size in bytes from which a journal accepts no more suggestions."""

ID_CHARACTERS = 16

KEY_CHARACTERS = 16
"""Length of the prefix of an API key's digest that identifies the key."""

CorrectionVerdict = Literal["approved", "dropped"]
CorrectionStatus = Literal["suggested", "approved", "dropped"]


class Suggestion(Config):
    """A better translation of a text, suggested by a user."""

    languages: Languages
    """Languages of the text and of its translation."""
    source: str
    """The text, which may have several lines."""
    target: str
    """The corrected translation."""
    before: str = ""
    """The translation before the correction; empty if unknown."""
    key: str = ""
    """Prefix of the digest of the user's API key; empty without a key."""
    model: str = ""
    """Digest of the exported model that was served; empty without a model."""

    @field_validator("source", "target")
    @classmethod
    def _holds_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty")
        return text

    @property
    def id(self) -> str:
        """A digest of languages, text, correction and key; equal suggestions have equal ids."""
        fields = [*self.languages.codes, self.source, self.target, self.key]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:ID_CHARACTERS]


class SuggestedEntry(Suggestion):
    """A line of the journal with a suggestion."""

    event: Literal["suggested"] = "suggested"
    time: str
    """Time by the machine's clock; it does not define the order, because clocks can jump."""


class DecidedEntry(Config):
    """A line of the journal that approves or drops a correction."""

    event: CorrectionVerdict
    id: str
    reason: str = ""
    """Present in files of earlier versions."""
    time: str


JournalEntry = Annotated[SuggestedEntry | DecidedEntry, Field(discriminator="event")]
ENTRIES: TypeAdapter[SuggestedEntry | DecidedEntry] = TypeAdapter(JournalEntry)

JournalLine = tuple[int, bytes, SuggestedEntry | DecidedEntry]
"""The number of a line from 1, its bytes and its entry."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A suggestion and its status."""

    id: str
    suggestion: SuggestedEntry
    status: CorrectionStatus
    place: int
    """Number of the line that set the status; a later line is newer, regardless of clocks."""


class SelectedCorrection(NamedTuple):
    """A training pair from a correction."""

    source: str
    """Source line."""
    target: str
    """Target line."""
    id: str
    """Id of the correction in the journal."""


class CorrectionJournal:
    """The corrections of users in order of arrival; the first suggestion creates the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def suggest(self, *suggestions: Suggestion) -> list[str]:
        """Append all suggestions or none; return their ids when they are on disk.

        Raises:
            CorpusError: if the file is not a journal of this version.
            NmtError: if the disk or the journal is full; nothing is appended.
        """
        time = _read_clock()
        entries = [SuggestedEntry(**dict(each), time=time) for each in suggestions]
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) >= MAX_JOURNAL_BYTES:
                raise NmtError(
                    f"{self.path} has reached the limit of {MAX_JOURNAL_BYTES:,} bytes; export "
                    f"approved corrections with nmt corrections export, and start a new journal"
                )
            self._append(file, entries)
        return [each.id for each in suggestions]

    def decide(self, verdict: CorrectionVerdict, ids: Collection[str]) -> list[Correction]:
        """Approve or drop all corrections or none; return the updated corrections.

        Raises:
            ConfigError: if an id does not exist.
            CorpusError: if the file cannot be read.
            NmtError: if the disk is full; no correction is changed.
        """
        time, unique_ids = _read_clock(), dict.fromkeys(ids)
        entries = [DecidedEntry(event=verdict, id=i, time=time) for i in unique_ids]
        with self._opened() as file:
            existing = {entry.id for _, _, entry in self._parse()}
            if unknown := [each for each in unique_ids if each not in existing]:
                raise ConfigError(
                    f"{self.path} has no correction {unknown[0]!r}; run nmt corrections list to "
                    f"see the ids"
                )
            self._append(file, entries)
            return _fold(line for line in self._parse() if line[2].id in unique_ids)

    def read(self) -> list[Correction]:
        """Return all corrections, last changed last; an empty list if the file does not exist.

        Raises:
            CorpusError: if the file is not a journal of this version, or a line is damaged.
        """
        if not require_regular_file(self.path).exists():
            return []
        return sorted(_fold(self._parse()), key=lambda each: each.place)

    def check(self) -> None:
        """Check that the file is a journal, if it exists, by its first line.

        Raises:
            CorpusError: if it is not a journal of this version.
        """
        if require_regular_file(self.path).exists():
            with self.path.open("rb") as file:
                self._check_header(file)

    def delete(self, is_unwanted: Callable[[Correction], bool]) -> list[Correction]:
        """Rewrite the file without some corrections and their decisions; return them.

        Raises:
            CorpusError: if the file cannot be read.
            NmtError: if the disk is full; the file is not changed.
        """
        if not self.path.exists():
            return []
        with self._opened():
            deleted = [each for each in _fold(self._parse()) if is_unwanted(each)]
            ids = {each.id for each in deleted}
            if deleted:
                kept = (line for _, line, entry in self._parse() if entry.id not in ids)
                whole = files.whole_file(self.path, mode=PRIVATE)
                with whole as part, part.open("wb") as file:
                    file.writelines(chain([HEADER], kept))
        return deleted

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Yield the file under a lock, after repairing its end."""
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
        """Remove an incomplete last line, which a process left when it died."""
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
                "the last line of %s is incomplete; its %d bytes, which were never confirmed, are "
                "removed",
                self.path,
                size - end,
            )

    def _append(self, file: BinaryIO, entries: Sequence[SuggestedEntry | DecidedEntry]) -> None:
        """Append lines, and wait until they are on disk; on an error, restore the file."""
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
        """Raise a CorpusError if the first line has another format; it may be incomplete."""
        file.seek(0)
        first = file.read(len(HEADER))
        if not HEADER.startswith(first):
            raise CorpusError(
                f"{self.path} is not a journal of corrections of this version; give a journal of "
                f"nmt serve, or a new file"
            )

    def _parse(self) -> Iterator[JournalLine]:
        """Yield the lines after the header; an incomplete last line is ignored.

        Raises:
            CorpusError: if a line is damaged; the message contains no text of users.
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
                        f"or remove the line"
                    ) from None


def _read_clock() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _fold(lines: Iterable[JournalLine]) -> list[Correction]:
    """Return the corrections of journal lines, in the order of their first suggestions.

    A repeated suggestion is as new as its last line. A decision is valid until the next decision.
    """
    corrections: dict[str, Correction] = {}
    for number, _, entry in lines:
        existing = corrections.get(entry.id)
        if isinstance(entry, SuggestedEntry):
            if existing is None:
                corrections[entry.id] = Correction(entry.id, entry, "suggested", number)
            elif existing.status == "suggested":
                corrections[entry.id] = replace(existing, place=number)
        elif existing is not None:
            corrections[entry.id] = replace(existing, status=entry.event, place=number)
    return [*corrections.values()]


def select_corrections(
    corrections: Iterable[Correction], languages: Languages, *, undecided: bool = False
) -> Iterator[SelectedCorrection]:
    """Yield the valid correction of each source, in the order of suggestion or approval.

    The valid correction is the newest approved one. With ``undecided``, it is otherwise the newest
    suggested one. Dropped corrections are never valid. Line ends and other white space become
    single spaces, because a pair of parallel text is one line.
    """
    statuses = ("approved", "suggested") if undecided else ("approved",)
    newest: dict[str, tuple[int, SelectedCorrection]] = {}
    for each in sorted(corrections, key=lambda each: (each.status == "approved", each.place)):
        if each.suggestion.languages == languages and each.status in statuses:
            source, target = map(join_spaces, (each.suggestion.source, each.suggestion.target))
            newest[source] = each.place, SelectedCorrection(source, target, each.id)
    yield from (pair for _, pair in sorted(newest.values()))


def join_spaces(text: str) -> str:
    """Return a text in NFC with single spaces, the form that a memory compares."""
    return " ".join(unicodedata.normalize("NFC", text).split())
