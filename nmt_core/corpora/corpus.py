"""Corpora: the sources of parallel text.

A new source is a file with a subclass of :class:`Corpus`, its line in ``registered.py``, and a
choice for people, ``conf/data/NAME.yaml``. Nothing else asks which source a corpus is.
"""

import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field

from nmt_core.base.languages import Languages
from nmt_core.corpora.fetch.settings import Pinnable
from nmt_core.corpora.fetch.source import Fetch, Fetchable, FindKept, find_nothing
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.parallel_text import DAMAGED, UNUSABLE, Problem, Text
from nmt_core.corpora.splitting import Split

OnBadLine = Literal["error", "drop"]

GIVEN = "as it was given"
"""The rule of a given test set, which may change in any way."""


class Origin(NamedTuple):
    """The origin of text, for a tracker."""

    kind: Literal["code", "http", "local"]
    place: str
    """A path in this project, an address without secrets, or a path on this machine."""


class Size(NamedTuple):
    """Estimated size of the training text."""

    pairs: int
    target_characters: int


class Description(NamedTuple):
    """The description of a corpus, for the model card."""

    name: str
    licence: dict[str, str]
    """Under the keys of Hugging Face's model cards."""
    text: str


def check_tag_name(tag: str) -> str:
    """Return a tag, or nothing where there is none.

    Raises:
        ValueError: if it is no short name.
    """
    if tag and not re.fullmatch("[A-Za-z0-9_-]{1,40}", tag):
        raise ValueError(
            f"a tag is a name of at most 40 letters, digits, _ and -, such as medical, got {tag!r}"
        )
    return tag


class Corpus(Pinnable, Fetchable):
    """Settings of a source of parallel text.

    A table of tab-separated values, of another package with an entry point in ``nmt.corpora``::

        class TableCorpus(Corpus):
            kind: Literal["table"]
            path: Path

            def obtain(self, languages, *, fetch, scratch):
                return {"train": Text(((self.path,),))}

            def origin(self, split, languages):
                return Origin("local", str(self.path))

            def describe(self):
                return Description("table", {"license": "unknown"}, "Nobody knows.")
    """

    is_parallel: ClassVar[bool] = True
    """Whether it gives pairs, and not text of one language alone."""

    kind: str
    """The name of this choice, by which it is registered."""

    weight: float = Field(1.0, ge=0, le=1_000_000)
    """How often a pair is seen for one of a corpus of weight 1; 0 leaves it out of training, but
    not out of validation and test."""

    licence: str = Field("", max_length=100)
    """Licence of the text, as SPDX or Hugging Face spell it, such as cc-by-4.0, or a name of your
    own; empty takes what is known of this kind. Asked for where there are several corpora."""

    tag: Annotated[str, AfterValidator(check_tag_name)] = ""
    """Short name of where the text is from, which several corpora may share: what a model reads
    before each of their source lines. Who translates may choose one, by ``nmt translate --tag``;
    empty for none."""

    filter: FilterConfig | None = None
    """Filters of its training pairs; null, and what it leaves out, takes ``download.filter``."""

    train_only: bool = False
    """Take no validation or test pairs from it; what it brings for them is not read."""

    @abstractmethod
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Bring the corpus onto the disk; its text is not read yet.

        Args:
            languages: of source and target; :meth:`check` has let them pass.
            fetch: brings a file of the web onto the disk, and keeps it for the next time.
            scratch: takes what is needed only now.

        Returns:
            The text of train, and of the splits in :meth:`list_given`.

        Raises:
            DownloadError: if a file cannot be fetched or is not what was promised.
            CorpusError: if a file cannot be read or is not what it was.
        """

    @abstractmethod
    def origin(self, split: str, languages: Languages) -> Origin:
        """Return where the text of a split came from."""

    @abstractmethod
    def describe(self) -> Description:
        """Describe the corpus, its licence above all."""

    def list_languages(self, languages: Languages) -> tuple[str, ...]:
        """Return the codes of the languages that the text is in, the source's first."""
        return languages.codes

    def list_given(self) -> frozenset[Split]:
        """Return the splits that the corpus brings beside train."""
        return frozenset()

    def choose_filter(self, default: FilterConfig) -> FilterConfig:
        """Return the filters of the corpus: its own, or else those of all."""
        return self.filter or default

    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        """Return size and SHA-256 of every file that the text comes from, the web's fetched.

        A corpus that comes from no file has none, and is read whenever it is asked for.

        Raises:
            DownloadError: if a file cannot be fetched or is not what was promised.
            CorpusError: if a file cannot be read or is not what it was.
        """
        return [fetch(source).origin for source in self.sources(languages)]

    def check(self, languages: Languages) -> None:
        """Check that the corpus has both languages.

        Raises:
            ValueError: if it has not.
        """

    def estimate_size(
        self, languages: Languages, *, find_kept: FindKept = find_nothing
    ) -> Size | None:
        """Estimate the size of train without fetching anything; None if it is unknown.

        Args:
            languages: of source and target.
            find_kept: finds files of the web that were fetched before.

        Raises:
            CorpusError: if a file cannot be read.
        """
        del languages, find_kept
        return None

    def held_out(self) -> str | None:
        """Return the rule by which the test set was held out; None if a hash draws it."""
        return None


def list_dropped(on_bad_line: OnBadLine, *, given: bool = False) -> tuple[Problem, ...]:
    """Return the problems for which a pair is left out and counted.

    Args:
        on_bad_line: what the user wants of lines that are no text.
        given: whether the text is a validation or test set, where nothing may be left out unasked.
    """
    if on_bad_line == "drop":
        return (*DAMAGED, *UNUSABLE)
    return () if given else UNUSABLE
