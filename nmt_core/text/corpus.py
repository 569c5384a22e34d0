r"""Read and write parallel text: line N of one side translates line N of the other.

Bytes are split at ``\n`` alone, because a reader that also splits at U+2028 or U+0085 shifts every
pair after it. What is met on the way is counted; what cannot be trusted stops the reading, unless
the caller allows to drop it. Only one line per file is held in memory.
"""

import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from pydantic import model_validator

from nmt_core import files
from nmt_core.config import Config
from nmt_core.errors import CorpusError

MAX_LINE_BYTES = 100_000
"""A longer line is no sentence; it is never held in memory as a whole."""

Problem = Literal["invalid_utf8", "nul_character", "wrong_columns", "empty_side", "line_too_long"]

UNREADABLE: tuple[Problem, ...] = ("invalid_utf8", "nul_character", "wrong_columns")
"""Signs that a file is not what it is taken for."""

UNUSABLE: tuple[Problem, ...] = ("empty_side", "line_too_long")
"""What ordinary corpora hold and nobody can learn from."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INNER_LINE_BREAKS = re.compile("[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u200b\ufeff]")


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


class TextFiles(Config):
    """Where parallel text lies: two aligned files, or one TSV; each plain or ending in .gz."""

    source: Path
    """One sentence a line, or a .tsv whose first column is the source and second the target."""

    target: Path | None = None
    """Line N translates line N of ``source``; left out if ``source`` is a .tsv."""

    sha256: str = ""
    """Digest of what the files held when params.yaml was written, by which a change is noticed;
    empty trusts them. ``make repro`` fills it in."""

    @model_validator(mode="after")
    def _check(self) -> "TextFiles":
        if self.is_tsv and self.target is not None:
            raise ValueError(f"{self.source} holds both sides; leave target out")
        if not self.is_tsv and self.target is None:
            raise ValueError(f"target is missing; only a .tsv holds both sides, not {self.source}")
        return self

    @property
    def is_tsv(self) -> bool:
        """Tell whether one file holds both sides."""
        return self.source.name.lower().endswith((".tsv", ".tsv.gz"))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, source first."""
        return (self.source,) if self.target is None else (self.source, self.target)

    def digest(self) -> str:
        """Return the SHA-256 of the files' own digests, source first.

        Raises:
            CorpusError: if a file cannot be read.
        """
        try:
            digests = [files.sha256(path) for path in self.paths]
        except OSError as error:
            raise CorpusError(
                f"{error.filename} cannot be read ({error.strerror}); name your text in "
                f"download.corpus, as conf/data/files.yaml shows"
            ) from None
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    def check(self) -> None:
        """Make sure that the files hold what they held when they were pinned.

        Raises:
            CorpusError: if they do not.
        """
        if self.sha256 and self.digest() != self.sha256:
            names = " and ".join(map(str, self.paths))
            raise CorpusError(
                f"{names} changed since params.yaml was written; run 'make repro' or 'python -m "
                f"stages.configure' to take the change in"
            )


@dataclass
class Reading:
    """What was met while reading, in pairs dropped and lines repaired."""

    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)


