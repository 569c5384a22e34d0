"""Filters of training pairs, and the comparison of sentences."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from nmt_core.base.config import Config
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.repairs import RepairName
from nmt_core.text.normalize import normalize

FilterName = Literal["language", "repetition", "literals", "length", "alignment"]
"""The filters of a screen, in order."""

FindingKind = Literal[
    "swapped", "wrong_language", "shifted", "unrelated", "stray_language", "entities", "mojibake",
    "tags", "numbers", "repeated", "tokenized", "lower_case",
]  # fmt: skip
"""Problems of a whole corpus, or of some of its pairs."""

PLAINLY_WRONG: Mapping[FilterName, float] = {
    "language": 1.5,
    "repetition": 0.0,
    "literals": 1.0,  # a number on one side only counts 1, a changed one more
}
"""Signals above which a pair is wrong in any text."""

Threshold = float | Literal["off"]
"""Pairs whose signal is above it are dropped; "off" drops no pair."""


class LookConfig(Config):
    """Sanity check on a sample of a corpus: a fault of the whole corpus stops the run."""

    accepted: list[FindingKind] = Field(default_factory=list)
    """Kinds of accepted findings, which are not reported and do not stop the run."""


class ScreenConfig(Config):
    """Filters by signals that are learnt from the text; each signal grows with the defect."""

    sample_pairs: Annotated[int, Field(ge=100, le=1_000_000)] = 20_000
    """Size of the sample, drawn evenly from the whole corpus."""

    language: Threshold = PLAINLY_WRONG["language"]
    """Advantage of the most likely other language: a difference of log-likelihoods over the square
    root of the line's bytes (py3langid). Lines of fewer than 16 letters are not judged."""

    repetition: Threshold = PLAINLY_WRONG["repetition"]
    """1 if one side alone has up to four words three times in a row, 0 otherwise."""

    literals: Threshold = PLAINLY_WRONG["literals"]
    """Number of literals (numbers, URLs, ...) without a counterpart; one more if the target has
    other literals."""

    length: Threshold = 0.5
    """Difference of lengths: natural logarithm of the target's letters over the expected number,
    which is the source's letters times the median ratio in the sample. Ten letters are added to
    both numbers, because the ratio of short lines varies most."""

    alignment: Annotated[float, Field(gt=0, lt=1)] | Literal["off"] = 0.9
    """Share of pairs to drop if sources and targets of the corpus were paired at random. The signal
    is the negative gain in nats of explaining a word by the other side instead of by chance, on the
    side that is explained worse."""


class FilterConfig(Config):
    """Filters of training pairs; your own validation and test sets are never filtered."""

    min_words: NonNegativeInt = 1
    """Minimum number of words of a side, separated by white space."""

    max_words: PositiveInt = 150
    """Maximum number of words of a side; longer lines cost memory and improve a model little."""

    max_characters: PositiveInt = 1000
    """Maximum number of characters of a side, for languages without spaces."""

    max_length_ratio: Annotated[float, Field(ge=1)] = 3.0
    """Maximum ratio of letters of the longer side to the shorter. An ideograph counts as three
    letters, a Japanese or Korean syllable as two."""

    ratio_floor_characters: PositiveInt = 20
    """Minimum length of a side in this ratio, because ratios of short sentences vary most."""

    remove_untranslated: bool = True
    """Remove pairs of equal sentences longer than ``ratio_floor_characters``; a few such pairs
    train a model to copy (Khayrallah and Koehn 2018)."""

    repair: list[RepairName] = Field(default_factory=list)
    """Repairs of every line before all filters: ``entities`` (``&amp;`` becomes ``&``),
    ``tags`` of HTML (removed) and ``mojibake`` (``fÃ¼r`` becomes ``für``)."""

    look: LookConfig | None = None
    """Sanity check of each corpus from files: swapped or shifted sides, another language,
    tokenization, lower case, entities of HTML or mojibake; null turns it off, unless ``screen`` is
    set."""

    screen: ScreenConfig | None = None
    """The same check, and filters learnt from the corpus, which also apply to validation and test
    sets that are split off; null turns them off."""

    remove_duplicates: bool = True
    """Keep only the first of pairs that are equal except for case, punctuation and white space."""

    @model_validator(mode="after")
    def _check(self) -> "FilterConfig":
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is above max_words {self.max_words}")
        return self


