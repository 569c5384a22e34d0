r"""Ranges of lines of a file, so that several processes can share its work.

Files are cut after ``\n`` alone, as everywhere here; no line is held in memory to find its end.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class LineSpan:
    """Successive lines of a file."""

    path: Path
    """Absolute, since another process may stand elsewhere."""
    begin: int
    """Bytes before its first line."""
    end: int
    """Bytes up to the end of its last line, the line end included."""
    first: int
    """Number of its first line in the file, counted from 1."""
    lines: int

    def __str__(self) -> str:
        return f"{self.path} lines {self.first} to {self.first + self.lines - 1}"

    @property
    def size(self) -> int:
        """Bytes to read."""
        return self.end - self.begin

    def read(self) -> Iterator[str]:
        r"""Yield the lines, which are UTF-8, without their ``\n``."""
        with self.opened() as readline:
            while line := readline(self.size):
                yield line.decode().removesuffix("\n")

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], bytes]]:
        """Yield a function that reads the next line, or a number of its bytes; empty at the end."""
        left = self.size

        def readline(at_most: int) -> bytes:
            nonlocal left
            line = file.readline(min(at_most, left))
            if left and not line:
                raise EOFError(f"{self} are no longer there; was the file written to?")
            left -= len(line)
            return line

        with self.path.open("rb") as file:
            file.seek(self.begin)
            yield readline


def cut(path: Path, lines: int) -> list[LineSpan]:
    r"""Cut a file into spans of a number of lines; the last may have fewer, and lack its ``\n``."""
    path = path.absolute()
    spans: list[LineSpan] = []
    begin = counted = offset = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
            for end in ends[lines - 1 - counted % lines :: lines].tolist():
                spans.append(LineSpan(path, begin, offset + end, len(spans) * lines + 1, lines))
                begin = offset + end
            counted += len(ends)
            offset += len(block)
            is_open = not block.endswith(b"\n")
    if begin < offset:
        rest = counted - len(spans) * lines + is_open
        spans.append(LineSpan(path, begin, offset, len(spans) * lines + 1, rest))
    return spans


def append(part: Path, to: Path) -> None:
    """Append the content of ``part`` to a file."""
    with part.open("rb") as source, to.open("ab") as target:
        shutil.copyfileobj(source, target, BLOCK_BYTES)
