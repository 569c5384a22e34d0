"""The demo corpus; its validation and test sets contain new combinations of known words.

A hash assigns every combination of words (see ``Combination``) to a split, for any seed:

    share = first 8 bytes, big-endian, of BLAKE2b("construction head dependent"), modulo 100
    share in 0..7    held out for the test set
    share in 8..11   held out for the validation set
    otherwise        not held out

A training pair contains no held-out combination. A test pair contains at least one of the test set
and none of the validation set; a validation pair likewise. Every word of both sets, except words
with digits, occurs on the same side of the training set. No two pairs have the same source or the
same target, ignoring case and punctuation. No set contains a sentence of ``first_sentences.tsv`` or
one of its accepted translations, so that these sentences test a model that has not seen them.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.random import derive_seed
from nmt_core.corpora.corpus import Corpus, Description, Size
from nmt_core.corpora.fetch.source import Fetch, FindCached
from nmt_core.corpora.parallel_text import Pair, Text, write_pairs
from nmt_core.corpora.splitting import SPLITS, Split
from stages.demo.grammar import Combination, Grammar, Node
from stages.demo.reader import read_grammar

GRAMMAR = Path(__file__).with_name("grammar.txt")
FIRST_SENTENCES = Path(__file__).with_name("first_sentences.tsv")
"""Sentences that new users type, in columns: kind of user, German, accepted translations."""

TEST_SHARE = 8
VALIDATION_SHARE = 4
"""Percentages of combinations that are held out."""

LONGEST_WORDS = 30
"""Maximum length of a sentence, in words per side; longer sentences are drawn again."""

DRAWS_PER_PAIR = 50
"""Maximum number of draws per pair, on average."""

_WORD = re.compile(r"[^\W_]+")


class GrammarConfig(Config):
    """Sizes of the corpus of the demo language."""

    train_pairs: int = Field(36_000, ge=1, le=10_000_000)
    """Pairs in the training set; with fewer than about 2000, too few words are known for tests."""

    validation_pairs: int = Field(500, ge=1, le=10_000_000)
    """Pairs in the validation set."""

    test_pairs: int = Field(1000, ge=1, le=10_000_000)
    """Pairs in the test set."""

    seed: int = 1
    """Random seed of the sentences; it does not change which combinations are held out."""


def generate(config: GrammarConfig) -> dict[Split, list[Pair]]:
    """Return the pairs of each split, German first; they depend only on ``config``.

    Raises:
        CorpusError: if the training set is too small to test with known words only.
    """
    counts: dict[Split, int] = {split: getattr(config, f"{split}_pairs") for split in SPLITS}
    numbers = iter(range(DRAWS_PER_PAIR * sum(counts.values()) + 10_000))
    corpus: dict[Split, list[Pair]] = {split: [] for split in SPLITS}
    seen = _list_first_keys()
    early: list[int] = []
    for number in numbers:
        node, split = _draw(config.seed, number)
        if split == "train":
            _keep(node, corpus[split], seen)
            if len(corpus[split]) == counts[split]:
                break
        elif split:
            early.append(number)
    known = _list_words("\n".join(side) for side in zip(*corpus["train"], strict=True))
    for number in chain(early, numbers):
        node, split = _draw(config.seed, number)
        if split and len(corpus[split]) < counts[split]:
            _keep(node, corpus[split], seen, known)
        short = [name for name in SPLITS if len(corpus[name]) < counts[name]]
        if not short:
            return corpus
    drawn, wanted = len(corpus[short[0]]), counts[short[0]]
    raise CorpusError(
        f"only {drawn} of {wanted} {short[0]} pairs consist of words of the training set; raise "
        f"train_pairs or lower {short[0]}_pairs"
    )


@cache
def load_grammar() -> Grammar:
    """Read the grammar of the demo language."""
    return read_grammar(GRAMMAR.read_text(encoding="utf-8"))


@cache
def held_out(combination: Combination) -> Split:
    """Return the split of a combination; ``train`` if it is not held out."""
    digest = hashlib.blake2b(" ".join(combination).encode()).digest()
    share = int.from_bytes(digest[:8], "big") % 100
    if share < TEST_SHARE:
        return "test"
    return "validation" if share < TEST_SHARE + VALIDATION_SHARE else "train"


def split_of(combinations: Iterable[Combination]) -> Split | None:
    """Return the split of a sentence; None if it has combinations of two held-out sets."""
    claims = {held_out(combination) for combination in combinations} - {"train"}
    if len(claims) > 1:
        return None
    return claims.pop() if claims else "train"


def _draw(seed: int, number: int) -> tuple[Node, Split | None]:
    """Draw a sentence, which depends only on seed and number; return it with its split."""
    grammar = load_grammar()
    node = grammar.draw(Random(derive_seed(seed, "grammar", number)))
    return node, split_of(grammar.combinations(node))


def _keep(node: Node, pairs: list[Pair], seen: set[str], known: set[str] | None = None) -> None:
    """Add a sentence if it is short, both sides are new, and all of its words are known."""
    pair = Pair(*load_grammar().say(node))
    if max(text.count(" ") for text in pair) >= LONGEST_WORDS:
        return
    if known is not None and not known.issuperset(_list_words(pair)):
        return
    keys = {_make_key(side, text) for side, text in enumerate(pair)}
    if not keys & seen:
        seen |= keys
        pairs.append(pair)


def _make_key(side: int, text: str) -> str:
    """Return a key that is equal for sentences that differ only in case and punctuation."""
    return f"{side} {' '.join(_WORD.findall(text.lower()))}"


def _list_first_keys() -> set[str]:
    """Return the keys of ``FIRST_SENTENCES`` and their translations, which no split contains."""
    rows = FIRST_SENTENCES.read_text(encoding="utf-8").splitlines()
    columns = [row.split("\t")[1:] for row in rows]
    return {_make_key(min(n, 1), text) for texts in columns for n, text in enumerate(texts)}


def _list_words(texts: Iterable[str]) -> set[str]:
    """Return the words of both sides without digits, each with the number of its side."""
    return {
        f"{side} {word}"
        for side, text in enumerate(texts)
        for word in set(_WORD.findall(text))
        if word.isalpha()
    }


CHARACTERS = 38
"""Average length of a sentence, in characters."""


class DemoCorpus(Corpus):
    """Sentences that a grammar generates in seconds, without a download."""

    kind: Literal["demo"]
    """Selects this corpus."""

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
            write_pairs([Pair(*pair[::step]) for pair in pairs], source, target)
            texts[split] = Text(((source, target),))
        return texts

    def list_given(self) -> frozenset[Split]:
        """Return validation and test."""
        return frozenset({"validation", "test"})

    def estimate_size(self, languages: Languages, find_cached: FindCached) -> Size:
        """Estimate the size of the corpus."""
        del languages, find_cached
        return Size(self.grammar.train_pairs, self.grammar.train_pairs * CHARACTERS)

    def describe(self) -> Description:
        """Return name, licence and origin."""
        text = "Sentences that a small grammar of this project wrote; like it, they are Apache-2.0."
        return Description("demo", {"license": "apache-2.0"}, text)

    def held_out(self) -> str | None:
        """Return the rule by which combinations of words are held out."""
        return "by the grammar"
