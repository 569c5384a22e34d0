r"""Read and write parallel text: line N of one side translates line N of the other.

Bytes are split at ``\n`` alone, because a reader that also splits at U+2028 or U+0085 shifts every
pair after it. Problems are counted; a serious one stops the reading, unless the caller allows to
drop its pair. Only one line per file is held in memory. Long files are read by several processes,
each some rows.
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.parallel.jobs import Job, LineSpan, cut
from nmt_core.base.parallel.spans import BLOCK_BYTES
from nmt_core.base.raw_lines import (
    MAX_LINE_BYTES,
    bound_lines,
    explain_damage,
    open_raw,
    require_regular_file,
)
from nmt_core.base.utf8 import UTF16, decode_utf8, looks_like_utf16

Problem = Literal["invalid_utf8", "nul_character", "wrong_columns", "empty_side", "line_too_long"]

DAMAGED: tuple[Problem, ...] = ("invalid_utf8", "nul_character", "wrong_columns")
"""Signs of a file of another kind."""

UNUSABLE: tuple[Problem, ...] = ("empty_side", "line_too_long")
"""Problems of ordinary corpora, whose pairs teach nothing."""


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INNER_LINE_BREAKS = re.compile("[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u200b\ufeff]")


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class Text:
    """Parallel text to be read."""

    parts: tuple[tuple[Path, ...], ...]
    """Two aligned files, source first, or one TSV; and so on for the next."""
    drop: tuple[Problem, ...] = ()
    """Problems for which a pair is left out and counted; any other stops the reading."""


@dataclass(frozen=True)
class PairRows(Job):
    """The same lines of two aligned files, or some of a TSV."""

    names: tuple[Path, ...]
    """The files as their owner knows them; what was compressed is read elsewhere."""

    def __str__(self) -> str:
        [first, last] = (self.spans[0].first, self.spans[0].first + self.spans[0].lines - 1)
        return f"{' and '.join(map(str, self.names))} lines {first} to {last}"


@dataclass
class CorpusReading:
    """Counts of dropped pairs and repaired lines."""

    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)

    def add(self, other: "CorpusReading") -> None:
        """Add the counts of another reading."""
        self.dropped.update(other.dropped)
        self.repaired.update(other.repaired)


class _BadLineError(Exception):
    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def cut_rows(text: Text, lines: int, *, scratch: Path) -> list[PairRows]:
    """Cut text into rows of a number of lines.

    Args:
        text: the text.
        lines: the last rows of a file may be fewer.
        scratch: takes compressed files, which cannot be read from the middle.

    Raises:
        CorpusError: if a file cannot be read, or aligned ones differ in their numbers of lines.
    """
    return list(chain.from_iterable(_cut(paths, lines, scratch) for paths in text.parts))


def read_pairs(
    rows: PairRows,
    *,
    drop: Collection[Problem],
    reading: CorpusReading,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[tuple[int, Pair]]:
    """Yield the pairs of some rows with their line numbers.

    The lines keep every character they have, but for ends.

    A byte-order mark and the CR of CRLF are taken off, other line breaks inside a line become a
    space; both are counted in ``reading.repaired``.

    Args:
        rows: their location.
        drop: problems for which a pair is left out and counted; any other stops the reading.
        reading: counts what was dropped and repaired.
        max_line_bytes: longest line that is looked at.

    Raises:
        CorpusError: naming file and line of a problem not in ``drop``.
    """
    columns = [_raw(span, max_line_bytes) for span in rows.spans]
    for number, row in enumerate(zip(*columns, strict=True), start=rows.spans[0].first):
        try:
            pair = _pair(rows.names, row, number, reading.repaired)
        except _BadLineError as bad:
            if bad.problem not in drop:
                raise CorpusError(str(bad)) from None
            reading.dropped[bad.problem] += 1
        else:
            yield number, pair


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


def _cut(paths: tuple[Path, ...], lines: int, scratch: Path) -> Iterator[PairRows]:
    columns = []
    for path in paths:
        with explain_damage(path):
            columns.append(cut(_plain(require_regular_file(path), scratch), lines))
    counts = [sum(span.lines for span in spans) for spans in columns]
    if len(set(counts)) > 1:
        raise CorpusError(
            f"{paths[0]} has {counts[0]} lines but {paths[1]} has {counts[1]}; "
            f"line N of one must translate line N of the other"
        )
    return (PairRows(spans, paths) for spans in zip(*columns, strict=True))


def _plain(path: Path, scratch: Path) -> Path:
    """Return the file itself, or its uncompressed copy."""
    if path.suffix.lower() != ".gz":
        return path
    with (
        open_raw(path) as content,
        tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file,
    ):
        shutil.copyfileobj(content, file, BLOCK_BYTES)
    return Path(file.name)


def _raw(span: LineSpan, max_line_bytes: int) -> Iterator[bytes | None]:
    with span.opened() as readline:
        yield from bound_lines(readline, max_line_bytes)


def _pair(
    paths: tuple[Path, ...], row: tuple[bytes | None, ...], number: int, repaired: Counter[str]
) -> Pair:
    places = [f"{path} line {number}" for path in paths]
    lines = [_decode(*field, number, repaired) for field in zip(row, paths, strict=True)]
    if len(paths) == 1:
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


def _decode(raw: bytes | None, path: Path, number: int, repaired: Counter[str]) -> str:
    if raw is None:
        raise _BadLineError(
            "line_too_long",
            f"{path} line {number} is too long for a sentence; "
            f"split it, or set on_bad_line to drop",
        )
    if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
        repaired["byte_order_mark"] += 1
    if raw.endswith(b"\r"):
        raw = raw.removesuffix(b"\r")
        repaired["crlf"] += 1
    try:
        line = decode_utf8(
            raw, path, line=number, remedy="convert it to UTF-8, or set on_bad_line to drop"
        )
    except CorpusError as error:
        raise _BadLineError("invalid_utf8", str(error)) from None
    if "\0" in line:
        if number == 1 and looks_like_utf16(raw):
            raise _BadLineError("nul_character", f"{path} {UTF16}")
        raise _BadLineError(
            "nul_character",
            f"{path} line {number} holds a NUL character, which text never does; "
            f"repair the file, or set on_bad_line to drop",
        )
    line, breaks = _INNER_LINE_BREAKS.subn(" ", line)
    if breaks:
        repaired["inner_line_break"] += breaks
    return line
