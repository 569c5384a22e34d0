"""Paths, digests and checks of the user's own text files."""

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
from nmt_core.base.files import require_regular_file
from nmt_core.corpora.formats.paired_units import NO_FORMAT, holds_both_sides, may_hold_both_sides

STAR = "*"
"""Wildcard in a path for any part of a file name."""


class TextFiles(Config):
    """Files of parallel text: two aligned files, or one file with both sides; may be compressed.

    A path with a ``*`` matches all files whose names differ only in that part, without names that
    begin with a dot. Source and target files match if that part is equal. Files are read in
    alphabetical order of that part, so 10 precedes 9.
    """

    source: Path
    """File with one sentence per line, or with both sides: .tsv, .csv, .jsonl, .xlsx, .tmx, .xlf,
    .xliff, .po, or a .zip of one of these or of two aligned files, as in OPUS; or several files by
    one ``*``, as in texts/*.de. May be compressed: .gz, .bz2, .xz, .zst, .zip."""

    target: Path | None = None
    """File whose line N translates line N of ``source``; omitted if ``source`` has both sides.
    Needs a ``*`` if ``source`` has one."""

    sha256: str = ""
    """Digest of the content, and of the texts of ``*``, when params.yaml was written; empty accepts
    any. ``make repro`` fills it in."""

    @model_validator(mode="after")
    def _check(self) -> "TextFiles":
        if self.target is None and not may_hold_both_sides(self.source):
            raise ValueError(f"target is missing; {self.source} {NO_FORMAT}")
        for path in self.paths:
            if self.target is not None and holds_both_sides(path):
                raise ValueError(f"{path} has both sides; set it as source, without a target")
        if self.source == self.target:
            raise ValueError(f"source and target are the same file, {self.source}; set the other")
        stars = [str(path).count(STAR) for path in self.paths]
        if max(stars) > 1 or len({*stars}) > 1:
            raise ValueError(f"{self} must contain one {STAR} each, or none")
        return self

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths in the settings, source first."""
        return (self.source,) if self.target is None else (self.source, self.target)


def expand_paths(paths: Sequence[Path]) -> dict[str, tuple[Path, ...]]:
    """Return the files that match paths with a ``*``, by the text of the ``*``, in order.

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
                f"it, or remove {present_file}"
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
            f"{path} cannot be read ({error.strerror}); correct the path in download.corpora "
            f"(example: conf/data/files.yaml)"
        ) from None


def require_unchanged(paths: Sequence[Path], sha256: str) -> None:
    """Compare files with the digest that was pinned when params.yaml was written, if any.

    Raises:
        CorpusError: if the files have changed.
    """
    if sha256 and digest_paths(paths) != sha256:
        raise CorpusError(
            f"{' and '.join(map(str, paths))} changed since params.yaml was written; to accept "
            f"the change, run: make repro"
        )


def _find_parts(path: Path) -> set[str]:
    """Return the text of the ``*`` of a path for each matching file."""
    before, after = str(path).split(STAR)
    pattern = f"{glob.escape(before)}{STAR}{glob.escape(after)}"
    names = glob.glob(pattern)  # noqa: PTH207 - it skips names that begin with a dot
    return {name[len(before) : len(name) - len(after)] for name in names}
