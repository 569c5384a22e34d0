"""Ordinary case and accents, restored from what most of a training text has.

A word in capitals or without its accents is another word for a model. Truecasing (Lita et al.
2003) and restoring of diacritics bring back the word that the model has learnt. Both act only on
lines that as a whole are written in this way, so that words of sound text stay as they are:
docs/experiments/restoration.md measures this.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import regex

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.seal import explain_unreadable
from nmt_core.text.normalize import normalize

FILE = "restoration.json"

FEWEST = 2
"""Occurrences of a word that is believed."""
MOST = 200_000
"""Words of each kind that are kept, the most frequent ones."""
RARE = 0.05
"""A word without accents is taken for one that lost them if it is so rare beside the other."""
LONG_TEXT = 10
"""Occurrences of the most frequent word of a text that is long enough to know what is unknown."""

SHORTEST_START, SHORTEST_END = 3, 5
"""Letters of both parts of a compound."""
FEWEST_WORDS = 3
"""Words of a line whose case is believed to be odd."""
FEWEST_TITLED = 5
"""The same if each begins with a capital, as in "Vielen Dank, Herr Kommissar"."""
ONE_IN = 10
"""Words of a line in odd case of which one may be in another."""

SPELT_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "å": "aa", "æ": "ae", "ø": "oe", "œ": "oe"}
)
"""Letters for which others are typed where the keyboard lacks them."""

NEAR = 5
"""Characters before a word that tell whether it begins a sentence."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_BEYOND_ASCII = regex.compile(r"(?![A-Za-z])\p{L}")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts without spaces between words, where a run of letters may be a sentence."""
_BEGINNING = regex.compile(r"(?:^\P{L}*|(?<!\p{Nd})[.!?:…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)$")
_FINAL = regex.compile(r"[.!?…][\"“”»’)\]]*$")
_FIRST = regex.compile(r"(^[^\p{L}\p{Nd}]*|(?<!\p{Nd})[.!?…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)(\p{L})")


class Restored(NamedTuple):
    """A line in its ordinary case and with its accents."""

    line: str
    restored_words: tuple[str, ...] = ()
    """Words that the line as it was given does not have, once each."""
    unknown_words: tuple[str, ...] = ()
    """Its words that the training text never has, once each."""


class _Saved(Config, extra="ignore"):
    """The file of ``Restorer.save``; earlier ones lack words, or hold more."""

    case: dict[str, str]
    accents: dict[str, str]
    words: str = ""


