r"""Read and write parallel text: line N of one side translates line N of the other.

Lines are split only at ``\n``, because a reader that also splits at U+2028 or U+0085 shifts all
later pairs. Problems are counted; a serious problem raises an error or drops the pair.
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, Self

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.files import (
    UTF16_ADVICE,
    decode_utf8,
    looks_like_utf16,
    refuse_utf16,
    require_regular_file,
)
from nmt_core.base.jobs import Job, LineSpan, split_file
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    BLOCK_BYTES,
    MAX_LINE_BYTES,
    explain_damage,
    is_compressed,
    open_raw,
    read_bounded_lines,
)
from nmt_core.corpora.formats.opening import open_units
from nmt_core.corpora.formats.paired_units import PairedUnits, RowPlace
from nmt_core.corpora.repairs import RepairName, repair_line
from nmt_core.text.normalize import INVISIBLE

Problem = Literal["invalid_utf8", "nul_character", "wrong_columns", "empty_side", "line_too_long"]

DAMAGED: tuple[Problem, ...] = ("invalid_utf8", "nul_character", "wrong_columns")
"""Problems that indicate a damaged file or a wrong format."""

UNUSABLE: tuple[Problem, ...] = ("empty_side", "line_too_long")
"""Problems of single pairs in ordinary corpora."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INNER_LINE_BREAKS = re.compile("[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_LINE_ENDS = re.compile("\r\n|\n|\r")
_VISIBLE = re.compile(rf"[^\s{INVISIBLE}]")


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class Text:
    """Parallel text to read."""

    parts: tuple[tuple[Path, ...], ...]
    """For each part, two aligned files, source first, or one file with both sides."""
    drop: tuple[Problem, ...] = ()
    """Problems for which a pair is dropped and counted; other problems raise an error."""
    languages: Languages | None = None
    """Languages of a file with both sides; None for a plain TSV."""


@dataclass(frozen=True)
class PairRows(Job):
    """Corresponding lines of two aligned files, or lines of a TSV."""

    names: tuple[Path, ...]
    """The original files for messages; ``spans`` may refer to uncompressed copies."""
    place: RowPlace
    """Description of row numbers for messages."""

    def __str__(self) -> str:
        first = self.place.name(self.spans[0].first)
        last = self.spans[0].first + self.spans[0].lines - 1 + self.place.before
        return f"{' and '.join(map(str, self.names))} {first} to {last}"

    def cut_files(self, lines: int) -> Iterator[Self]:
        """Yield parts of ``lines`` rows of the whole files to which these rows belong."""
        columns = (split_file(span.path, lines) for span in self.spans)
        return (replace(self, spans=spans) for spans in zip(*columns, strict=True))


@dataclass
class CorpusReading:
    """Counts of dropped pairs, repaired lines and notices."""

    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    """Numbers of notices, such as header rows, by name."""

    def add(self, other: "CorpusReading") -> None:
        """Add the counts of another reading."""
        self.dropped.update(other.dropped)
        self.repaired.update(other.repaired)
        self.noticed.update(other.noticed)


class _BadLineError(Exception):
    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def cut_rows(text: Text, lines: int, *, scratch: Path) -> list[PairRows]:
    """Return parts of text with at most ``lines`` rows.

    Copies of compressed files and of other formats are written to ``scratch``.

    Raises:
        CorpusError: if a file cannot be read or lacks a language, or aligned files have different
            numbers of lines.
    """
    return list(
        chain.from_iterable(_cut(paths, lines, text.languages, scratch) for paths in text.parts)
    )


def read_pairs(
    rows: PairRows,
    *,
    drop: Collection[Problem],
    reading: CorpusReading,
    repair: Collection[RepairName] = (),
) -> Iterator[tuple[int, Pair]]:
    """Yield row numbers, from 1, and their pairs.

    A byte order mark and the CR of CRLF are removed; other line breaks inside a line become a
    space. ``reading.repaired`` counts these changes.

    Raises:
        CorpusError: naming the file and line of a problem that is not in ``drop``.
    """
    columns = [_read_raw(span) for span in rows.spans]
    if rows.spans[0].first == 1 and rows.place.before:
        reading.noticed["header_row"] += rows.place.before
    for number, row in enumerate(zip(*columns, strict=True), start=rows.spans[0].first):
        try:
            pair = _make_pair(rows, row, number, reading.repaired, repair)
        except _BadLineError as bad:
            if bad.problem not in drop:
                raise CorpusError(f"{bad}, or set on_bad_line to drop") from None
            reading.dropped[bad.problem] += 1
        else:
            yield number, pair


def write_pairs(pairs: Sequence[Pair], source: Path, target: Path) -> None:
    """Write parallel text, each file atomically.

    Raises:
        ValueError: if a line contains a newline, which would shift all later pairs.
    """
    for number, pair in enumerate(pairs, start=1):
        if any("\n" in line for line in pair):
            raise ValueError(f"pair {number} contains a newline: {pair!r}")
    files.write_lines(source, (pair.source for pair in pairs))
    files.write_lines(target, (pair.target for pair in pairs))


def _cut(
    paths: tuple[Path, ...], lines: int, languages: Languages | None, scratch: Path
) -> Iterator[PairRows]:
    columns, place = [], RowPlace()
    for path in paths:
        with explain_damage(path):
            plain = require_regular_file(path)
            if len(paths) == 1 and languages is not None:
                units = open_units(path, languages)
                place = units.place
                if not units.plain:
                    plain = _write_rows(units, scratch)
            columns.append(split_file(_unpack(plain, scratch), lines))
    counts = [sum(span.lines for span in spans) for spans in columns]
    if len(set(counts)) > 1:
        for path, spans in zip(paths, columns, strict=True):
            first = next(_read_raw(spans[0]), None) if spans else None
            refuse_utf16(first or b"", path)  # half of a UTF-16 newline may add a line
        raise CorpusError(
            f"{paths[0]} has {counts[0]} lines but {paths[1]} has {counts[1]}; "
            f"line N of one must translate line N of the other"
        )
    return (PairRows(spans, paths, place) for spans in zip(*columns, strict=True))


def _write_rows(units: PairedUnits, scratch: Path) -> Path:
    """Write units as a TSV; newlines in a unit become vertical tabs, which are repaired later."""
    with tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file:
        for row in units.rows:
            cells = (_LINE_ENDS.sub("\v", cell.replace("\t", " ")) for cell in row)
            file.write(_encode("\t".join(cells) + "\n"))
    return Path(file.name)


def _encode(row: str) -> bytes:
    try:
        return row.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # an escaped surrogate, which is not valid UTF-8
        return row.encode(errors="surrogatepass")


def _unpack(path: Path, scratch: Path) -> Path:
    """Return the path of the file itself, or of its uncompressed copy."""
    if not is_compressed(path):
        return path
    with open_raw(path) as content, tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file:
        shutil.copyfileobj(content, file, BLOCK_BYTES)
    return Path(file.name)


def _read_raw(span: LineSpan) -> Iterator[bytes | None]:
    with span.open_bytes() as read:
        yield from read_bounded_lines(read, MAX_LINE_BYTES)


def _make_pair(
    rows: PairRows,
    row: tuple[bytes | None, ...],
    number: int,
    repaired: Counter[str],
    repair: Collection[RepairName],
) -> Pair:
    lines = [
        _decode(line, path, number, rows.place, repaired)
        for line, path in zip(row, rows.names, strict=True)
    ]
    if len(rows.names) == 1:
        lines = lines[0].split("\t")
        if len(lines) != len(Pair._fields):
            raise _BadLineError(
                "wrong_columns",
                f"{rows.names[0]} {rows.place.name(number)} has {len(lines)} columns instead of "
                f"{rows.place.columns}"
                f"{': source, tab, target' if rows.place.noun == 'line' else ''}; correct it",
            )
    if repair:
        lines = [_repair(line, repair, repaired) for line in lines]
    for column, line in enumerate(lines):
        if not _VISIBLE.search(line):
            at = f"{rows.names[min(column, len(rows.names) - 1)]} {rows.place.name(number)}"
            at = at if len(rows.names) > 1 else f"the {Pair._fields[column]} of {at}"
            raise _BadLineError("empty_side", f"{at} is empty; fill or remove the pair")
    return Pair(*lines)


def _repair(line: str, repair: Collection[RepairName], repaired: Counter[str]) -> str:
    line, applied = repair_line(line, repair)
    repaired.update(applied)
    return _LINE_ENDS.sub(" ", _INNER_LINE_BREAKS.sub(" ", line)) if applied else line


def _decode(
    raw: bytes | None, path: Path, number: int, place: RowPlace, repaired: Counter[str]
) -> str:
    line = (raw or b"\0").decode(errors="surrogateescape")
    if line.isprintable():  # most lines need no change
        return line
    at = place.name(number)
    if raw is None:
        raise _BadLineError("line_too_long", f"{path} {at} is too long for a sentence; split it")
    if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
        repaired["byte_order_mark"] += 1
    if raw.endswith(b"\r"):
        raw = raw.removesuffix(b"\r")
        repaired["crlf"] += 1
    try:
        line = decode_utf8(
            raw,
            path,
            line=number + place.before,
            noun=place.noun,
            remedy="convert it to UTF-8, such as: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW",
        )
    except CorpusError as error:
        raise _BadLineError("invalid_utf8", str(error)) from None
    if "\0" in line:
        if number == 1 and looks_like_utf16(raw):
            raise _BadLineError("nul_character", f"{path} {UTF16_ADVICE}")
        raise _BadLineError(
            "nul_character", f"{path} {at} contains a NUL character; correct the file"
        )
    line, breaks = _INNER_LINE_BREAKS.subn(" ", line)
    if breaks:
        repaired["inner_line_break"] += breaks
    return line
