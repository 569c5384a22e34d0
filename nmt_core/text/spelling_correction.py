"""Words with a typing error, brought back to the word of the training text that was meant.

A word that is not known may be new, or a known one with an error; the second is the likelier, the
more frequent the known one is (Kernighan, Church and Gale 1990). How frequent it has to be is
learnt from the words that the training text has once, for those are as new words are.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from operator import and_, eq
from typing import NamedTuple, Self

MOST = 200_000
"""Words that are known, the most frequent ones."""
FEWEST = 10
"""Occurrences of a word that may be what was meant."""
SHORTEST, LONGEST = 4, 24
"""Letters of a word that is corrected; of fewer, too many words are one error away."""
FALSE = 0.0005
"""Share of the words of a sound text that may be taken for mistyped ones."""
TRIED = 2000
"""Words that a text has once from which that share is estimated."""
LETTERS = 64
"""Letters that may have been left out or mistyped, the most frequent ones."""


class TypingError(NamedTuple):
    """A word of a line with a typing error."""

    word: str
    meant: str
    start: int
    """Where it begins in the line."""


def correct_typing_errors(line: str, typing_errors: Sequence[TypingError]) -> str:
    """Return a line with the words that are meant in the place of mistyped ones."""
    for one in reversed(typing_errors):
        line = line[: one.start] + one.meant + line[one.start + len(one.word) :]
    return line


class SpellingCorrector:
    """Corrects words in lower case.

    Args:
        words: those that are known, the most frequent first.
        frequent: how many of the first are frequent enough to be what was meant.
    """

    def __init__(self, words: Sequence[str] = (), frequent: int = 0) -> None:
        self.words = tuple(words)
        self.frequent = frequent
        self._ranks = {word: rank for rank, word in enumerate(words)}
        letters = Counter("".join(words[:frequent])).most_common(LETTERS)
        self._letters = "".join(letter for letter, _ in letters)

    @classmethod
    def learn(cls, counts: Counter[str]) -> Self:
        """Learn from the words of a text, in lower case, and how often it has each."""
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        words = [word for word, _ in ordered]
        frequent = sum(count >= FEWEST for _, count in ordered)
        once = sorted(word for word, count in counts.items() if count == 1)
        tried = once[:: -(-len(once) // TRIED) or 1]
        every = cls(words[:frequent], frequent)
        ranks = sorted(min(every._find_ranks(word)) for word in tried)
        allowed = int(FALSE * counts.total() * len(tried) / max(1, len(once)))
        frequent = min([frequent, *ranks[allowed : allowed + 1]])
        return cls(words, frequent) if frequent else cls()

    def __contains__(self, word: object) -> bool:
        """Tell whether a word is known."""
        return word in self._ranks

    def find_meant(self, word: str) -> str | None:
        """Return the frequent word that is an error away from one that is not known, if any is.

        Of several, the kind of error that people make most decides, then how frequent the word is.
        """
        for rank in self._find_ranks(word):
            if rank < self.frequent:
                return self.words[rank]
        return None

    def _find_ranks(self, word: str) -> list[int]:
        """Return the rank of the most frequent word that each kind of error may have made this."""
        none = self.frequent
        if not SHORTEST <= len(word) <= LONGEST:
            return [none]
        where = self._find_places(word)
        ranks = self._ranks.get
        return [
            min((ranks(meant, none) for meant in undo(word, self._letters, where)), default=none)
            for undo in UNDO
        ]

    def _find_places(self, word: str) -> range:
        """Return the places of a word before which it begins, and after which it ends, as some do.

        Nothing needs to be tried at others, which are most.
        """
        forwards, backwards = self._sorted
        most = count_shared(word, forwards)
        fewest = len(word) - count_shared(word[::-1], backwards)
        return range(max(0, fewest - 1), most + 1)

    @cached_property
    def _sorted(self) -> tuple[list[str], list[str]]:
        """The frequent words, sorted, and the same read from right to left."""
        words = self.words[: self.frequent]
        return sorted(words), sorted(word[::-1] for word in words)


def count_shared(word: str, words: Sequence[str]) -> int:
    """Return how many letters a word and any of some sorted words have in common at the beginning.

    The most alike stand beside the place where the word itself would stand.
    """
    at = bisect_left(words, word)
    near = words[max(0, at - 1) : at + 1]
    return max((sum(accumulate(map(eq, word, other), and_)) for other in near), default=0)


def undo_slip(word: str, letters: str, where: range) -> Iterator[str]:
    """Yield what is meant if two letters were swapped, or one was left out or typed twice."""
    for at, (first, second) in enumerate(pairwise(word)):
        rest = word[at + 2 :]
        yield word[:at] + (first if first == second else second + first) + rest
    for at in where:
        for letter in letters:
            yield word[:at] + letter + word[at:]


def undo_exchange(word: str, letters: str, where: range) -> Iterator[str]:
    """Yield what is meant if a letter was typed in the place of another."""
    for at in where[: len(word) - where.start]:
        for letter in letters:
            yield word[:at] + letter + word[at + 1 :]


def undo_addition(word: str, letters: str, where: range) -> Iterator[str]:
    """Yield what is meant if a letter was typed that does not belong there."""
    del letters
    for at in where[: len(word) - where.start]:
        yield word[:at] + word[at + 1 :]


UNDO: Sequence[Callable[[str, str, range], Iterator[str]]] = (
    undo_slip,
    undo_exchange,
    undo_addition,
)
"""Kinds of errors, those that people make most first."""
