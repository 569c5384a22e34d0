"""The demo language as a corpus."""

from pathlib import Path
from typing import Literal

from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus, Description, Origin, Size
from nmt_core.corpora.parallel_text import Pair, Text, write_pairs
from nmt_core.corpora.splitting import SPLITS, Split
from nmt_core.fetch.source import Fetch, FindKept, find_nothing
from stages.demo.generate import GrammarConfig, generate

CHARACTERS = 67
"""Of a sentence, on the average."""


class DemoCorpus(Corpus):
    """Sentences of a small grammar: no network, no licence, made in a second."""

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

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Write sentences, source first."""
        del fetch
        drawn = generate(self.grammar)
        texts: dict[Split, Text] = {}
        for split in SPLITS:
            paths = (scratch / f"demo.{split}.source", scratch / f"demo.{split}.target")
            step = 1 if languages.source == "de" else -1
            write_pairs((Pair(*pair[::step]) for pair in drawn[split]), *paths)
            texts[split] = Text((paths,))
        return texts

    def list_given(self) -> frozenset[Split]:
        """Return that it brings both."""
        return frozenset({"validation", "test"})

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return where the grammar stands."""
        del split, languages
        return Origin("code", "stages/demo")

    def estimate_size(self, languages: Languages, *, find_kept: FindKept = find_nothing) -> Size:
        """Estimate the size of the corpus."""
        del languages, find_kept
        return Size(self.grammar.train_pairs, self.grammar.train_pairs * CHARACTERS)

    def describe(self) -> Description:
        """Return that it is a part of this project."""
        text = "Sentences that a small grammar of this project wrote; like it, they are Apache-2.0."
        return Description("demo", {"license": "apache-2.0"}, text)

    def held_out(self) -> str | None:
        """Return that the grammar decides, for every combination of words."""
        return "by the grammar"