class Restorer:
    """Restores lines of one language.

    Args:
        case: forms of words that are not written in lower case, by what they are in lower case.
        accents: words in lower case that have accents, by what they are without.
        words: words of the training text in lower case; none if it was too short to identify
            unknown words.
    """

    def __init__(
        self, case: Mapping[str, str], accents: Mapping[str, str], words: Collection[str] = ()
    ) -> None:
        self.case = case
        self.accents = accents
        self.words = frozenset(words)

    @classmethod
    def learn(cls, lines: Iterable[str]) -> Self:
        """Learn from normalised lines; a capital at the beginning of a sentence says nothing."""
        forms: dict[str, Counter[str]] = defaultdict(Counter)
        words: Counter[str] = Counter()
        for line in lines:
            for match in _WORD.finditer(line):
                word = match[0]
                lowered = word.lower()
                words[lowered] += 1
                if word == lowered or not _begins_sentence(match):
                    forms[lowered][word] += 1
        totals = Counter({word: seen.total() for word, seen in forms.items()})
        often = [word for word, count in totals.most_common(MOST) if count >= FEWEST]
        best = ((word, forms[word].most_common(1)[0][0]) for word in often)
        case = {word: form for word, form in best if form != word}
        is_long = max(words.values(), default=0) >= LONG_TEXT
        ordered = sorted(words, key=lambda word: (-words[word], word))
        return cls(case, find_accents(words), ordered[:MOST] if is_long else ())

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read what ``save`` wrote; None if nothing was learnt."""
        path = folder / FILE
        if not path.exists():
            return None
        with explain_unreadable(path):
            saved = _Saved.model_validate_json(path.read_bytes())
        accents = {  # earlier versions also read "dass" as "daß"
            plain: word for plain, word in saved.accents.items() if plain != word.replace("ß", "ss")
        }
        return cls(saved.case, accents, saved.words.split())

    def save(self, folder: Path) -> None:
        """Write what was learnt."""
        words = " ".join(sorted(self.words))
        learnt = _Saved(case=dict(self.case), accents=dict(self.accents), words=words)
        files.write_json(folder / FILE, learnt.model_dump())

    def restore(self, line: str, keep: Sequence[str] = (), *, case: bool = False) -> Restored:
        """Return a line as the training text would have it.

        Args:
            line: the line, which is normalised first.
            keep: texts whose words count as known.
            case: restore the ordinary case, too, whatever case the line has.
        """
        line = normalize(line)
        read = self.restore_accents(line.lower() if case else line)
        if case:
            read = self._restore_case(read)
        given = {*_WORD.findall(line)} if read != line else ()
        restored = dict.fromkeys(word for word in _WORD.findall(read) if word not in given)
        return Restored(read, (*restored,) if given else (), self.list_unknown_words(read, keep))

    def _restore_case(self, lowered: str) -> str:
        """Return a line of lower case in the ordinary one."""
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

    def list_unknown_words(self, line: str, keep: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the words of a line that the training text never has, once each, in its case.

        None where the training text was too short to tell, and none of a script without spaces.
        The words of ``keep`` count as known.
        """
        if not self.words:
            return ()
        known = {word.lower() for text in keep for word in _WORD.findall(normalize(text))}
        known |= {word for word in map(str.lower, _WORD.findall(line)) if word in self.words}
        words = dict.fromkeys(word for word in _WORD.findall(line) if word.lower() not in known)
        return tuple(word for word in words if not _UNSPACED.search(word))

    def restore_accents(self, line: str) -> str:
        """Return a line with the accents of words that are known with accents alone.

        The line must have no letter beyond ASCII, and either two such words or one that is spelt
        with other letters, such as "fuer": one word alone may be another, such as French "marche"
        beside "marché".
        """
        lowered = map(str.lower, _WORD.findall(line))
        lacking = self.accents.keys() & {*lowered}
        spelt_out = any(len(word) != len(self.accents[word]) for word in lacking)
        if not (spelt_out or len(lacking) > 1) or _BEYOND_ASCII.search(line):
            return line
        return _WORD.sub(lambda match: self._restore_word(match[0]), line)

    def _restore_word(self, word: str) -> str:
        known = self.accents.get(word.lower())
        if known is None:
            return word
        if word.isupper():
            return known.upper()
        return capitalize(known) if word[0].isupper() else known


def _begins_sentence(word: regex.Match[str]) -> bool:
    """Tell whether a word stands at the beginning of a sentence of its line."""
    return bool(_BEGINNING.search(word.string, max(0, word.start() - NEAR), word.start()))


def find_accents(words: Counter[str]) -> dict[str, str]:
    """Return words with accents, of lower case, by what they are without, where that is no word."""
    accents: dict[str, str] = {}
    for word, count in words.most_common():
        if count < FEWEST or len(accents) >= MOST:
            break
        for plain in sorted(list_plain_forms(word) - accents.keys()):
            if words[plain] <= RARE * count:
                accents[plain] = word
    return accents


def list_plain_forms(word: str) -> set[str]:
    """Return a word as it is typed where the keyboard lacks letters, as "fur", "fuer" for "für".

    A word that only lacks its ß is not one: Swiss and newer German text has "dass" for "daß".
    """
    spelt_out = word.translate(SPELT_OUT)
    return {remove_accents(word), spelt_out} - {word, word.replace("ß", "ss")}


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
        return "title" if len(words) >= FEWEST_TITLED else None
    return "lower" if all(map(str.islower, words)) else None
