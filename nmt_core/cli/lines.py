"""Lines of text from a stream, as they come in, with the progress shown."""

import io
import select
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.utf8 import decode_utf8

FIRST_LINES, MOST_LINES, GROWTH = 16, 8192, 8
"""Lines translated together, at first and at most, and how many times more from one portion to the
next: output begins early, memory is bounded, and cores seldom wait for the last batch of one."""

WAIT_SECONDS = 0.05
"""Seconds to wait for more lines before those that are there are translated."""

MOST_LINE_BYTES = 2**24
"""Bytes of a line; a longer one is not text."""


def open_standard_input() -> io.BufferedIOBase:
    """Return the bytes of standard input.

    Raises:
        CorpusError: if it is closed.
    """
    if sys.stdin is None:
        raise CorpusError("standard input is closed; give lines by a pipe or by < FILE")
    assert isinstance(sys.stdin.buffer, io.BufferedIOBase)
    return sys.stdin.buffer


def decode_argument(text: str, *, name: str) -> str:
    """Return a text of the command line.

    Raises:
        ConfigError: if it is not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{name} is not UTF-8 (character {error.start + 1}); set your terminal to UTF-8"
        ) from None
    return text


def open_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file.

    Raises:
        CorpusError: if it cannot be read, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            yield from decode_lines(file, name=str(path))
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror}); name a text file") from None


def read_columns(source: Path, *targets: Path) -> list[list[str]]:
    """Return the lines of aligned files, source first.

    Raises:
        CorpusError: if one cannot be read, they do not pair up, or there is no line.
    """
    columns = [[*open_lines(path)] for path in (source, *targets)]
    for target, lines in zip(targets, columns[1:], strict=True):
        if len(lines) != len(columns[0]):
            raise CorpusError(
                f"{source} has {len(columns[0]):,} lines and {target} has {len(lines):,}; line N "
                f"of one must translate line N of the other"
            )
    if not columns[0]:
        raise CorpusError(f"{source} holds no line; give one that does")
    return columns


def decode_lines(stream: Iterable[bytes], *, name: str = "the input") -> Iterator[str]:
    r"""Yield the lines of a binary stream, ended by ``\n`` alone.

    Raises:
        CorpusError: naming the first line that is not UTF-8.
    """
    for number, line in enumerate(stream, start=1):
        yield decode_utf8(line.removesuffix(b"\n"), name, line=number)


def await_lines() -> Iterator[list[str]]:
    """Return the lines of standard input; on a terminal, first ask for them.

    Raises:
        CorpusError: if standard input is closed.
    """
    source = open_standard_input()
    if source.isatty():
        typer.echo("Write lines; each is translated when it ends. Ctrl-D ends.", err=True)
    return read_chunks(source)


def read_chunks(stream: io.BufferedIOBase, *, name: str = "the input") -> Iterator[list[str]]:
    r"""Yield the lines of a stream, ended by ``\n`` alone, more and more at a time up to a limit.

    Where lines come in slowly, those that are there do not wait for others.

    Raises:
        CorpusError: naming the first line that is not UTF-8, or does not end.
    """
    size, done, more = FIRST_LINES, 0, True
    lines: deque[bytes] = deque()
    rest = io.BytesIO()  # of a line that has not come to its end
    while True:
        while more and len(lines) < size and (not lines or has_more(stream)):
            block = stream.read1(2**16)
            more = bool(block)
            first, *others = block.split(b"\n")
            rest.write(first)
            for other in others:
                lines.append(rest.getvalue())
                rest = io.BytesIO()
                rest.write(other)
            if rest.tell() > MOST_LINE_BYTES:
                raise CorpusError(
                    f"line {done + len(lines) + 1} of {name} is longer than "
                    f"{MOST_LINE_BYTES:,} bytes; end lines by newlines"
                )
        if not more and rest.tell():
            lines.append(rest.getvalue())
            rest = io.BytesIO()
        if not lines:
            return
        count = min(size, len(lines))
        yield [
            decode_utf8(lines.popleft(), name, line=done + number) for number in range(1, count + 1)
        ]
        done += count
        size = min(GROWTH * size, MOST_LINES)


def has_more(stream: io.BufferedIOBase) -> bool:
    """Tell whether a stream goes on, or ends, within :data:`WAIT_SECONDS`."""
    try:
        return bool(select.select([stream], [], [], WAIT_SECONDS)[0])
    except io.UnsupportedOperation:  # bytes in memory
        return True


@contextmanager
def show_progress() -> Iterator[Callable[[int], None]]:
    """Show the number of lines done, on a terminal that does not also show the translations."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda _: None
        return
    from nmt_core.base.progress import line_counter  # slow to import

    with line_counter() as bar:
        task = bar.add_task("", total=None)
        yield lambda lines: bar.advance(task, lines)
