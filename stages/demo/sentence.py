"""What a sentence is, and how a clause becomes one."""

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from stages.demo.clauses import Clause
from stages.demo.composer import Composer
from stages.demo.phrases import Combination
from stages.demo.wording import Wording


class Sentence(NamedTuple):
    """A sentence in both languages, and the combinations of words that it shows."""

    source: str
    target: str
    combinations: frozenset[Combination]


class Combining(Protocol):
    """A clause or a phrase."""

    def combinations(self) -> Iterator[Combination]:
        """Yield what it combines."""


FORMS_OF_ADDRESS = (
    Wording("Frau Präsidentin", "Madam President"),
    Wording("Herr Präsident", "Mr President"),
    Wording("Herr Kommissar", "Commissioner"),
    Wording("meine Damen und Herren", "ladies and gentlemen"),
    Wording("liebe Kolleginnen und Kollegen", "dear colleagues"),
)
_COMMAS = re.compile(r"\s*,(?!\d)[\s,]*")
_LAST_COMMA = re.compile(r",?\s*$")


def finished(german: str, english: str, mark: str, *parts: Combining) -> Sentence:
    """Return the sentence with a capital and a closing mark.

    Args:
        german: words; clauses carry their commas, of which only those inside remain.
        english: words.
        mark: a full stop or a question mark.
        parts: clauses and phrases whose combinations count.
    """
    combinations = frozenset(combination for part in parts for combination in part.combinations())
    return Sentence(_closed(german, mark), _closed(english, mark), combinations)


def _closed(words: str, mark: str) -> str:
    words = _LAST_COMMA.sub("", _COMMAS.sub(", ", words))
    return words[0].upper() + words[1:] + mark


def stated(composer: Composer, clause: Clause, *more: Combining) -> Sentence:
    """Return a main clause, now and then after a form of address."""
    german, english = clause.german_main(), clause.english()
    if not clause.time_in_front and composer.chance(20):
        address = composer.choose(FORMS_OF_ADDRESS)
        german, english = f"{address.german}, {german}", f"{address.english}, {english}"
    return finished(german, english, ".", clause, *more)
