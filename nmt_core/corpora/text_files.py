"""The user's own text files: paths, digests and checks."""

import glob
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import model_validator

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import require_regular_file
from nmt_core.corpora.formats.paired_units import (
    NO_FORMAT,
    holds_both_sides,
    may_hold_both_sides,
)

STAR = "*"
"""In a path: any part of a name."""


class TextFiles(Config):
    """Files of parallel text: two aligned ones, or one that holds both sides; also compressed.

    A path with a ``*`` stands for all files whose name differs in that part only; names that begin
    with a dot are skipped. Source and target belong together if that part is the same. Files are
    read in the order of that part as text, so 10 comes before 9.
    """

    source: Path
    """One sentence a line, or a file that holds both sides: .tsv, .csv, .jsonl, .xlsx, .tmx, .xlf,
    .xliff, .po, or a .zip of one of these or of two aligned files, as OPUS has them; with one ``*``
    all such files, as in texts/*.de. Any may be compressed: .gz, .bz2, .xz, .zst, .zip."""

    target: Path | None = None
    """Line N translates line N of ``source``; omitted if ``source`` holds both sides, with a ``*``
    if that has one."""

    sha256: str = ""
    """Digest of the content, and of the texts of ``*``, when params.yaml was written; empty accepts
    any. ``make repro`` fills it in."""

    @model_validator(mode="after")
    def _check(self) -> "TextFiles":
        if self.target is None and not may_hold_both_sides(self.source):
            raise ValueError(f"target is missing; {self.source} {NO_FORMAT}")
        for path in self.paths:
            if self.target is not None and holds_both_sides(path):
                raise ValueError(f"{path} holds both sides; set it as source, and no target")
        if self.source == self.target:
            raise ValueError(f"source and target are the same file, {self.source}; set the other")
        stars = [str(path).count(STAR) for path in self.paths]
        if max(stars) > 1 or len({*stars}) > 1:
            raise ValueError(f"{self} must hold one {STAR} each, or none")
        return self

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths in the settings, source first."""
        return (self.source,) if self.target is None else (self.source, self.target)


def expand_paths(paths: Sequence[Path]) -> dict[str, tuple[Path, ...]]:
    """Return the files that paths with a ``*`` each stand for, by its text, in order.

    Raises:
        CorpusError: if no file matches a pattern, or one path lacks a file.
    """
    if STAR not in str(paths[0]):
        return {"": tuple(paths)}
    parts_of_paths = [_find_parts(path) for path in paths]
    expanded = {
        part: tuple(Path(str(path).replace(STAR, part)) for path in paths)
        for part in sorted(set().union(*parts_of_paths))
    }
    for part, files_of_part in expanded.items():
        present = [part in parts for parts in parts_of_paths]
        if not all(present):
            present_file = files_of_part[present.index(True)]
            raise CorpusError(
                f"{present_file} exists but {files_of_part[present.index(False)]} does not; add "
                f"it, or move {present_file} away"
            )
    if not expanded:
        names = " and ".join(map(str, paths))
        raise CorpusError(f"no file matches {names}; check the names and the folder")
    return expanded


def digest_paths(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of the digests of all files, in order, and of the texts of ``*``."""
    digests = {
        part: [measure_file(path)["sha256"] for path in files_of_part]
        for part, files_of_part in expand_paths(paths).items()
    }
    text = json.dumps(digests) if STAR in str(paths[0]) else "".join(digests[""])
    return hashlib.sha256(text.encode()).hexdigest()


def measure_file(path: Path) -> dict[str, Any]:
    """Return the path, the size and the SHA-256 of a file."""
    try:
        digest = files.sha256(require_regular_file(path))
        return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read ({error.strerror}); set your text in download.corpora, as "
            f"conf/data/files.yaml shows"
        ) from None


def require_unchanged(paths: Sequence[Path], sha256: str) -> None:
    """Require files to have the digest that was pinned when params.yaml was written, if one was.

    Raises:
        CorpusError: if they changed.
    """
    if sha256 and digest_paths(paths) != sha256:
        raise CorpusError(
            f"{' and '.join(map(str, paths))} changed since params.yaml was written; take the "
            f"change in: make repro"
        )


def _find_parts(path: Path) -> set[str]:
    """Return the text of the ``*`` of a path for each matching file."""
    before, after = str(path).split(STAR)
    pattern = f"{glob.escape(before)}{STAR}{glob.escape(after)}"
    names = glob.glob(pattern)  # noqa: PTH207 - it skips names that begin with a dot
    return {name[len(before) : len(name) - len(after)] for name in names}
