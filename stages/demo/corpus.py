"""The demo language as a corpus."""

from typing import ClassVar, Literal

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Description, GeneratedCorpus, Size
from nmt_core.corpora.fetch.source import FindCached, find_nothing
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.splitting import Split
from stages.demo.generate import GrammarConfig, generate

CHARACTERS = 67
"""Of a sentence, on the average."""


class DemoCorpus(GeneratedCorpus):
    """Sentences of a small grammar: no network, no licence, made in a second."""

    first_language: ClassVar = "de"
    code: ClassVar = "stages/demo"

    kind: Literal["demo"]
    """The tag of this choice."""

    grammar: GrammarConfig
    """Numbers of pairs of the splits, and the seed."""

    def check(self, languages: Languages) -> None:
        """Check that the languages are German and English."""
        if {*languages.codes} != {"de", "en"}:
            raise ValueError(
                f"the demo corpus has German (de) and English (en), "
                f"got {' and '.join(languages.codes)}"
            )

    def generate(self) -> dict[Split, list[Pair]]:
        """Draw the sentences of every split, German first."""
        return generate(self.grammar)

    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size:
        """Estimate the size of the corpus."""
        del languages, find_cached
        return Size(self.grammar.train_pairs, self.grammar.train_pairs * CHARACTERS)

    def describe(self) -> Description:
        """Return that it is a part of this project."""
        text = "Sentences that a small grammar of this project wrote; like it, they are Apache-2.0."
        return Description("demo", {"license": "apache-2.0"}, text)

    def held_out(self) -> str | None:
        """Return that the grammar decides, for every combination of words."""
        return "by the grammar"
