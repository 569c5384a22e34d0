"""The user's own parallel text, on this machine."""

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

from typing_extensions import override

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
from nmt_core.corpora.fetch.source import Fetch, FindCached, Source, find_nothing
from nmt_core.corpora.formats.registered import open_units
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import SPLITS, Split
from nmt_core.corpora.text_files import TextFiles, require_pinned


class FilesCorpus(Corpus):
    """Text on this machine."""

    kind: Literal["files"]
    """The tag of this choice."""

    train: TextFiles
    """Training text."""

    validation: TextFiles | None = None
    """Validation set; null splits it off train."""

    test: TextFiles | None = None
    """Test set; null splits it off train."""

    on_bad_line: OnBadLine = "error"
    """Stop at a pair that is not UTF-8, contains NUL or lacks a column, and at an empty or overlong
    line of validation or test, or drop and count it."""

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        del fetch, scratch
        texts: dict[Split, Text] = {}
        for split, text in self._texts():
            drop = list_dropped(self.on_bad_line, given=split != "train")
            texts[split] = Text(tuple(text.expand().values()), drop, languages)
        return texts

    @override
    def list_given(self) -> frozenset[Split]:
        return frozenset(split for split, _ in self._texts() if split != "train")

    @override
    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        del languages, fetch
        for _, text in self._texts():
            require_pinned(text)
        parts = [part for _, text in self._texts() for part in text.expand().values()]
        return [measure_file(path) for path in dict.fromkeys(chain.from_iterable(parts))]

    @override
    def origin(self, split: str, languages: Languages) -> Origin:
        del languages
        text = getattr(self, split) or self.train
        return Origin("local", str(text.source))

    @override
    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size:
        del find_cached
        return measure_text(self.train.expand().values(), languages)

    @override
    def describe(self) -> Description:
        text = (
            "Files of whoever trained the model; they alone know the licence of the text, and "
            "whether the model may be given away."
        )
        return Description("files", {"license": "unknown"}, text)

    @override
    def pins(self) -> dict[str, str]:
        return {str(text): text.sha256 for _, text in self._texts()}

    @override
    def pinned(self) -> Self:
        return self._change(lambda text: {"sha256": text.digest()})

    @override
    def absolute(self) -> Self:
        return self._change(lambda text: text.absolute())

    @override
    def held_out(self) -> str | None:
        return None if self.test is None else GIVEN

    def _texts(self) -> Iterator[tuple[Split, TextFiles]]:
        for split in SPLITS:
            if text := getattr(self, split):
                yield split, text

    def _change(self, change: Callable[[TextFiles], dict[str, Any]]) -> Self:
        texts: dict[str, TextFiles] = {
            split: text.model_copy(update=change(text)) for split, text in self._texts()
        }
        return self.model_copy(update=texts)


def measure_text(parts: Iterable[tuple[Path, ...]], languages: Languages) -> Size:
    """Count the pairs in files, and the bytes or characters of their targets.

    Raises:
        CorpusError: if a file cannot be read.
    """
    pairs = size = 0
    for paths in parts:
        for target in _read_targets(paths, languages):
            pairs, size = pairs + 1, size + len(target)
    return Size(pairs, size)


def measure_cached(
    sources: Iterable[Source], languages: Languages, find_cached: FindCached
) -> Size | None:
    """Count the pairs in cached files of the web; None if one was not fetched yet.

    Raises:
        CorpusError: if a file cannot be read.
    """
    cached = [*map(find_cached, sources)]
    paths = tuple(file.path for file in cached if file is not None)
    return measure_text([paths], languages) if len(paths) == len(cached) else None


def _read_targets(paths: tuple[Path, ...], languages: Languages) -> Iterator[Sized]:
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
