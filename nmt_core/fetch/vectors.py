"""Pre-trained word vectors in fastText's text format, as far as they are wanted and sound.

The first line says ``rows dimensions``; every other is a word and its numbers, most frequent word
first. Written is the same format, holding sound rows alone, so later stages need no care.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from nmt_core import files
from nmt_core.errors import CorpusError
from nmt_core.fetch.http import Fetched, Source, fetch
from nmt_core.fetch.settings import DownloadedVectors, HttpConfig
from nmt_core.text.corpus import ordinary, raw_lines, unreadable

MAX_DIMENSIONS = 10_000
MODEL_MAGIC = (793712314).to_bytes(4, "little")
"""First bytes of a fastText model (FASTTEXT_FILEFORMAT_MAGIC_INT32)."""

_HEADER = re.compile(rb"(\d{1,12}) (\d{1,12})\s*")


def published(config: DownloadedVectors, language: str) -> Source:
    """Return the header and the first rows for one language."""
    return Source(
        config.url.replace("{language}", language),
        "download.vectors.url",
        renewed=config.renewed,
        lines=config.rows + 1,
        check=lambda path: _check_rows(path, config.rows),
    )


def fetch_vectors(
    config: DownloadedVectors, language: str, downloads: Path, http: HttpConfig
) -> Fetched:
    """Fetch the header and the first rows for one language.

    Raises:
        DownloadError: if they cannot be fetched.
    """
    return fetch(published(config, language), downloads, http)


def write_vectors(vectors: Path, path: Path, *, rows: int) -> dict[str, int]:
    """Copy the sound ones of the first ``rows`` rows of ``vectors``.

    Returns:
        Counts: "rows" written, "dimensions", and the rows left out by reason: "wrong_length" (fewer
        numbers than dimensions), "space_in_word", "invalid_utf8", "not_finite" (or no number),
        "duplicate_word" (after the first), and "missing" (the file has fewer than it says).

    Raises:
        CorpusError: if the header is missing, or no row is sound.
    """
    lines = raw_lines(vectors)
    promised, dimensions = _header(vectors, next(lines, b""))
    counts: Counter[str] = Counter()
    body = path.with_name(path.name + ".rows")
    try:
        with body.open("wb") as file:
            for row in _sound(lines, min(rows, promised), dimensions, counts):
                file.write(row + b"\n")
        if not counts["rows"]:
            reasons = ", ".join(f"{why} {count}" for why, count in sorted(counts.items()) if count)
            raise CorpusError(
                f"{vectors} has no sound row of {dimensions} numbers ({reasons or 'it is empty'}); "
                f"fetch it again"
            )
        with files.whole_file(path) as part, part.open("wb") as file, body.open("rb") as content:
            file.write(f"{counts['rows']} {dimensions}\n".encode())
            shutil.copyfileobj(content, file)
    finally:
        body.unlink(missing_ok=True)
    return {"rows": counts.pop("rows"), "dimensions": dimensions} | dict(sorted(counts.items()))


def copy_model(model: Path, path: Path) -> None:
    """Copy a fastText model.

    Raises:
        CorpusError: if it is not there or is none.
    """
    try:
        with ordinary(model).open("rb") as content:
            if content.read(len(MODEL_MAGIC)) != MODEL_MAGIC:
                raise CorpusError(f"{model} is no fastText model; give a .bin that fastText wrote")
            content.seek(0)
            with files.whole_file(path) as part, part.open("wb") as file:
                shutil.copyfileobj(content, file)
    except FileNotFoundError as error:
        raise unreadable(model, error) from None


def _check_rows(vectors: Path, rows: int) -> None:
    lines = raw_lines(vectors)
    promised, _ = _header(vectors, next(lines, b""))
    found, wanted = sum(1 for _ in lines), min(rows, promised)
    if found < wanted:
        raise CorpusError(f"{vectors} has {found} of {wanted} rows")


def _header(vectors: Path, line: bytes | None) -> tuple[int, int]:
    found = _HEADER.fullmatch(line or b"")
    if found is None or not 0 < int(found[2]) <= MAX_DIMENSIONS:
        start = (line or b"")[:40].decode("utf-8", errors="replace")
        raise CorpusError(
            f"{vectors} must begin with a line 'rows dimensions', got {start!r}; "
            f"give a .vec file as fastText writes it"
        )
    return int(found[1]), int(found[2])


def _sound(
    lines: Iterator[bytes | None], rows: int, dimensions: int, counts: Counter[str]
) -> Iterator[bytes]:
    words: set[bytes] = set()
    seen = 0
    for line in islice(lines, rows):
        seen += 1
        fields = [] if line is None else line.rstrip().split(b" ")
        why = _fault(fields, dimensions) or ("duplicate_word" if fields[0] in words else None)
        if why is None:
            words.add(fields[0])
            yield b" ".join(fields)
        counts[why or "rows"] += 1
    if seen < rows:
        counts["missing"] = rows - seen


def _fault(fields: list[bytes], dimensions: int) -> str | None:
    if len(fields) <= dimensions:
        return "wrong_length"
    try:
        word = b" ".join(fields[:-dimensions]).decode("utf-8")
        if len(word.split()) != 1 or word != word.strip():
            return "space_in_word"
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.array(fields[1:], dtype=np.float32)).all()
    except UnicodeDecodeError:
        return "invalid_utf8"
    except ValueError:
        return "not_finite"
    return None if finite else "not_finite"
