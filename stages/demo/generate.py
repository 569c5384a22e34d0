"""A corpus of the demo language, whose validation and test sets combine known words anew.

What is held out is decided for every combination of words (see
:class:`~stages.demo.phrases.Combination`) apart, whatever the seed:

    share = first 8 bytes, big-endian, of BLAKE2b("construction left right"), modulo 100
    share in 0..7    the combination is held out for the test set
    share in 8..11   the combination is held out for the validation set
    otherwise        the combination may be seen in training

A training pair shows no held-out combination. A test pair shows at least one that is held out for
the test set and none for the validation set, and a validation pair the other way round. Every word
of the two sets, words with digits excepted, occurs on the same side of the training set; no two
pairs have the same source or the same target, compared without case and punctuation.
"""

import hashlib
import re
from functools import cache
from typing import Literal, NamedTuple, get_args

from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from stages.demo.composer import Composer
from stages.demo.phrases import Combination
from stages.demo.sentence import Sentence
from stages.demo.sentences import sentence
from stages.demo.settings import GrammarConfig

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

TEST_SHARE = 8
VALIDATION_SHARE = 4
"""Combinations in a hundred that are held out."""

LONGEST_WORDS = 30
"""Longest sentence, in words on either side; a longer one is drawn again."""

DRAWS_PER_PAIR = 50
"""Draws, on average, after which a split is given up."""

_WORD = re.compile(r"[^\W_]+")


class Pair(NamedTuple):
    """A sentence and its one translation."""

    source: str
    """German."""
    target: str
    """English."""


def generate(config: GrammarConfig) -> dict[str, list[Pair]]:
    """Write the corpus: the same config gives the same pairs everywhere.

    Returns:
        The pairs of ``train``, ``validation`` and ``test``, in this order.

    Raises:
        CorpusError: if the training set is too small to test with known words only.
    """
    return {
        split: [Pair(drawn.source, drawn.target) for drawn in sentences]
        for split, sentences in draw(config).items()
    }


def draw(config: GrammarConfig) -> dict[Split, list[Sentence]]:
    """Draw the sentences of the corpus with what they combine; see :func:`generate`."""
    seen: set[str] = set()
    known: set[str] = set()
    corpus: dict[Split, list[Sentence]] = {}
    for split in SPLITS:
        count = getattr(config, f"{split}_pairs")
        corpus[split] = _draw_split(split, count, config.seed, seen, known)
        if split == "train":
            known.update(*(_words(drawn) for drawn in corpus[split]))
    return corpus


def held_out(combination: Combination) -> Split:
    """Return the only split that may show a combination, where train stands for any."""
    return _share(" ".join(combination))


def split_of(combinations: frozenset[Combination]) -> Split | None:
    """Return the split of a sentence, or None if two splits claim it."""
    claims = {held_out(combination) for combination in combinations} - {"train"}
    if len(claims) > 1:
        return None
    return claims.pop() if claims else "train"


@cache
def _share(text: str) -> Split:
    digest = hashlib.blake2b(text.encode()).digest()
    share = int.from_bytes(digest[:8], "big") % 100
    if share < TEST_SHARE:
        return "test"
    return "validation" if share < TEST_SHARE + VALIDATION_SHARE else "train"


def _draw_split(
    split: Split, count: int, seed: int, seen: set[str], known: set[str]
) -> list[Sentence]:
    composer = Composer(make_generator(seed, "grammar", split))
    kept: list[Sentence] = []
    for _ in range(DRAWS_PER_PAIR * count + 10_000):
        drawn = sentence(composer)
        if split_of(drawn.combinations) != split or _too_long(drawn):
            continue
        if split != "train" and not known.issuperset(_words(drawn)):
            continue
        keys = {f"source {_key(drawn.source)}", f"target {_key(drawn.target)}"}
        if keys & seen:
            continue
        seen |= keys
        kept.append(drawn)
        if len(kept) == count:
            return kept
    raise CorpusError(
        f"only {len(kept)} of {count} {split} pairs could be written with words of the training "
        f"set; raise train_pairs or lower {split}_pairs"
    )


def _too_long(drawn: Sentence) -> bool:
    return max(drawn.source.count(" "), drawn.target.count(" ")) >= LONGEST_WORDS


def _words(drawn: Sentence) -> set[str]:
    """Return the words of both sides that a model must know, marked with their side."""
    return {
        f"{side} {word}"
        for side, text in (("source", drawn.source), ("target", drawn.target))
        for word in _WORD.findall(text)
        if word.isalpha()
    }


def _key(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
