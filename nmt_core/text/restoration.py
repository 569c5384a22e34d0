"""Ordinary case, accents and spelling, restored from what most of a training text has.

A word in capitals, without its accents, or with a typing error is another word for a model.
Truecasing (Lita et al. 2003), restoring of diacritics and correction of spelling bring back the
word that it has learnt.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import regex

from nmt_core.base import files
from nmt_core.text.normalize import normalize
from nmt_core.text.spelling_correction import (
    SpellingCorrector,
    TypingError,
    correct_typing_errors,
)

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
KNOWN_IN = 3
"""Words of a line of which one may be unknown; where more are, all of them are mistyped or none."""

SPELT_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "å": "aa", "æ": "ae", "ø": "oe", "œ": "oe"}
)
"""Letters for which others are typed where the keyboard lacks them."""

NEAR = 5
"""Characters before a word that tell whether it begins a sentence."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts without spaces between words, where a run of letters may be a sentence."""
_BEGINNING = regex.compile(r"(?:^\P{L}*|(?<!\p{Nd})[.!?:…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)$")
_FINAL = regex.compile(r"[.!?…][\"“”»’)\]]*$")
_FIRST = regex.compile(r"(^\P{L}*|(?<!\p{Nd})[.!?…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)(\p{L})")


class Restored(NamedTuple):
    """A line as it was meant."""

    line: str
    typing_errors: tuple[TypingError, ...] = ()
    """The typing errors that it had."""
    unknown_words: tuple[str, ...] = ()
    """Its words that the training text never has, once each."""


class Restorer:
    """Restores lines of one language.

    Args:
        case: forms of words that are not written in lower case, by what they are in lower case.
        accents: words in lower case that have accents, by what they are without.
        spelling: corrects words in lower case; None corrects none.
    """

    def __init__(
        self,
        case: Mapping[str, str],
        accents: Mapping[str, str],
        spelling: SpellingCorrector | None = None,
    ) -> None:
        self.case = case
        self.accents = accents
        self.spelling = spelling or SpellingCorrector()

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
        return cls(case, find_accents(words), SpellingCorrector.learn(words))

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read what :meth:`save` wrote; None if nothing was learnt."""
        path = folder / FILE
        if not path.exists():
            return None
        saved = files.read_json(path)
        spelling = SpellingCorrector(saved.get("words", "").split(), saved.get("frequent", 0))
        return cls(saved["case"], saved["accents"], spelling)

    def save(self, folder: Path) -> None:
        """Write what was learnt."""
        learnt = {
            "case": dict(self.case),
            "accents": dict(self.accents),
            "words": " ".join(self.spelling.words),
            "frequent": self.spelling.frequent,
        }
        files.write_json(folder / FILE, learnt)

    def restore(self, line: str, keep: Sequence[str] = (), *, case: bool = False) -> Restored:
        """Return a line as it was meant.

        Args:
            line: the line, which is normalised first.
            keep: texts whose words are right as they are.
            case: restore the ordinary case, too, whatever case the line has.
        """
        line = normalize(line)
        accented = self.restore_accents(line.lower() if case else line)
        unknown = self.list_unknown_words(accented, keep)
        typing_errors = self._find_typing_errors(accented, unknown)
        corrected = correct_typing_errors(accented, typing_errors)
        read = self._restore_case(corrected) if case else corrected
        return Restored(read, typing_errors, self.list_unknown_words(read, keep) if unknown else ())

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

    def _find_typing_errors(self, line: str, unknown: Sequence[str]) -> tuple[TypingError, ...]:
        """Return the mistyped words of a line, in its own case, with what is meant by each.

        Words in capitals, which are acronyms, are none. A line of which many words are unknown has
        none, for it is of another kind, unless something is meant by each.
        """
        words = [*_WORD.finditer(line)] if unknown else []
        matches = [match for match in words if match[0] in unknown]
        may_be_another_kind = KNOWN_IN * len(matches) > len(words)
        typing_errors = []
        for match in matches:
            meant = self._correct_word(match)
            if meant is not None:
                typing_errors.append(TypingError(match[0], meant, match.start()))
            elif may_be_another_kind:
                return ()
        return tuple(typing_errors)

    def list_unknown_words(self, line: str, keep: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the words of a line that the training text never has, once each, in its case.

        None where the training text was too short to tell, and none of a script without spaces.

        Args:
            line: the line.
            keep: texts whose words count as known.
        """
        if not self.spelling.frequent:
            return ()
        known = {word.lower() for text in keep for word in _WORD.findall(normalize(text))}
        words = dict.fromkeys(_WORD.findall(line))
        lowered = ((word, word.lower()) for word in words)
        unknown = (w for w, low in lowered if low not in self.spelling and low not in known)
        return tuple(word for word in unknown if not _UNSPACED.search(word))

    def _correct_word(self, match: regex.Match[str]) -> str | None:
        """Return the word that is meant by an unknown one of a line, in its case, if one is."""
        word = match[0]
        meant = None if word.isupper() else self._find_meant(word.lower())
        if meant is None:
            return None
        if word[0].isupper() and _begins_sentence(match):
            return capitalize(meant)
        form = meant if word.islower() else self.case.get(meant, meant)
        return None if form.islower() and not word.islower() else form

    def _find_meant(self, unknown: str) -> str | None:
        """Return a word of the training text in the place of an unknown one; None if there is none.

        Text that has "oeuvre" and never "œuvre" spells it so.
        """
        spelt_out = unknown.translate(SPELT_OUT)
        return spelt_out if spelt_out in self.spelling else self.spelling.find_meant(unknown)

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


def _begins_sentence(word: regex.Match[str]) -> bool:
    """Tell whether a word stands at the beginning of a sentence of its line."""
    return bool(_BEGINNING.search(word.string, max(0, word.start() - NEAR), word.start()))


def find_accents(words: Counter[str]) -> dict[str, str]:
    """Return words with accents, of lower case, by what they are without, where that is no word."""
    accents: dict[str, str] = {}
    for word, count in words.most_common():
        if count < FEWEST or len(accents) >= MOST:
            break
        for plain in sorted(list_plain_forms(word) - {word, *accents}):
            if words[plain] <= RARE * count:
                accents[plain] = word
    return accents


def list_plain_forms(word: str) -> set[str]:
    """Return a word as it is typed where the keyboard lacks letters, as "fur", "fuer" for "für"."""
    without_accents = remove_accents(word).translate(SPELT_OUT)
    return {without_accents, word.translate(SPELT_OUT), word.replace("ß", "ss")}


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
