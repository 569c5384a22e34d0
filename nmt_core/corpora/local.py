"""Parallel text of the user's own, on this machine."""

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    explain_damage,
    explain_unreadable_file,
    read_raw_lines,
    require_regular_file,
)
from nmt_core.corpora.corpus import (
    GIVEN,
    Corpus,
    Description,
    OnBadLine,
    Origin,
    Size,
    list_dropped,
)
from nmt_core.corpora.fetch.source import Fetch, FindKept, Source, find_nothing
from nmt_core.corpora.formats.registered import are_paired_by_id, open_units
from nmt_core.corpora.formats.verses import read_verses
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import SPLITS, Split
from nmt_core.corpora.text_files import ReferenceFiles, TextFiles, require_pinned


class FilesCorpus(Corpus):
    """Text that is on this machine."""

    kind: Literal["files"]
    """The tag of this choice."""

    train: TextFiles
    """What to learn from."""

    validation: TextFiles | None = None
    """What to measure on during training; null splits it off train."""

    test: ReferenceFiles | None = None
    """What to measure on at the end; null splits it off train."""

    on_bad_line: OnBadLine = "error"
    """What to do with a pair that is not UTF-8, holds NUL or lacks a column, and with an empty or
    endless line of validation or test: stop and name it, or drop and count it."""

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Find the files."""
        del fetch, scratch
        texts: dict[Split, Text] = {}
        for split, text in self._texts():
            drop = list_dropped(self.on_bad_line, given=split != "train")
            texts[split] = Text(tuple(text.found().values()), drop, languages)
        return texts

    def list_given(self) -> frozenset[Split]:
        """Return the splits that have files of their own."""
        return frozenset(split for split, _ in self._texts() if split != "train")

    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        """Read size and SHA-256 of the files, which must be those that were pinned."""
        del languages, fetch
        for _, text in self._texts():
            require_pinned(text)
        parts = [part for _, text in self._texts() for part in text.found().values()]
        parts.append(tuple(self.test.references) if self.test else ())
        return [measure_file(path) for path in dict.fromkeys(chain.from_iterable(parts))]

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return the path of the split's source, or of the text that it was split off."""
        del languages
        text = getattr(self, split) or self.train
        return Origin("local", str(text.source))

    def estimate_size(self, languages: Languages, *, find_kept: FindKept = find_nothing) -> Size:
        """Count the pairs, and the bytes of their targets."""
        del find_kept
        return measure_text(self.train.found().values(), languages)

    def describe(self) -> Description:
        """Return a description that leaves the facts to the user."""
        text = (
            "Files of whoever trained the model; they alone know the licence of the text, and "
            "whether the model may be given away."
        )
        return Description("files", {"license": "unknown"}, text)

    def pins(self) -> dict[str, str]:
        """Return the digest of each text, by its paths."""
        return {str(text): text.sha256 for _, text in self._texts()}

    def pinned(self) -> Self:
        """Return the corpus with the present digests of its files."""
        return self._changed(lambda text: {"sha256": text.digest()})

    def absolute(self) -> Self:
        """Return the corpus with absolute paths."""
        return self._changed(lambda text: text.absolute())

    def held_out(self) -> str | None:
        """Return that the test set was given, if it was."""
        return None if self.test is None else GIVEN

    def _texts(self) -> Iterator[tuple[Split, TextFiles]]:
        for split in SPLITS:
            text = getattr(self, split)
            if text is not None:
                yield split, text

    def _changed(self, change: Callable[[TextFiles], dict[str, Any]]) -> Self:
        texts: dict[str, TextFiles] = {
            split: text.model_copy(update=change(text)) for split, text in self._texts()
        }
        return self.model_copy(update=texts)


def measure_text(parts: Iterable[tuple[Path, ...]], languages: Languages) -> Size:
    """Count the pairs in files, and the bytes of their targets, as most characters are one.

    Raises:
        CorpusError: if a file cannot be read.
    """
    pairs = size = 0
    for paths in parts:
        for target in _read_targets(paths, languages):
            pairs, size = pairs + 1, size + len(target)
    return Size(pairs, size)


def measure_kept(
    sources: Iterable[Source], languages: Languages, find_kept: FindKept
) -> Size | None:
    """Count the pairs in files of the web that hold a text; None where one was not fetched yet.

    Raises:
        CorpusError: if a file cannot be read.
    """
    kept = [*map(find_kept, sources)]
    paths = tuple(each.path for each in kept if each is not None)
    return measure_text([paths], languages) if len(paths) == len(kept) else None


def _read_targets(paths: tuple[Path, ...], languages: Languages) -> Iterator[Sized]:
    """Yield the targets of pairs, as bytes or as text."""
    if are_paired_by_id(paths):
        return (target for source, target in read_verses(*paths).rows if source and target)
    if len(paths) > 1:
        return (line or b"" for line in read_raw_lines(paths[-1]))
    with explain_damage(paths[0]):
        rows = open_units(require_regular_file(paths[0]), languages).rows
    return (row[-1] for row in rows)


def measure_file(path: Path) -> dict[str, Any]:
    """Return the path, the size and the SHA-256 of a file.

    Raises:
        CorpusError: if it cannot be read.
    """
    try:
        digest = files.sha256(require_regular_file(path))
        return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}
    except OSError as error:
        raise explain_unreadable_file(path, error) from None
