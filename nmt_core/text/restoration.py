"""Restore case and accents by the most frequent forms in the training text.

To a model, a word in capitals or without accents is another word. Truecasing (Lita et al. 2003)
and diacritic restoration return the word that the model knows. Both change only lines that are
entirely written in this way, so correct text does not change: docs/experiments/restoration.md
measures this.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Self

import regex

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.seal import explain_unreadable
from nmt_core.text.normalize import normalize

FILE = "restoration.json"

MIN_OCCURRENCES = 2
"""Minimum occurrences of a form in the training text."""
MAX_WORDS = 200_000
"""Maximum number of stored words of each kind; the most frequent ones are kept."""
MAX_PLAIN_RATIO = 0.05
"""Maximum frequency of a word without accents relative to its accented form."""
MIN_TOP_COUNT = 10
"""Minimum occurrences of the most frequent word in a text that identifies unknown words."""

MIN_COMPOUND_START, MIN_COMPOUND_END = 3, 5
"""Minimum letters of the first and the last part of a compound."""
MIN_WORDS = 3
"""Minimum words of a line for its case to be judged."""
MIN_TITLE_WORDS = 5
"""Minimum words of a line in title case; "Vielen Dank, Herr Kommissar" is ordinary case."""
WORDS_PER_EXCEPTION = 10
"""Words in odd case for each word that may be in another case."""

TRANSLITERATIONS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "å": "aa", "æ": "ae", "ø": "oe", "œ": "oe"}
)
"""Spellings of letters that a keyboard may lack."""

CONTEXT_CHARACTERS = 5
"""Maximum number of characters before a word that show that the word begins a sentence."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_BEYOND_ASCII = regex.compile(r"(?![A-Za-z])\p{L}")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hira}\p{Kana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
"""Letters of scripts without spaces, in which a run of letters may be a sentence."""
_END = regex.compile(r"(?<!\p{Nd})[.!?:…][\"“”»’)\]]* [\"„“«»‚‘(\[]*")
"""The end of a sentence, and the signs before the next one."""
_FINAL = regex.compile(r"[.!?…][\"“”»’)\]]*$")
_FIRST = regex.compile(r"(^[^\p{L}\p{Nd}]*|(?<!\p{Nd})[.!?…][\"“”»’)\]]* [\"„“«»‚‘(\[]*)(\p{L})")


class Restored(NamedTuple):
    """A line with restored case and accents."""

    line: str
    restored_words: tuple[str, ...] = ()
    """The words that were changed, in their restored form, without repetitions."""
    unknown_words: tuple[str, ...] = ()
    """Its words that are not in the training text, without repetitions."""


class _Saved(Config):
    """The file of ``Restorer.save``."""

    case: dict[str, str]
    accents: dict[str, str]
    words: str


