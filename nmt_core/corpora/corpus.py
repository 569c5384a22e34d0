"""Corpora: the sources of parallel text.

A new source is a file with a subclass of ``Corpus``, its line in ``named.py``, and a
preset ``conf/data/NAME.yaml``. No other code depends on the kind of a corpus.
"""

import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field

from nmt_core.base.languages import LanguagePair, Languages
from nmt_core.corpora.fetch.source import ExternalFiles, Fetch, FindCached
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.parallel_text import DAMAGED, UNUSABLE, Problem, Text
from nmt_core.corpora.splitting import Split

OnBadLine = Literal["error", "drop"]

GIVEN = "as it was given"
"""The rule of a test set of the user, which may change in any way."""


class Size(NamedTuple):
    """Estimated size of the training text."""

    pairs: int
    target_characters: int


class Description(NamedTuple):
    """The description of a corpus for the model card."""

    name: str
    licence: dict[str, str]
    """The licence as metadata of Hugging Face's model cards."""
    text: str


def check_tag_name(tag: str) -> str:
    """Return a valid or empty tag; raise a ValueError for any other."""
    if tag and not re.fullmatch("[A-Za-z0-9_-]{1,40}", tag):
        raise ValueError(
            f"a tag is a name of at most 40 letters, digits, _ and -, such as medical, got {tag!r}"
        )
    return tag


class Corpus(ExternalFiles):
    """Settings of a source of parallel text.

    Another package may add a corpus by an entry point in ``nmt.corpora``, such as a TSV file::

        class TableCorpus(Corpus):
            kind: Literal["table"]
            path: Path

            def obtain(self, languages, *, fetch, scratch):
                return {"train": Text(((self.path,),))}

            def describe(self):
                return Description("table", {"license": "unknown"}, "A table.")
    """

    is_parallel: ClassVar[bool] = True
    """Whether the corpus has sentence pairs; False for monolingual text."""

    kind: str
    """Kind of the corpus, the name by which it is registered."""

    languages: LanguagePair | None = None
    """Source and target of its text, such as fr-en; null uses ``download.languages``. A corpus
    serves both directions of its languages if the model learns both."""

    weight: float = Field(1.0, ge=0, le=1_000_000)
    """Sampling weight relative to the other corpora; 0 excludes it from training, but not from
    validation and test."""

    licence: str = Field("", max_length=100)
    """Licence of the text by SPDX or Hugging Face, such as cc-by-4.0, or a name of your own; empty
    uses the known licence of this kind. Required if there are several corpora."""

    tag: Annotated[str, AfterValidator(check_tag_name)] = ""
    """Domain tag that the model reads before each source line; corpora may share a tag.
    ``nmt translate --tag`` selects one. Empty adds no tag."""

    filter: FilterConfig | None = None
    """Filters of its training pairs; null and omitted settings use ``download.filter``."""

    train_only: bool = False
    """Use this corpus only for training; ignore its validation and test sets."""

    @abstractmethod
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Fetch the files of the corpus without reading the text.

        Args:
            languages: source and target, which passed ``check``.
            fetch: fetches a file from the web, or returns the cached one.
            scratch: folder for temporary files.

        Returns:
            The text of train, and of the splits in ``list_given``.

        Raises:
            CorpusError: if a file cannot be fetched or read, or has another digest.
        """

    @abstractmethod
    def describe(self) -> Description:
        """Return the description of the corpus with its licence."""

    def list_directions(self, languages: Languages) -> list[Languages]:
        """Return the directions that the corpus can serve; ``languages`` are the default."""
        own = self.languages or languages
        return [own, own.reversed] if self.is_parallel else []

    def list_languages(self, languages: Languages) -> tuple[str, ...]:
        """Return the language codes of the text, source first."""
        return languages.codes

    def list_given(self) -> frozenset[Split]:
        """Return the splits that the corpus has in addition to train."""
        return frozenset()

    def choose_filter(self, default: FilterConfig) -> FilterConfig:
        """Return the filters of the corpus, or the default ones."""
        return self.filter or default

    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        """Return size and SHA-256 of every file of the text, which is fetched if necessary.

        A corpus without files returns an empty list, and is read on every run.

        Raises:
            CorpusError: if a file cannot be fetched or read, or has another digest.
        """
        return [fetch(source).origin for source in self.sources(languages)]

    def check(self, languages: Languages) -> None:
        """Raise a ValueError if the corpus does not have both languages."""

    def estimate_size(self, languages: Languages, find_cached: FindCached) -> Size | None:
        """Return the estimated size of train without fetching files; None if unknown."""
        del languages, find_cached
        return None

    def held_out(self) -> str | None:
        """Return the rule that selects the test set; None for selection by hash."""
        return None


def list_dropped(on_bad_line: OnBadLine, *, given: bool = False) -> tuple[Problem, ...]:
    """Return the problems for which a pair is dropped and counted.

    By default, pairs of ``given`` validation and test sets are not dropped.
    """
    if on_bad_line == "drop":
        return (*DAMAGED, *UNUSABLE)
    return () if given else UNUSABLE
