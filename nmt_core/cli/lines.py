"""Read lines of text from a stream, and write records of their translations."""

import io
import select
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.files import decode_utf8
from nmt_core.documents.review import report_doubts
from nmt_core.literals.checking import Breach
from nmt_core.text.translation import Translation

FIRST_LINES, MAX_LINES, GROWTH = 16, 8192, 8
"""Lines per portion at first and at most, and the growth factor between portions: output begins
early, memory is bounded, and cores are rarely idle."""

WAIT_SECONDS = 0.05
"""Seconds to wait for more lines before the available lines are translated."""

MAX_LINE_BYTES = 2**24
"""Maximum bytes of a line."""


def open_standard_input() -> io.BufferedIOBase:
    """Return standard input as a binary stream."""
    if sys.stdin is None:
        raise CorpusError("standard input is closed; use a pipe or < FILE")
    assert isinstance(sys.stdin.buffer, io.BufferedIOBase)
    return sys.stdin.buffer


def decode_argument(text: str, *, name: str) -> str:
    """Return a text of the command line; raise a ConfigError if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{name} is not UTF-8 (character {error.start + 1}); set your terminal to UTF-8"
        ) from None
    return text


def open_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file."""
    try:
        with path.open("rb") as file:
            yield from decode_lines(file, name=str(path))
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror}); give a text file") from None


def read_columns(source: Path, *targets: Path) -> list[list[str]]:
    """Return the lines of aligned files, source first."""
    columns = [[*open_lines(path)] for path in (source, *targets)]
    for target, lines in zip(targets, columns[1:], strict=True):
        if len(lines) != len(columns[0]):
            raise CorpusError(
                f"{source} has {len(columns[0]):,} lines and {target} has {len(lines):,}; line N "
                f"of one must translate line N of the other"
            )
    if not columns[0]:
        raise CorpusError(f"{source} is empty; give a file with lines")
    return columns


def decode_lines(stream: Iterable[bytes], *, name: str = "the input") -> Iterator[str]:
    r"""Yield the lines of a binary stream; only ``\n`` ends a line."""
    for number, line in enumerate(stream, start=1):
        yield decode_utf8(line.removesuffix(b"\n"), name, line=number)


def open_portions(arguments: list[str] | None) -> Iterable[list[str]]:
    """Return the lines of the command line, or of standard input, in portions."""
    if arguments is not None:
        return [[decode_argument(line, name="LINE") for line in arguments]]
    source = open_standard_input()
    if source.isatty():
        typer.echo("Write lines; each is translated at its end. Press Ctrl-D to stop.", err=True)
    return read_chunks(source)


def read_chunks(stream: io.BufferedIOBase, *, name: str = "the input") -> Iterator[list[str]]:
    r"""Yield the lines of a stream in growing portions; only ``\n`` ends a line.

    If lines arrive slowly, the available lines do not wait for others.
    """
    size, rest, numbers = FIRST_LINES, b"", count(1)
    lines: deque[str] = deque()
    is_open = True
    while is_open:
        block = stream.read1(2**16)
        is_open = bool(block)
        *whole, rest = (rest + block).split(b"\n")
        if not is_open and rest:
            whole.append(rest)
        lines.extend(decode_utf8(line, name, line=next(numbers)) for line in whole)
        if len(rest) > MAX_LINE_BYTES:
            raise CorpusError(
                f"line {next(numbers)} of {name} is longer than {MAX_LINE_BYTES:,} bytes; end "
                f"lines with newlines"
            )
        while len(lines) >= size or (lines and not (is_open and has_more(stream))):
            yield [lines.popleft() for _ in range(min(size, len(lines)))]
            size = min(GROWTH * size, MAX_LINES)


def has_more(stream: io.BufferedIOBase) -> bool:
    """Return whether a stream has more bytes, or ends, within ``WAIT_SECONDS``."""
    try:
        return bool(select.select([stream], [], [], WAIT_SECONDS)[0])
    except io.UnsupportedOperation:  # bytes in memory
        return True


@contextmanager
def show_progress() -> Iterator[Callable[[int], None]]:
    """Show the number of translated lines, unless the terminal shows the translations."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda _: None
        return
    from nmt_core.base.progress import line_counter  # slow to import

    with line_counter() as bar:
        task = bar.add_task("", total=None)
        yield lambda lines: bar.advance(task, lines)


def write_portions(
    portions: Iterable[list[str]],
    search: Callable[[list[str]], list[list[Translation]]],
    format_line: Callable[[int, Sequence[Translation]], Iterable[str]],
    flag_below: float,
) -> None:
    """Write translations of portions to standard output, and reports to standard error.

    ``format_line`` returns the records of a line, given its number from 1. Lines whose confidence
    is below ``flag_below`` are reported.
    """
    numbers = count(1)
    with show_progress() as advance:
        for lines in portions:
            numbered = {next(numbers): translations for translations in search(lines)}
            for number, translations in numbered.items():
                for record in format_line(number, translations):
                    sys.stdout.buffer.write(f"{record}\n".encode())
            sys.stdout.buffer.flush()
            best = {number: translations[0] for number, translations in numbered.items()}
            for report in report_doubts(best, flag_below, "line"):
                typer.echo(report, err=True)
            advance(len(lines))


def format_ranks(number: int, translations: Sequence[Translation]) -> Iterator[str]:
    """Yield number of the line, rank, score and text of each of its translations."""
    for rank, each in enumerate(translations, start=1):
        yield f"{number}\t{rank}\t{each.score:.4f}\t{each.text}"


def format_probabilities(probabilities: Iterable[float]) -> str:
    """Return probabilities as ``[0.898 0.937]``."""
    return f"[{' '.join(f'{probability:.3f}' for probability in probabilities)}]"


def format_breaches(breaches: Iterable[Breach]) -> str:
    """Return breaches as ``missing 94, repeated {name}``, or ``kept`` if there are none."""
    return ", ".join(f"{breach.problem} {breach.text}".rstrip() for breach in breaches) or "kept"


def format_confidence(confidence: float | None) -> str:
    """Return a confidence as ``0.87``, or ``-`` if there is none."""
    return "-" if confidence is None else f"{confidence:.2f}"
