"""The user's own parallel or monolingual text on this machine."""

from collections.abc import Callable, Iterable, Sized
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from nmt_core.base.files import require_regular_file
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage, read_raw_lines
from nmt_core.corpora.corpus import GIVEN, Corpus, Description, OnBadLine, Size, list_dropped
from nmt_core.corpora.fetch.source import Fetch, FindCached
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.formats.opening import open_units
from nmt_core.corpora.formats.paired_units import PAIRS_NO_LINES, holds_both_sides
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import SPLITS, Split
from nmt_core.corpora.text_files import (
    STAR,
    TextFiles,
    digest_paths,
    expand_paths,
    measure_file,
    require_unchanged,
)


class FilesCorpus(Corpus):
    """Text on this machine."""

    kind: Literal["files"]
    """Kind of the corpus."""

    train: TextFiles
    """Training text."""

    validation: TextFiles | None = None
    """Validation set; null splits it off train."""

    test: TextFiles | None = None
    """Test set; null splits it off train."""

    on_bad_line: OnBadLine = "error"
    """Stop at, or drop and count, a pair that is not UTF-8, contains NUL or lacks a column, and an
    empty or overlong line of validation or test."""

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        return {
            split: Text(
                tuple(expand_paths(text.paths).values()),
                list_dropped(self.on_bad_line, given=split != "train"),
                languages,
            )
            for split, text in self._texts().items()
        }

    @override
    def list_given(self) -> frozenset[Split]:
        return frozenset(self._texts()) - {"train"}

    @override
    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        paths: list[Path] = []
        for text in self._texts().values():
            require_unchanged(text.paths, text.sha256)
            paths += chain.from_iterable(expand_paths(text.paths).values())
        return [measure_file(path) for path in dict.fromkeys(paths)]

    @override
    def estimate_size(self, languages: Languages, find_cached: FindCached) -> Size:
        return measure_text(expand_paths(self.train.paths).values(), languages)

    @override
    def describe(self) -> Description:
        text = (
            "Files of the person who trained the model. Only this person knows the licence of the "
            "text and whether the model may be distributed."
        )
        return Description("files", {"license": "unknown"}, text)

    @override
    def pins(self) -> dict[str, str]:
        return {str(text): text.sha256 for text in self._texts().values()}

    @override
    def pinned(self) -> Self:
        return self._change(lambda text: {"sha256": digest_paths(text.paths)})

    @override
    def absolute(self) -> Self:
        return self._change(
            lambda text: {
                "source": text.source.absolute(),
                "target": text.target and text.target.absolute(),
            }
        )

    @override
    def held_out(self) -> str | None:
        return GIVEN if self.test else None

    def _texts(self) -> dict[Split, TextFiles]:
        return {split: text for split in SPLITS if (text := getattr(self, split))}

    def _change(self, change: Callable[[TextFiles], dict[str, Any]]) -> Self:
        texts: dict[str, TextFiles] = {
            name: text.model_copy(update=change(text)) for name, text in self._texts().items()
        }
        return self.model_copy(update=texts)


class SyntheticCorpus(FilesCorpus):
    """Pairs of a teacher model on this machine, used only from their source to their target."""

    kind: Literal["synthetic"]  # type: ignore[assignment]
    """Kind of the corpus."""

    @override
    def list_directions(self, languages: Languages) -> list[Languages]:
        return super().list_directions(languages)[:1]


class MonolingualCorpus(Corpus):
    """Monolingual text of one of the two languages on this machine.

    Such text has no training pairs: a teacher translates it, and language models are trained on it
    by ``nmt learn --text data/monolingual``. Every line is read as a pair with itself, so that it
    is repaired, filtered and compared like pairs.
    """

    is_parallel: ClassVar[bool] = False

    kind: Literal["text"]
    """Kind of the corpus."""

    role: Literal["monolingual"] = "monolingual"
    """Role of the text; may be set instead of ``kind``."""

    language: str
    """Code of its language, the source or the target of ``download.languages``."""

    path: Path
    """File with one sentence per line, UTF-8, or several files by one ``*``; may be compressed."""

    sha256: str = ""
    """Digest of the content when params.yaml was written; ``make repro`` fills it in."""

    on_bad_line: OnBadLine = "error"
    """Stop at a line that is not UTF-8 or contains NUL, or drop it."""

    train_only: bool = True
    """Always true, because monolingual text has no pairs for validation and testing."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tag or self.weight != 1 or not self.train_only or self.languages:
            raise ValueError(
                "monolingual text has no training pairs, so weight, tag, languages and train_only "
                "do not apply; remove them"
            )
        if str(self.path).count(STAR) > 1:
            raise ValueError(f"path {self.path} must contain at most one {STAR}")
        if holds_both_sides(self.path):
            raise ValueError(f"path {self.path} {PAIRS_NO_LINES}")
        return self

    @override
    def check(self, languages: Languages) -> None:
        if self.language not in languages.codes:
            raise ValueError(
                f"language {self.language!r} is not one of {' and '.join(languages.codes)}"
            )

    @override
    def choose_filter(self, default: FilterConfig) -> FilterConfig:
        chosen = super().choose_filter(default)  # each line is paired with itself
        return chosen.model_copy(update={"remove_untranslated": False})

    @override
    def list_languages(self, languages: Languages) -> tuple[str, ...]:
        return (self.language,)

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        paths = expand_paths([self.path]).values()
        return {
            "train": Text(tuple((path, path) for (path,) in paths), list_dropped(self.on_bad_line))
        }

    @override
    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        require_unchanged([self.path], self.sha256)
        return [measure_file(path) for (path,) in expand_paths([self.path]).values()]

    @override
    def describe(self) -> Description:
        text = (
            f"Monolingual text ({self.language}) of the person who trained the model. Only this "
            f"person knows its licence. It has no training pairs."
        )
        return Description("text", {"license": "unknown"}, text)

    @override
    def pins(self) -> dict[str, str]:
        return {str(self.path): self.sha256}

    @override
    def pinned(self) -> Self:
        return self.model_copy(update={"sha256": digest_paths([self.path])})

    @override
    def absolute(self) -> Self:
        return self.model_copy(update={"path": self.path.absolute()})


def measure_text(parts: Iterable[tuple[Path, ...]], languages: Languages) -> Size:
    """Return the number of pairs in files, and the bytes or characters of their targets."""
    pairs = size = 0
    for paths in parts:
        for target in _read_targets(paths, languages):
            pairs, size = pairs + 1, size + len(target)
    return Size(pairs, size)


def _read_targets(paths: tuple[Path, ...], languages: Languages) -> Iterable[Sized]:
    if len(paths) > 1:
        return (line or b"" for line in read_raw_lines(paths[-1]))
    with explain_damage(paths[0]):
        return (row[-1] for row in open_units(require_regular_file(paths[0]), languages).rows)
