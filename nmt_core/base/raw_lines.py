r"""Read a file's lines as bytes, also compressed; none is held in memory that is too long for text.

Bytes are split at ``\n`` alone, because a reader that also splits at U+2028 or U+0085 shifts every
pair after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nmt_core.base.compression import open_unpacked, read_errors
from nmt_core.base.errors import CorpusError

MAX_LINE_BYTES = 100_000
"""A longer line is no sentence; it is never held in memory as a whole."""


def read_raw_lines(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    r"""Yield the lines of a file without their ``\n``; None for one too long.

    Raises:
        CorpusError: if the file cannot be opened or is damaged.
    """
    with explain_damage(path), open_raw(path) as file:
        yield from bound_lines(file.readline, max_line_bytes)


def open_raw(path: Path) -> BinaryIO:
    """Open a file, plain or compressed, to read its bytes.

    Raises:
        CorpusError: if it is no ordinary file.
    """
    return open_unpacked(require_regular_file(path))


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Raise a CorpusError that says why a file cannot be read."""
    try:
        yield
    except read_errors() as error:
        raise CorpusError(f"{path} is damaged ({error}); fetch or compress it again") from None
    except OSError as error:
        raise explain_unreadable_file(path, error) from None


def bound_lines(readline: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes | None]:
    r"""Yield lines without their ``\n``; None for one that is too long."""
    while line := readline(max_bytes + 1):
        if len(line) <= max_bytes or line.endswith(b"\n"):
            yield line.removesuffix(b"\n")
            continue
        while line and not line.endswith(b"\n"):
            line = readline(max_bytes)
        yield None


def explain_unreadable_file(path: Path, error: OSError) -> CorpusError:
    """Return the error of a file that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{path} does not exist; check the name and the folder")
    return CorpusError(f"{path} cannot be read: {error.strerror}")


def require_regular_file(path: Path) -> Path:
    """Return a path that is a file, or does not exist yet.

    Raises:
        CorpusError: if it is a folder, or endless: a device or a pipe.
    """
    if path.exists() and not path.is_file():
        raise CorpusError(f"{path} is no ordinary file; give one that holds what is to be read")
    return path
