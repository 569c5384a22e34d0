"""Pre-trained word vectors: settings of their sources, and a copy of their valid rows.

The copy is in fastText's text format (``nmt_core.data.vectors``).
"""

import shutil
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch.address import Address
from nmt_core.corpora.fetch.source import ExternalFiles, Fetch, Source
from nmt_core.data.vectors import open_vectors

RowCount = Annotated[int, Field(ge=1, le=1_000_000_000)]


class NoVectors(ExternalFiles):
    """Embeddings are learnt from scratch."""

    kind: Literal["none"]
    """Kind of vectors."""

    def obtain(self, languages: Languages, folder: Path, *, fetch: Fetch) -> dict[str, Any]:
        """Write no vectors; return an empty mapping."""
        del languages, folder, fetch
        return {}


class DownloadedVectors(ExternalFiles):
    """The first rows of published vectors, which have the most frequent words."""

    kind: Literal["download"]
    """Kind of vectors."""

    url: Address = "https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.{language}.vec"
    """URL of a plain .vec file; ``{language}`` is replaced by the code of each language."""

    rows: RowCount = 100_000
    """Number of rows to fetch; 100,000 in van der Goten 2018."""

    @override
    def sources(self, languages: Languages) -> list[Source]:
        return [
            Source(
                self.url.replace("{language}", code),
                "download.vectors.url",
                lines=self.rows + 1,
                check=self._check_rows,
            )
            for code in languages.codes
        ]

    def obtain(self, languages: Languages, folder: Path, *, fetch: Fetch) -> dict[str, Any]:
        """Fetch and write the vectors of each side; return the files and counts, by side."""
        measured: dict[str, Any] = {}
        for side, source in zip(Languages.model_fields, self.sources(languages), strict=True):
            fetched = fetch(source)
            counts = write_vectors(fetched.path, folder / f"{side}.vec", rows=self.rows)
            measured[side] = {"url": fetched.url, "sha256": fetched.sha256} | counts
        return measured

    def _check_rows(self, path: Path) -> None:
        stated, _, lines = open_vectors(path)
        count, expected = sum(1 for _ in lines), min(self.rows, stated)
        if count < expected:
            raise CorpusError(f"{path} has only {count} of {expected} rows")


class VectorFiles(ExternalFiles):
    """Vectors on this machine."""

    kind: Literal["file"]
    """Kind of vectors."""

    source: Path
    """Vectors of the source language, .vec or .vec.gz."""

    target: Path
    """Vectors of the target language, .vec or .vec.gz."""

    rows: RowCount = 100_000
    """Number of rows to use."""

    def obtain(self, languages: Languages, folder: Path, *, fetch: Fetch) -> dict[str, Any]:
        """Copy the vectors of each side; return the files and counts, by side."""
        del languages, fetch
        return {
            side: {"path": str(path)} | write_vectors(path, folder / f"{side}.vec", rows=self.rows)
            for side, path in (("source", self.source), ("target", self.target))
        }


VectorsConfig = Annotated[NoVectors | DownloadedVectors | VectorFiles, Field(discriminator="kind")]


def write_vectors(vectors: Path, path: Path, *, rows: int) -> dict[str, int]:
    """Copy the valid rows among the first ``rows`` rows of ``vectors`` to ``path``.

    Returns:
        The number of written "rows", the "dimensions", and the numbers of skipped rows:
        "malformed", "duplicate_word", and "missing" (fewer than the header states).

    Raises:
        CorpusError: if the header is missing, or no row is valid.
    """
    stated, dimensions, lines = open_vectors(vectors)
    counts: Counter[str] = Counter(missing=min(rows, stated))
    body = path.with_name(path.name + ".rows")
    words: set[bytes] = set()
    try:
        with body.open("wb") as file:
            for line in islice(lines, min(rows, stated)):
                fields = (line or b"").rstrip().split(b" ")
                if not _is_valid(fields, dimensions):
                    kind = "malformed"
                elif fields[0] in words:
                    kind = "duplicate_word"
                else:
                    kind = "rows"
                    words.add(fields[0])
                    file.write(b" ".join(fields) + b"\n")
                counts.update({kind: 1, "missing": -1})
        if not words:
            raise CorpusError(
                f"{vectors} has no valid row of {dimensions} numbers ({counts['malformed']:,} are "
                f"malformed); fetch it again"
            )
        with files.whole_file(path) as part, part.open("wb") as file, body.open("rb") as content:
            file.write(f"{len(words)} {dimensions}\n".encode())
            shutil.copyfileobj(content, file)
    finally:
        body.unlink(missing_ok=True)
    return {"rows": counts.pop("rows"), "dimensions": dimensions} | dict(sorted((+counts).items()))


def _is_valid(fields: list[bytes], dimensions: int) -> bool:
    """Return whether a row has a UTF-8 word without spaces, and finite numbers."""
    try:
        word = fields[0].decode()
        with np.errstate(over="ignore"):
            numbers = np.array(fields[1:], dtype=np.float32)
    except ValueError:
        return False
    is_word = word.split() == [word]
    return is_word and len(numbers) == dimensions and bool(np.isfinite(numbers).all())
