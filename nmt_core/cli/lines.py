"""Lines of text from a stream, in growing portions, with the progress shown."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from nmt_core.errors import CorpusError

FIRST_LINES, MOST_LINES = 16, 2048
"""Lines translated together, at first and at most: output begins early, and memory is bounded."""


def decoded(stream: Iterable[bytes], *, name: str = "the input") -> Iterator[str]:
    r"""Yield the lines of a binary stream, ended by ``\n`` alone.

    Raises:
        CorpusError: naming the first line that is not UTF-8.
    """
    for number, line in enumerate(stream, start=1):
        try:
            yield line.removesuffix(b"\n").decode()
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"line {number} of {name} is not UTF-8 (byte {error.start + 1} is "
                f"0x{line[error.start]:02x}); convert {name}, for example with iconv"
            ) from None


def chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield more and more lines at a time, up to a limit."""
    size = FIRST_LINES
    while chunk := list(islice(lines, size)):
        yield chunk
        size = min(2 * size, MOST_LINES)


@contextmanager
def progress() -> Iterator[Callable[[int], None]]:
    """Show how many lines are done, on a terminal that does not show the translations too."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed:.0f} lines"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda lines: bar.advance(task, lines)
