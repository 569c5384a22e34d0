"""Ordinary case and accents, restored from what most of a training text has.

A word in capitals, or typed without its accents, is another word for a model. Truecasing (Lita et
al. 2003) and restoring of diacritics bring back the word that it has learnt.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Self

import regex

from nmt_core.base import files

FILE = "restoration.json"

FEWEST = 2
"""Occurrences of a word that is believed."""
MOST = 200_000
"""Words of each kind that are kept, the most frequent ones."""
RARE = 0.05
"""A word without accents is taken for a mistyped one if it is so rare beside one that has them."""

SHORTEST_START, SHORTEST_END = 3, 5
"""Letters of both parts of a compound."""
FEWEST_WORDS = 3
"""Words of a line whose case is believed to be odd."""
ONE_IN = 10
"""Words of a line in odd case of which one may be in another."""

NEAR = 5
"""Characters before a word that tell whether it begins a sentence."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_BEGINNING = regex.compile(r"(?:^\P{L}*|(?<!\p{Nd})[.!?:…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)$")
_FINAL = regex.compile(r"[.!?…][\"“”»’)\]]*$")
_FIRST = regex.compile(r"(^\P{L}*|(?<!\p{Nd})[.!?…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)(\p{L})")


class Restorer:
    """Restores lines of one language.

    Args:
        case: forms of words that are not written in lower case, by what they are in lower case.
        accents: words in lower case that have accents, by what they are without.
    """

    def __init__(self, case: Mapping[str, str], accents: Mapping[str, str]) -> None:
        self.case = case
        self.accents = accents

    @classmethod
    def learn(cls, lines: Iterable[str]) -> Self:
        """Learn from normalised lines; words at the beginning of sentences say nothing of case."""
        forms: dict[str, Counter[str]] = defaultdict(Counter)
        words: Counter[str] = Counter()
        for line in lines:
            for match in _WORD.finditer(line):
                word = match[0]
                words[word.lower()] += 1
                if not _BEGINNING.search(line, max(0, match.start() - NEAR), match.start()):
                    forms[word.lower()][word] += 1
        totals = Counter({word: seen.total() for word, seen in forms.items()})
        often = [word for word, count in totals.most_common(MOST) if count >= FEWEST]
        best = ((word, forms[word].most_common(1)[0][0]) for word in often)
        return cls({word: form for word, form in best if form != word}, find_accents(words))

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read what :meth:`save` wrote; None if nothing was learnt."""
        path = folder / FILE
        if not path.exists():
            return None
        saved = files.read_json(path)
        return cls(saved["case"], saved["accents"])

    def save(self, folder: Path) -> None:
        """Write what was learnt."""
        files.write_json(folder / FILE, {"case": dict(self.case), "accents": dict(self.accents)})

    def restore_case(self, line: str) -> str:
        """Return a line in the ordinary case, whatever case it has."""
        lowered = self.restore_accents(line.lower())
        restored = _WORD.sub(lambda match: self._find_form(match[0]), lowered)
        if not _FINAL.search(restored):
            return restored
        return _FIRST.sub(lambda match: match[1] + match[2].upper(), restored)

    def _find_form(self, word: str) -> str:
        """Return a word in its case; one that is not known has that of its end, as compounds do."""
        if word in self.case:
            return self.case[word]
        ends = (word[start:] for start in range(SHORTEST_START, len(word) - SHORTEST_END + 1))
        known = next((end for end in ends if end in self.case), "")
        return capitalize(word) if self.case.get(known, "").istitle() else word

    def restore_accents(self, line: str) -> str:
        """Return a line with the accents of words that are known with accents alone."""
        if self.accents.keys().isdisjoint(map(str.lower, _WORD.findall(line))):
            return line
        return _WORD.sub(lambda match: self._restore_word(match[0]), line)

    def _restore_word(self, word: str) -> str:
        known = self.accents.get(word.lower())
        if known is None:
            return word
        if word.isupper():
            return known.upper()
        return capitalize(known) if word[0].isupper() else known


def find_accents(words: Counter[str]) -> dict[str, str]:
    """Return words with accents, of lower case, by what they are without, where that is no word."""
    accents: dict[str, str] = {}
    for word, count in words.most_common():
        if count < FEWEST or len(accents) >= MOST:
            break
        for plain in sorted({fold(word), word.replace("ß", "ss")} - {word, *accents}):
            if words[plain] <= RARE * count:
                accents[plain] = word
    return accents


def fold(word: str) -> str:
    """Return a word as it is typed where there are no accents, nor the letter ß."""
    return remove_accents(word).replace("ß", "ss")


def remove_accents(line: str) -> str:
    """Return a line without marks on its letters."""
    plain = (sign for sign in unicodedata.normalize("NFD", line) if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", "".join(plain))


def capitalize(word: str) -> str:
    """Return a word with a capital at its beginning, and the rest as it is."""
    return word[:1].upper() + word[1:]


OddCase = Literal["upper", "lower", "title"]


def find_odd_case(line: str) -> OddCase | None:
    """Return the case of a line that is not an ordinary one; None if it is.

    A line is in capitals, or has one at the beginning of every word, if at most one word in ten is
    otherwise, such as a unit or an article; it is in lower case if all of it is.
    """
    parts = line.split()
    small = sum(part[0].isalpha() and part[0].islower() for part in parts)
    if small > len(parts) // ONE_IN and not line.islower():
        return None  # as nearly every line, and sooner told
    words = [letters for word in parts if (letters := "".join(_WORD.findall(word)))]
    if len(words) < FEWEST_WORDS:
        return None
    others = len(words) // ONE_IN
    if sum(not word.isupper() for word in words) <= others:
        return "upper"
    if sum(not word[0].isupper() for word in words) <= others:
        return "title"
    return "lower" if all(map(str.islower, words)) else None
