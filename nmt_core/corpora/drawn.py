"""Corpora that programs write: no network, no file, and no pair that is left to a hash."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus, Origin
from nmt_core.corpora.fetch.source import Fetch
from nmt_core.corpora.parallel_text import Pair, Text, write_pairs
from nmt_core.corpora.splitting import SPLITS, Split


class DrawnCorpus(Corpus):
    """Settings of a corpus that a program writes, with splits of its own."""

    first_language: ClassVar[str]
    """Code of the language that stands first in what is drawn."""

    code: ClassVar[str]
    """Folder of the program, in this project."""

    @abstractmethod
    def draw(self) -> Mapping[Split, Sequence[Pair]]:
        """Return the pairs of every split."""

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Write pairs, source first."""
        del fetch
        drawn = self.draw()
        texts: dict[Split, Text] = {}
        for split in SPLITS:
            paths = (
                scratch / f"{self.kind}.{split}.source",
                scratch / f"{self.kind}.{split}.target",
            )
            step = 1 if languages.source == self.first_language else -1
            write_pairs((Pair(*pair[::step]) for pair in drawn[split]), *paths)
            texts[split] = Text((paths,))
        return texts

    def list_given(self) -> frozenset[Split]:
        """Return that it brings both."""
        return frozenset({"validation", "test"})

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return where the program stands."""
        del split, languages
        return Origin("code", self.code)
