"""Random phrases: which words go together, and how often."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from typing import TypeVar

import numpy as np

from stages.demo import lexicon, nouns, numerals, phrases
from stages.demo.clauses import (
    Time,
)
from stages.demo.german import Agreement, Gender
from stages.demo.phrases import (
    Country,
    Determiner,
    Fixed,
    Name,
    NounPhrase,
    Phrase,
    Prepositional,
)
from stages.demo.wording import Wording, listed, paired
from stages.demo.words import TEXT, Adjective, Kind, Noun, Verb

Item = TypeVar("Item")

ON = Wording("über", "on")
TO = Wording("", "to")

ALWAYS_PLURAL = frozenset(listed("Verhandlung Preis Lohn Ausfuhr Miete"))
NATIONAL = frozenset(listed("Regierung Delegation Minister Ministerin Experte"))
"""Nouns besides people that can have a nationality."""
UNQUALIFIED = frozenset(["Präsident", "Kollege"])
"""Nouns that need no adjective."""
NEEDS_COMPOUND = frozenset(["Politik", "Experte"])
"""Nouns that say too little alone."""

PAST_TIMES = (
    Time("gestern", "yesterday"),
    Time("letzte Woche", "last week"),
    Time("im letzten Jahr", "last year"),
    Time("nach der Aussprache", "after the debate"),
)
FUTURE_TIMES = (
    Time("morgen", "tomorrow"),
    Time("bald", "soon"),
    Time("nächste Woche", "next week"),
    Time("im nächsten Jahr", "next year"),
    Time("vor der Abstimmung", "before the vote"),
)

UNITS = paired("Tagen/days Wochen/weeks Jahren/years")


MANY = Kind.PROPOSAL | Kind.REPORT
"""What never comes in thousands."""
FEW = Kind.BODY | Kind.LAW | Kind.TREATY | Kind.PLAN | Kind.POLICY | Kind.ISSUE | Kind.MEETING
"""What never comes in dozens."""
OURS = Kind.REPORT | Kind.PROPOSAL | Kind.PLAN | Kind.POLICY
"""What we may call ours."""
COMMITTEES = frozenset(listed("Ausschuss Fraktion Delegation Arbeitsgruppe"))
"""Bodies that we may call ours."""


@cache
def _simple_nouns(kinds: Kind) -> tuple[Noun, ...]:
    return tuple(
        noun
        for noun in nouns.SIMPLE_NOUNS
        if noun.kind & kinds and noun.german.lemma not in NEEDS_COMPOUND
    )


@cache
def _compounds(kinds: Kind) -> tuple[Noun, ...]:
    return tuple(noun for noun in nouns.COMPOUND_NOUNS if noun.kind & kinds)


@cache
def _adjectives(kind: Kind) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in lexicon.ADJECTIVES if adjective.kinds & kind)


class PhraseComposer:
    """Draws phrases and clauses from a generator, and nothing but integers, for portability."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def between(self, low: int, high: int) -> int:
        """Draw an integer, both ends included."""
        return int(self._generator.integers(low, high + 1))

    def chance(self, percent: int) -> bool:
        """Draw true so many times in a hundred."""
        return self.between(1, 100) <= percent

    def choose(self, items: tuple[Item, ...]) -> Item:
        """Draw one of some items."""
        return items[self.between(0, len(items) - 1)]

    def weighted(self, items: tuple[tuple[int, Item], ...]) -> Item:
        """Draw one of some items, given with their weights."""
        rest = self.between(1, sum(weight for weight, _ in items))
        for weight, item in items:
            rest -= weight
            if rest <= 0:
                return item
        raise AssertionError(items)

    # Numbers and times

    def number(self, kind: Kind) -> Wording:
        """Draw a number of things, small ones more often."""
        largest = self.weighted(((5, 12), (4, 99), (2, 999), (2, 60_000)))
        if kind & (MANY | FEW):
            largest = min(largest, 12 if kind & FEW else 99)
        if kind & Kind.HUMAN:
            largest = max(largest, 999)
        number = self.between(2, largest)
        return numerals.cardinal(50 * (number // 50) if number > 999 else number)  # noqa: PLR2004

    def amount(self) -> Fixed:
        """Draw an amount of money."""
        scale = numerals.MILLIONS if self.chance(70) else numerals.BILLIONS
        tenths = self.between(11, 99) if self.chance(50) else 10 * self.between(2, 999)
        return Fixed(numerals.euros(tenths, scale), Agreement.PLURAL)

    def percentage(self) -> Wording:
        """Draw a percentage, some of them whole."""
        tenths = self.between(11, 499) if self.chance(50) else 10 * self.between(2, 95)
        return numerals.percent(tenths)

    def day(self) -> date:
        """Draw a day of the years 1960 to 2024."""
        return date(1960, 1, 1) + timedelta(days=self.between(0, 23741))

    def past(self) -> Time:
        """Draw a past time."""
        kind = self.between(1, 10)
        if kind <= 4:  # noqa: PLR2004 (tenths)
            return self.choose(PAST_TIMES)
        if kind <= 6:  # noqa: PLR2004
            count, unit = numerals.cardinal(self.between(2, 20)), self.choose(UNITS)
            return Time(f"vor {count.german} {unit.german}", f"{count.english} {unit.english} ago")
        return self._dated()

    def future(self) -> Time:
        """Draw a future time."""
        if self.chance(70):
            return self.choose(FUTURE_TIMES)
        if self.chance(60):
            count, unit = numerals.cardinal(self.between(2, 20)), self.choose(UNITS)
            return Time(f"in {count.german} {unit.german}", f"in {count.english} {unit.english}")
        year = self.between(2001, 2050)
        return Time(f"bis {year}", f"by {year}")

    def _dated(self) -> Time:
        when = self.day()
        day, weekday = numerals.day(when), numerals.weekday(when)
        month = numerals.MONTHS[when.month - 1]
        return self.weighted(
            (
                (
                    3,
                    Time(
                        f"am {weekday.german}, dem {day.german},", f"on {weekday.english}, {day[1]}"
                    ),
                ),
                (3, Time(f"am {day.german}", f"on {day.english}")),
                (2, Time(f"im {month.german} {when.year}", f"in {month.english} {when.year}")),
                (3, Time(f"im Jahr {when.year}", f"in {when.year}")),
                (2, Time(f"am {weekday.german}", f"on {weekday.english}")),
            )
        )

    # Noun phrases

    def noun(self, kinds: Kind) -> Noun:
        """Draw a noun of one of some kinds."""
        compounds = _compounds(kinds)
        if compounds and self.chance(40):
            return self.choose(compounds)
        return self.choose(_simple_nouns(kinds))

    def name(self) -> Name:
        """Draw a person."""
        title, gender = self.weighted(
            (
                (4, (Wording("Herr", "Mr"), Gender.MASCULINE)),
                (4, (Wording("Frau", "Mrs"), Gender.FEMININE)),
                (1, (Wording("Kommissar", "Commissioner"), Gender.MASCULINE)),
                (1, (Wording("Kommissarin", "Commissioner"), Gender.FEMININE)),
            )
        )
        return Name(title, self.choose(lexicon.SURNAMES), gender)

    def country(self) -> Country:
        """Draw a country."""
        if self.chance(15):
            return Country(self.choose(lexicon.COUNTRIES_WITH_ARTICLE), article=True)
        return Country(self.choose(lexicon.COUNTRIES))

    def body(self) -> NounPhrase:
        """Draw an institution."""
        noun = self.noun(Kind.BODY)
        if not noun.countable:
            return NounPhrase(noun, phrases.DEFINITE)
        if noun.german.lemma == "Mitgliedstaat":
            number = numerals.cardinal(self.between(2, 25))
            return NounPhrase(
                noun,
                self.weighted(
                    (
                        (5, phrases.DEFINITE),
                        (2, phrases.ALL),
                        (2, phrases.MANY),
                        (1, phrases.SOME),
                        (2, phrases.counted(number)),
                    )
                ),
                plural=True,
            )
        ours = noun.german.lemma in COMMITTEES and self.chance(25)
        determiner = phrases.OUR if ours else phrases.DEFINITE
        return NounPhrase(noun, determiner, adjectives=self._qualified(noun, 25))

    def person(self) -> NounPhrase:
        """Draw an official without a name."""
        noun = self.noun(Kind.PERSON)
        if noun.german.lemma == "Kollege":
            return NounPhrase(noun, phrases.OUR, adjectives=self._qualified(noun, 25))
        return NounPhrase(noun, phrases.DEFINITE, adjectives=self._qualified(noun, 25))

    def actor(self, verb: Verb | None = None) -> Phrase:
        """Draw someone who can act, for what only people do a person."""
        human = verb is not None and verb.name in lexicon.HUMAN_ACTIONS
        families: tuple[tuple[int, Callable[[], Phrase]], ...] = (
            (0 if human else 50, self.body),
            (12, self.person),
            (12, self.name),
            (0 if human else 8, self.country),
            (18, self._speaker),
        )
        return self.weighted(families)()

    def _speaker(self) -> Phrase:
        return self.weighted(((9, phrases.WE), (5, phrases.SPEAKER), (3, phrases.YOU)))

    def thing(self, kinds: Kind, *, definite: bool = False, rich: bool = True) -> NounPhrase:
        """Draw a noun phrase of one of some kinds.

        Args:
            kinds: what it may stand for.
            definite: whether it must be definite.
            rich: whether it may have an owner, a topic or a relative clause.
        """
        noun = self.noun(kinds)
        if noun.kind & Kind.BODY:
            return self.body()
        if noun.kind & Kind.PERSON:
            return self.person()
        if noun.kind & (Kind.PEOPLE | Kind.HUMAN) or noun.german.lemma in ALWAYS_PLURAL:
            return self._several(noun, definite=definite)
        if noun.bare:
            more = noun.kind & Kind.VALUE and not definite and self.chance(20)
            determiner = phrases.MORE if more else phrases.DEFINITE
            return NounPhrase(noun, determiner, adjectives=self._qualified(noun, 20))
        if noun.countable and self.chance(22):
            return self._several(noun, definite=definite)
        determiner = self._singular_determiner(noun, definite=definite)
        phrase = NounPhrase(noun, determiner, adjectives=self._qualified(noun, 45))
        return self._enriched(phrase) if rich else phrase

    def _singular_determiner(self, noun: Noun, *, definite: bool) -> Determiner:
        return self.weighted(
            (
                (10, phrases.DEFINITE),
                (3, phrases.THIS),
                (1 if noun.kind & OURS else 0, phrases.OUR),
                (0 if definite or not noun.countable else 4, phrases.INDEFINITE),
            )
        )

    def _several(self, noun: Noun, *, definite: bool) -> NounPhrase:
        free = 0 if definite else 1
        determiner = self.weighted(
            (
                (6, phrases.DEFINITE),
                (2, phrases.THIS),
                (1 if noun.kind & OURS else 0, phrases.OUR),
                (free, phrases.ALL),
                (5 * free, phrases.counted(self.number(noun.kind))),
                (2 * free, phrases.MANY),
                (free, phrases.SOME),
                (2 * free, phrases.BARE),
            )
        )
        return NounPhrase(noun, determiner, plural=True, adjectives=self._qualified(noun, 40))

    def _qualified(self, noun: Noun, percent: int) -> tuple[Adjective, ...]:
        lemma = noun.german.lemma
        national = lemma in NATIONAL or noun.kind & Kind.PEOPLE
        if lemma in UNQUALIFIED:
            return ()
        if lemma in NATIONAL and self.chance(60):
            return (self.choose(lexicon.NATIONALITIES),)
        if not self.chance(percent):
            return ()
        if national and self.chance(50):
            return (self.choose(lexicon.NATIONALITIES),)
        fitting = _adjectives(noun.kind)
        return (self.choose(fitting),) if fitting else ()

    def _enriched(self, phrase: NounPhrase) -> NounPhrase:
        if (
            phrase.determiner is not phrases.DEFINITE
            and phrase.determiner is not phrases.INDEFINITE
        ):
            return phrase
        definite = phrase.determiner is phrases.DEFINITE
        if definite and phrase.name == "Programm" and self.chance(50):
            title, year = self.choose(lexicon.TITLES_OF_PROGRAMMES), self.between(1995, 2030)
            label = Wording(f"{title.german} {year}", f"{title.english} {year}")
            return replace(phrase, label=label)
        if phrase.name in nouns.TOPIC_NOUNS and self.chance(40):
            topic = self.topic()
            phrase = phrases.with_attachment(phrase, Prepositional(topic, preposition=ON))
        if definite and phrase.noun.kind & TEXT and self.chance(30):
            owner = self.name() if self.chance(40) else self._owner()
            return replace(phrase, owner=owner)
        return phrase

    def _owner(self) -> NounPhrase:
        return replace(self.body(), determiner=phrases.DEFINITE, adjectives=())

    def topic(self) -> NounPhrase:
        """Draw what a text can be about."""
        kinds = Kind.POLICY | Kind.ILL | Kind.VALUE
        noun = self.noun(kinds)
        return NounPhrase(noun, phrases.DEFINITE, adjectives=self._qualified(noun, 15))

    def item(self, verb: Verb) -> Fixed | None:
        """Draw a part of a text, by its number, if there is one that the verb suits."""
        number = self.between(2, 250)
        if verb.name in lexicon.AMENDMENT_ACTIONS and self.chance(60):
            return Fixed(Wording(f"Änderungsantrag {number}", f"Amendment {number}"), definite=True)
        if verb.name not in lexicon.ARTICLE_ACTIONS:
            return None
        noun = self.noun(Kind.LAW | Kind.TREATY)
        whole = NounPhrase(noun, phrases.DEFINITE, adjectives=self._qualified(noun, 20))
        name = Wording(f"Artikel {number}", f"Article {number}")
        return Fixed(name, of=whole, definite=True)

    # Clauses