NO_TRANSLATION = frozenset({"length_ratio", "untranslated"})
"""Reasons of ``find_fault`` that also exclude a pair from testing."""

_VARIATION_SELECTORS = {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
"""Characters that change the glyph before them, such as the colour of an emoji."""

_SHARP_S, _MICRO = b"\xdf", b"\xb5"
"""Letters of Latin-1 that casefold to two letters, and to a letter beyond Latin-1."""


class MarkTable(dict[int, str]):
    """A table for ``str.translate`` that replaces punctuation, symbols, separators and controls.

    Format characters and variation selectors, such as a soft hyphen, are always dropped, since they
    do not separate words.
    """

    def __init__(self, replacement: str) -> None:
        super().__init__()
        self._replacement = replacement
        signs = [self[ord(chr(code).lower())] for code in range(256)]
        self._latin = "".join(sign or " " for sign in signs).encode("latin-1")
        self._dropped = bytes(code for code, sign in enumerate(signs) if not sign)

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        if category == "Cf" or code in _VARIATION_SELECTORS:
            self[code] = ""
        else:
            self[code] = self._replacement if category[0] in "PSZC" else chr(code)
        return self[code]

    def fold(self, line: str) -> str:
        """Return a line, case-folded and in NFC, with these characters replaced."""
        folded = unicodedata.normalize("NFC", line.casefold()).translate(self)
        return unicodedata.normalize("NFC", folded)  # a letter may now precede its accent

    def fold_latin(self, line: str) -> str:
        """Return the same for a line of Latin-1, but much faster; "" for nearly all other lines."""
        try:
            latin = line.encode("latin-1")
        except UnicodeEncodeError:
            return ""
        latin = latin.replace(_SHARP_S, b"ss").translate(self._latin, self._dropped)
        return "" if _MICRO in latin else latin.decode("latin-1")


_COMPARABLE = MarkTable("")

_WIDE = re.compile(
    "([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])|[\u3041-\u30ff\uac00-\ud7a3]"
)
"""A Chinese character, in any language, as a group; or one of Hiragana, Katakana and Hangul."""
_MAY_BE_WIDE = re.compile("[\u3041-\U0003ffff]")


@lru_cache(maxsize=2)  # several functions compare the sides of the same pair
def make_comparison_key(line: str) -> str:
    """Return the key that equal sentences share.

    The key is the line as a model sees it (``normalize``), case-folded, in NFC, without
    punctuation, symbols and white space; a line of these alone is its own key.
    """
    if key := _COMPARABLE.fold_latin(line):  # in Latin-1, normalize changes only what this removes
        return key
    line = normalize(line)
    return _COMPARABLE.fold(line) or unicodedata.normalize("NFC", line.casefold())


def count_letters(line: str) -> int:
    """Return the length of a line in letters of an alphabet.

    An ideograph counts as three, a syllable as two, so that English and Japanese sentences of the
    Tanaka corpus have the same median length.
    """
    wide = _WIDE.findall(line) if not line.isascii() and _MAY_BE_WIDE.search(line) else ()
    return len(line) + len(wide) + len("".join(wide))


def find_fault(pair: Pair, config: FilterConfig) -> str | None:
    """Return the reason why a pair is not suitable for training, or None."""
    sides = pair.source.strip(), pair.target.strip()
    characters = max(map(len, sides))
    shorter, longer = sorted(map(count_letters, sides))
    floor = config.ratio_floor_characters
    if longer > config.max_length_ratio * max(shorter, floor):
        return "length_ratio"
    if config.remove_untranslated and longer > floor:
        source, target = map(make_comparison_key, pair)
        if source == target:
            return "untranslated"
    words = [side.split(None, config.min_words) for side in sides]
    if min(map(len, words)) < config.min_words:
        return "too_few_words"
    if characters > 2 * config.max_words:  # 150 words have at least 299 characters
        words = [*map(str.split, sides)]
    if max(map(len, words)) > config.max_words:
        return "too_many_words"
    if characters > config.max_characters:
        return "too_many_characters"
    return None
