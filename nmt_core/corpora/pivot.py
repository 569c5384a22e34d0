"""Join two corpora that share a language: de-en and fr-en make de-fr.

Lines of the shared language must be identical and stand once in each corpus, so that no sentence is
joined with the translation of another. Per line, some 30 bytes stay in memory.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import MAX_LINE_BYTES, read_raw_lines

Numbers = npt.NDArray[np.int64]

_CHUNK_BYTES = 1 << 20
_NO_SENTENCE = 0


class PivotSide(NamedTuple):
    """One of the two corpora: line N of ``text`` translates line N of ``shared``."""

    text: Path
    shared: Path


def join(source: PivotSide, target: PivotSide, source_out: Path, target_out: Path) -> int:
    """Write the texts of ``source`` and ``target`` side by side, in the order of ``source``.

    Returns:
        The number of pairs.

    Raises:
        CorpusError: if the two files of a corpus differ in their number of lines.
    """
    starts = [_starts(source), _starts(target)]
    (keys, lines), (other_keys, other_lines) = (_single(side.shared) for side in (source, target))
    _, own_rows, other_rows = np.intersect1d(
        keys, other_keys, assume_unique=True, return_indices=True
    )
    chosen = np.stack([lines[own_rows], other_lines[other_rows]])
    chosen = chosen[:, np.argsort(chosen[0])]
    short = [
        np.diff(start)[rows] <= MAX_LINE_BYTES for start, rows in zip(starts, chosen, strict=True)
    ]
    chosen = chosen[:, short[0] & short[1]]
    _copy(source.text, starts[0], chosen[0], source_out)
    _copy(target.text, starts[1], chosen[1], target_out)
    return int(chosen.shape[1])


def _starts(side: PivotSide) -> Numbers:
    """Return where every line of ``text`` begins, and where the last one ends."""
    starts, shared = (_line_starts(path) for path in side)
    if len(starts) != len(shared):
        raise CorpusError(
            f"{side.text} has {len(starts) - 1} lines but {side.shared} has {len(shared) - 1}; "
            f"line N of one must translate line N of the other"
        )
    return starts


def _line_starts(path: Path) -> Numbers:
    blocks = [np.zeros(1, dtype=np.int64)]
    size = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
            blocks.append(ends.astype(np.int64) + size + 1)
            size += len(chunk)
    starts = np.concatenate(blocks)
    return starts if starts[-1] == size else np.append(starts, np.int64(size))


def _single(path: Path) -> tuple[npt.NDArray[np.uint64], Numbers]:
    """Return the digests of the lines that stand once, ascending, and the lines' numbers."""
    digests = np.fromiter((_digest(line) for line in read_raw_lines(path)), dtype=np.uint64)
    keys, first, counts = np.unique(digests, return_index=True, return_counts=True)
    single = (counts == 1) & (keys != _NO_SENTENCE)
    return keys[single], first[single]


def _digest(line: bytes | None) -> int:
    sentence = (line or b"").strip()
    if not sentence:
        return _NO_SENTENCE
    return int.from_bytes(blake2b(sentence, digest_size=8).digest(), "little")


def _copy(text: Path, starts: Numbers, lines: Sequence[int] | Numbers, out: Path) -> None:
    with files.whole_file(out) as part, text.open("rb") as content, part.open("wb") as file:
        for line in lines:
            content.seek(starts[line])
            file.write(content.read(starts[line + 1] - starts[line]).removesuffix(b"\n") + b"\n")