@dataclass(frozen=True)
class Restorer:
    """Restores the case and accents of lines of one language."""

    case: Mapping[str, str]
    """Words with capitals, by their lower-case form."""
    accents: Mapping[str, str]
    """Lower-case words with accents, by their form without accents."""
    words: Collection[str] = frozenset()
    """Lower-case words of the training text; empty if it was too short."""

    @classmethod
    def learn(cls, lines: Iterable[str]) -> Self:
        """Learn from normalised lines; capitals at the beginning of sentences are ignored."""
        tokens, inner_tokens = Counter[str](), Counter[str]()
        for line in lines:
            tokens.update(parts := line.split(" "))
            for start, end in _find_first_words(line):
                parts[line.count(" ", 0, start)] = line[end:].partition(" ")[0]
            inner_tokens.update(parts)
        words, forms = Counter[str](), defaultdict[str, Counter[str]](Counter)
        for token, count in tokens.items():
            for word in _WORD.findall(token):
                words[word.lower()] += count
        for token, count in inner_tokens.items():
            for word in _WORD.findall(token):
                forms[word.lower()][word] += count
        totals = Counter({word: counts.total() for word, counts in forms.items()})
        frequent = [word for word, n in totals.most_common(MAX_WORDS) if n >= MIN_OCCURRENCES]
        best = ((word, forms[word].most_common(1)[0][0]) for word in frequent)
        case = {word: form for word, form in best if form != word}
        is_long = max(words.values(), default=0) >= MIN_TOP_COUNT
        ordered = sorted(words, key=lambda word: (-words[word], word))
        known = frozenset(ordered[:MAX_WORDS] if is_long else ())
        return cls(case, find_accents(words), known)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the restorer that ``save`` wrote; None if there is none."""
        path = folder / FILE
        if not path.exists():
            return None
        with explain_unreadable(path):
            saved = _Saved.model_validate_json(path.read_bytes())
        return cls(saved.case, saved.accents, frozenset(saved.words.split()))

    def save(self, folder: Path) -> None:
        """Write ``restoration.json`` to a folder."""
        words = " ".join(sorted(self.words))
        saved = _Saved(case=dict(self.case), accents=dict(self.accents), words=words)
        files.write_json(folder / FILE, saved.model_dump())

    def restore(self, line: str, keep: Sequence[str] = (), *, case: bool = False) -> Restored:
        """Return a normalised line in the spelling, and optionally case, of the training text.

        Words of ``keep`` count as known.
        """
        line = normalize(line)
        restored = self.restore_accents(line.lower() if case else line)
        if case:
            restored = self._restore_case(restored)
        before = {*_WORD.findall(line)}
        words = dict.fromkeys(word for word in _WORD.findall(restored) if word not in before)
        return Restored(restored, (*words,), self.list_unknown_words(restored, keep))

    @cached_property
    def _settled(self) -> frozenset[str]:
        """The known words that are not another word without its accents."""
        return frozenset(self.words) - self.accents.keys()

    def keeps(self, words: Iterable[str]) -> bool:
        """Return whether ``restore`` changes and reports none of these words in lower case."""
        if not self.words:
            return self.accents.keys().isdisjoint(words)
        return self._settled.issuperset(words)

    def _restore_case(self, lowered: str) -> str:
        """Return a lower-case line in ordinary case."""
        restored = _WORD.sub(lambda match: self._find_form(match[0]), lowered)
        if not _FINAL.search(restored):
            return restored
        return _FIRST.sub(lambda match: match[1] + match[2].upper(), restored)

    def _find_form(self, word: str) -> str:
        """Return a word in its case; an unknown compound has the case of its last part."""
        if word in self.case:
            return self.case[word]
        ends = (word[n:] for n in range(MIN_COMPOUND_START, len(word) - MIN_COMPOUND_END + 1))
        head = next((end for end in ends if end in self.case), "")
        return capitalize(word) if self.case.get(head, "").istitle() else word

    def list_unknown_words(self, line: str, keep: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the words of a line that are not in the training text, without repetitions.

        The result is empty if the training text was too short. Scripts without spaces are skipped,
        and words of ``keep`` count as known.
        """
        if not self.words:
            return ()
        known = {word.lower() for text in keep for word in _WORD.findall(normalize(text))}
        known |= {word for word in map(str.lower, _WORD.findall(line)) if word in self.words}
        words = dict.fromkeys(word for word in _WORD.findall(line) if word.lower() not in known)
        return tuple(word for word in words if not _UNSPACED.search(word))

    def restore_accents(self, line: str) -> str:
        """Return a line with the missing accents of its words.

        Only ASCII lines change, and only if two words lack accents or one is transliterated, such
        as "fuer". A single word may be another one: French has both "marche" and "marché".
        """
        lowered = map(str.lower, _WORD.findall(line))
        plain_words = self.accents.keys() & {*lowered}
        is_transliterated = any(len(word) != len(self.accents[word]) for word in plain_words)
        if not (is_transliterated or len(plain_words) > 1) or _BEYOND_ASCII.search(line):
            return line
        return _WORD.sub(lambda match: self._restore_word(match[0]), line)

    def _restore_word(self, word: str) -> str:
        accented = self.accents.get(word.lower())
        if accented is None:
            return word
        if word.isupper():
            return accented.upper()
        return capitalize(accented) if word[0].isupper() else accented


def _find_first_words(line: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words that are capitalized because they begin a sentence."""
    starts = [match.end() for match in _END.finditer(line) if len(match[0]) <= CONTEXT_CHARACTERS]
    first = _WORD.search(line)
    if first and first.start() <= CONTEXT_CHARACTERS and first.start() not in starts:
        starts = [first.start(), *starts]
    for start in starts:
        word = _WORD.match(line, start)
        if word and word[0] != word[0].lower():
            yield word.span()


def find_accents(words: Counter[str]) -> dict[str, str]:
    """Return accented words by their plain forms, unless these are frequent words themselves."""
    accents: dict[str, str] = {}
    for word, count in words.most_common():
        if count < MIN_OCCURRENCES or len(accents) >= MAX_WORDS:
            break
        for plain in () if word.isascii() else sorted(list_plain_forms(word)):
            if words[plain] <= MAX_PLAIN_RATIO * count:
                accents.setdefault(plain, word)
    return accents


def list_plain_forms(word: str) -> set[str]:
    """Return spellings of a word without accents, such as "fur" and "fuer" for "für".

    "ss" for "ß" alone does not count: Swiss and current German write "dass" for "daß".
    """
    transliterated = word.translate(TRANSLITERATIONS)
    return {remove_accents(word), transliterated} - {word, word.replace("ß", "ss")}


def remove_accents(line: str) -> str:
    """Return a line without combining marks."""
    plain = (sign for sign in unicodedata.normalize("NFD", line) if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", "".join(plain))


def capitalize(word: str) -> str:
    """Return a word with a capital first letter; the other letters do not change."""
    return word[:1].upper() + word[1:]


OddCase = Literal["upper", "lower", "title"]


def find_odd_case(line: str) -> OddCase | None:
    """Return the case of a line, or None for ordinary case.

    A line is in upper or title case if at most one word in ten is in another case, such as a unit
    or an article. A line is in lower case if it has no capital.
    """
    tokens = line.split()
    small = sum(map(str.islower, tokens))
    if small > len(tokens) // WORDS_PER_EXCEPTION and not line.islower():
        return None  # a fast path for nearly all lines
    words = [letters for token in tokens if (letters := "".join(_WORD.findall(token)))]
    if len(words) < MIN_WORDS:
        return None
    exceptions = len(words) // WORDS_PER_EXCEPTION
    if sum(not word.isupper() for word in words) <= exceptions:
        return "upper"
    if sum(not word[0].isupper() for word in words) <= exceptions:
        return "title" if len(words) >= MIN_TITLE_WORDS else None
    return "lower" if all(map(str.islower, words)) else None
