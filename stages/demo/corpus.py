"""The demo language as a corpus."""

from pathlib import Path
from typing import Literal

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus, Description, Origin, Size
from nmt_core.corpora.fetch.source import Fetch, FindCached, find_nothing
from nmt_core.corpora.parallel_text import Pair, Text, write_pairs
from nmt_core.corpora.splitting import Split
from stages.demo.generate import GrammarConfig, generate

CHARACTERS = 67
"""Average length of a sentence."""


class DemoCorpus(Corpus):
    """Sentences of a small grammar: no network, no licence, generated in a second."""

    kind: Literal["demo"]
    """The tag of this choice."""

    grammar: GrammarConfig
    """Numbers of pairs of the splits, and the seed."""

    def check(self, languages: Languages) -> None:
        """Check that the languages are German and English."""
        if {*languages.codes} != {"de", "en"}:
            given = " and ".join(languages.codes)
            raise ValueError(f"the demo corpus has German (de) and English (en), got {given}")

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Generate the sentences of every split."""
        del fetch
        texts: dict[Split, Text] = {}
        step = 1 if languages.source == "de" else -1
        for split, pairs in generate(self.grammar).items():
            source, target = (scratch / f"demo.{split}.{side}" for side in Pair._fields)
            write_pairs((Pair(*pair[::step]) for pair in pairs), source, target)
            texts[split] = Text(((source, target),))
        return texts

    def list_given(self) -> frozenset[Split]:
        """Return validation and test."""
        return frozenset({"validation", "test"})

    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size:
        """Estimate the size of the corpus."""
        del languages, find_cached
        return Size(self.grammar.train_pairs, self.grammar.train_pairs * CHARACTERS)

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return the folder of the grammar."""
        del split, languages
        return Origin("code", "stages/demo")

    def describe(self) -> Description:
        """Return that it is a part of this project."""
        text = "Sentences that a small grammar of this project wrote; like it, they are Apache-2.0."
        return Description("demo", {"license": "apache-2.0"}, text)

    def held_out(self) -> str | None:
        """Return that the grammar decides, for every combination of words."""
        return "by the grammar"
