"""The user's own text files: their paths, their digests, and checks."""

import glob
import hashlib
import json
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field, model_validator

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import require_regular_file
from nmt_core.corpora.formats.registered import (
    NO_FORMAT,
    advise_suffixes,
    are_paired_by_id,
    holds_both_sides,
    may_hold_both_sides,
)

STAR = "*"
"""In a path: any part of a name."""


class TextFiles(Config):
    """Files of parallel text: two aligned ones, or one that holds both sides; also compressed.

    A path with a ``*`` stands for all files there are whose name is the same but for that part,
    unless it begins with a dot, as temporary files do. A source and a target belong together if
    that part is the same. They are read one after another in the order of that part as text, so 10
    comes before 9.
    """

    source: Path
    """One sentence a line, or a file that holds both sides: .tsv, .csv, .jsonl, .xlsx, .tmx, .xlf,
    .xliff, .po, or a .zip of one of these or of two aligned files, as OPUS has them; with one ``*``
    all such files, as in texts/*.de. Any may be compressed: .gz, .bz2, .xz, .zst, .zip."""

    target: Path | None = None
    """Line N translates line N of ``source``, or, of two .tsv, the line with the same id before its
    tab; left out if ``source`` holds both sides, with a ``*`` if that has one."""

    sha256: str = ""
    """Digest of what the files held, and of what each ``*`` stood for, when params.yaml was
    written, by which a change is noticed; empty trusts them. ``make repro`` fills it in."""

    @model_validator(mode="after")
    def _check(self) -> "TextFiles":
        if self.target is None and not may_hold_both_sides(self.source):
            raise ValueError(
                f"target is missing; {self.source} {NO_FORMAT.format(advise_suffixes())}"
            )
        for path in () if are_paired_by_id(self.paths) else self.paths:
            if self.target is not None and holds_both_sides(path):
                raise ValueError(f"{path} holds both sides; name it as source, and no target")
        if self.source == self.target:
            raise ValueError(f"source and target are the same file, {self.source}; name the other")
        stars = [str(path).count(STAR) for path in self.paths]
        if max(stars) > 1 or len({*stars}) > 1:
            raise ValueError(f"{self} must hold one {STAR} each, or none")
        return self

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    @property
    def has_star(self) -> bool:
        """Tell whether the paths are patterns."""
        return STAR in str(self.source)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths as they are given, source first."""
        return (self.source,) if self.target is None else (self.source, self.target)

    def found(self) -> dict[str, tuple[Path, ...]]:
        """Return the present files, source first, by the text of the ``*``, in order.

        Paths without a ``*`` are taken as they are.

        Raises:
            CorpusError: if no file fits a path with a ``*``, or only one side has a file.
        """
        if not self.has_star:
            return {"": self.paths}
        sides = [find_parts(path) for path in self.paths]
        both = {
            part: tuple(fill_part(path, part) for path in self.paths)
            for part in sorted(set().union(*sides))
        }
        for part, pair in both.items():
            there = [path for path, parts in zip(pair, sides, strict=True) if part in parts]
            missing = [path for path in pair if path not in there]
            if missing:
                raise CorpusError(
                    f"{there[0]} is there but {missing[0]} is not; add it, or move {there[0]} away"
                )
        if not both:
            raise CorpusError(f"no file fits {self}; check the names and the folder")
        return both

    def absolute(self) -> dict[str, Any]:
        """Return the paths that lead to the files from any folder, by their settings."""
        return {"source": self.source.absolute(), "target": self.target and self.target.absolute()}

    def digest(self) -> str:
        """Return the SHA-256 of the files' own digests, source first, and of the texts of ``*``.

        Raises:
            CorpusError: if a file is missing or cannot be read.
        """
        try:
            digests = {
                part: [files.sha256(require_regular_file(path)) for path in pair]
                for part, pair in self.found().items()
            }
        except OSError as error:
            raise CorpusError(
                f"{error.filename} cannot be read ({error.strerror}); name your text in "
                f"download.corpora, as conf/data/files.yaml shows"
            ) from None
        text = json.dumps(digests) if self.has_star else "".join(digests[""])
        return hashlib.sha256(text.encode()).hexdigest()


class ReferenceFiles(TextFiles):
    """Files of a test set: one or two as of any text, and more translations of the source."""

    references: list[Path] = Field([])
    """More reference translations of two aligned files, line by line; a metric takes the most
    similar of all. ``target`` is the only one that the gate and ``make compare`` read."""

    @model_validator(mode="after")
    def _check_references(self) -> "ReferenceFiles":
        if self.references and (self.target is None or self.has_star):
            raise ValueError(f"references belong to one source and one target file, not to {self}")
        for path in self.references:
            if path in self.paths or self.references.count(path) > 1:
                raise ValueError(f"references name {path} twice; give each file once")
            if STAR in str(path) or holds_both_sides(path):
                raise ValueError(f"references name {path}; give files of one sentence a line")
        return self

    def absolute(self) -> dict[str, Any]:
        """See the base class."""
        return super().absolute() | {"references": [path.absolute() for path in self.references]}

    def digest(self) -> str:
        """See the base class; references count, too."""
        pairs = [TextFiles(source=self.source, target=path) for path in self.references]
        digests = [super().digest(), *(pair.digest() for pair in pairs)]
        return hashlib.sha256("".join(digests).encode()).hexdigest() if pairs else digests[0]


class Pinned(Protocol):
    """Files that are pinned by their digest when params.yaml was written."""

    @property
    def sha256(self) -> str:
        """That digest, or nothing where none was taken."""

    def digest(self) -> str:
        """Return the present digest."""


def require_pinned(files: Pinned) -> None:
    """Make sure that files are as they were when they were pinned.

    Raises:
        CorpusError: if they are not.
    """
    if files.sha256 and files.digest() != files.sha256:
        raise CorpusError(
            f"{files} changed since params.yaml was written; take the change in: make repro"
        )


def find_parts(path: Path) -> set[str]:
    """Return the text of the ``*`` of a path for each present file."""
    before, after = str(path).split(STAR)
    pattern = f"{glob.escape(before)}{STAR}{glob.escape(after)}"
    names = glob.glob(pattern)  # noqa: PTH207 - it passes over names that begin with a dot
    return {name[len(before) : len(name) - len(after)] for name in names}


def fill_part(path: Path, part: str) -> Path:
    """Return a path with a text in the place of its ``*``."""
    return Path(str(path).replace(STAR, part))
