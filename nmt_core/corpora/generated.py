"""Corpora that programs generate, with splits of their own."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus, Origin
from nmt_core.corpora.fetch.source import Fetch
from nmt_core.corpora.parallel_text import Pair, Text, write_pairs
from nmt_core.corpora.splitting import SPLITS, Split


class GeneratedCorpus(Corpus):
    """Settings of a corpus that a program generates, with splits of its own."""

    first_language: ClassVar[str]
    """Code of the language that comes first in generated pairs."""

    code: ClassVar[str]
    """Folder of the program, in this project."""

    @abstractmethod
    def generate(self) -> Mapping[Split, Sequence[Pair]]:
        """Return the pairs of every split."""

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        del fetch
        generated, texts = self.generate(), {}
        step = 1 if languages.source == self.first_language else -1
        for split in SPLITS:
            source, target = (scratch / f"{self.kind}.{split}.{side}" for side in Pair._fields)
            write_pairs((Pair(*pair[::step]) for pair in generated[split]), source, target)
            texts[split] = Text(((source, target),))
        return texts

    @override
    def list_given(self) -> frozenset[Split]:
        return frozenset({"validation", "test"})

    @override
    def origin(self, split: str, languages: Languages) -> Origin:
        del split, languages
        return Origin("code", self.code)