class _BadLineError(Exception):
    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def raw_lines(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    r"""Yield the lines of a file, plain or .gz, without their ``\n``; None for one too long.

    Raises:
        CorpusError: if the file cannot be opened or is damaged.
    """
    try:
        with _opened(path) as file:
            while line := file.readline(max_line_bytes + 1):
                if len(line) <= max_line_bytes or line.endswith(b"\n"):
                    yield line.removesuffix(b"\n")
                    continue
                while line and not line.endswith(b"\n"):
                    line = file.readline(max_line_bytes)
                yield None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{path} is damaged ({error}); fetch or compress it again") from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> CorpusError:
    """Return what to tell a user whose file cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{path} does not exist; check the name and the folder")
    return CorpusError(f"{path} cannot be read: {error.strerror}")


def read_pairs(
    text: TextFiles,
    *,
    drop: Collection[Problem] = (),
    reading: Reading | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Pair]:
    """Yield the pairs of ``text`` in order; the lines keep every character they have, but for ends.

    A byte-order mark and the CR of CRLF are taken off, other line breaks inside a line become a
    space; both are counted in ``reading.repaired``.

    Args:
        text: the files.
        drop: problems for which a pair is left out and counted; any other stops the reading.
        reading: counts what was dropped and repaired.
        max_line_bytes: longest line that is looked at.

    Raises:
        CorpusError: naming file and line of a problem not in ``drop``, or both files and their
            numbers of lines if these differ.
    """
    reading = reading or Reading()
    for number, raw in enumerate(_rows(text, max_line_bytes), start=1):
        try:
            pair = _pair(text, raw, number, reading.repaired)
        except _BadLineError as bad:
            if bad.problem not in drop:
                raise CorpusError(str(bad)) from None
            reading.dropped[bad.problem] += 1
        else:
            yield pair


def write_pairs(pairs: Iterable[Pair], source: Path, target: Path) -> int:
    """Write parallel text; return the number of pairs. Both files appear whole or not at all.

    Raises:
        ValueError: if a line holds a line end, which would shift all pairs after it.
    """
    written = 0
    with (
        files.whole_file(source) as source_part,
        files.whole_file(target) as target_part,
        source_part.open("w", encoding="utf-8", newline="") as source_file,
        target_part.open("w", encoding="utf-8", newline="") as target_file,
    ):
        for pair in pairs:
            if "\n" in pair.source or "\n" in pair.target:
                raise ValueError(f"pair {written + 1} holds a line end: {pair!r}")
            source_file.write(f"{pair.source}\n")
            target_file.write(f"{pair.target}\n")
            written += 1
    return written


def _opened(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _rows(text: TextFiles, max_line_bytes: int) -> Iterator[tuple[bytes | None, ...]]:
    """Yield line N of every file; the files must end together."""
    end = b"\n"  # no line holds it
    columns = [raw_lines(path, max_line_bytes=max_line_bytes) for path in text.paths]
    rows = enumerate(zip_longest(*columns, fillvalue=end), start=1)
    for number, row in rows:
        if end in row:
            longer = number + sum(1 for _ in rows)
            lines = [number - 1 if raw == end else longer for raw in row]
            raise CorpusError(
                f"{text.paths[0]} has {lines[0]} lines but {text.paths[1]} has {lines[1]}; "
                f"line N of one must translate line N of the other"
            )
        yield row


def _pair(
    text: TextFiles, row: tuple[bytes | None, ...], number: int, repaired: Counter[str]
) -> Pair:
    places = [f"{path} line {number}" for path in text.paths]
    lines = [_decode(raw, number, at, repaired) for raw, at in zip(row, places, strict=True)]
    if text.is_tsv:
        lines = lines[0].split("\t")
        if len(lines) != len(Pair._fields):
            raise _BadLineError(
                "wrong_columns",
                f"{places[0]} has {len(lines)} columns, needs 2: source, tab, target; "
                f"repair it or set on_bad_line to drop",
            )
        places = [f"{places[0]} column {column}" for column in (1, 2)]
    for line, at in zip(lines, places, strict=True):
        if not _VISIBLE.search(line):
            raise _BadLineError(
                "empty_side", f"{at} is empty; fill or remove the pair, or set on_bad_line to drop"
            )
    return Pair(*lines)


def _decode(raw: bytes | None, number: int, at: str, repaired: Counter[str]) -> str:
    if raw is None:
        raise _BadLineError(
            "line_too_long",
            f"{at} is too long for a sentence; split it, or set on_bad_line to drop",
        )
    if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
        repaired["byte_order_mark"] += 1
    if raw.endswith(b"\r"):
        raw = raw.removesuffix(b"\r")
        repaired["crlf"] += 1
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _BadLineError(
            "invalid_utf8",
            f"{at} is not UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1}); "
            f"convert the file to UTF-8, or set on_bad_line to drop",
        ) from None
    if "\0" in line:
        raise _BadLineError(
            "nul_character",
            f"{at} holds a NUL character, which text never does; "
            f"repair the file, or set on_bad_line to drop",
        )
    line, breaks = _INNER_LINE_BREAKS.subn(" ", line)
    if breaks:
        repaired["inner_line_break"] += breaks
    return line
