"""Phrases that fill a place in a clause, each of which can say itself in both languages."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from stages.demo import english, german
from stages.demo.german import Agreement, Case, Gender, Table
from stages.demo.wording import Wording
from stages.demo.words import Adjective, Kind, Noun


class Combination(NamedTuple):
    """Two words that stand in one construction, in their German form in a dictionary."""

    construction: str
    """``subject`` (noun, verb), ``object`` (verb, noun) or ``adjective`` (adjective, noun)."""
    left: str
    right: str


class Phrase(Protocol):
    """A subject or an object."""

    @property
    def agreement(self) -> Agreement:
        """What a verb agrees with if this is its subject."""

    @property
    def name(self) -> str | None:
        """The noun in its dictionary form, or None if the phrase has no noun that counts."""

    @property
    def definite(self) -> bool:
        """Whether the hearer knows what is meant; it then stands early in a German clause."""

    @property
    def light(self) -> bool:
        """Whether it is an unstressed pronoun; it then follows the finite verb."""

    def german(self, case: Case) -> str:
        """Return the German words."""

    def english(self, *, subject: bool = False) -> str:
        """Return the English words."""

    def combinations(self) -> Iterator[Combination]:
        """Yield what is combined inside the phrase."""


@dataclass(frozen=True)
class Determiner:
    """An article or what takes its place."""

    german_stem: str
    endings: Table | None
    """Its own endings; None if it never changes."""
    adjective_endings: Table
    english: str
    english_plural: str
    definite: bool = False

    def german(self, case: Case, gender: Gender) -> str:
        """Return the German form."""
        return self.german_stem + (self.endings[case, gender] if self.endings else "")


DEFINITE = Determiner("", german.DEFINITE, german.WEAK, "the", "the", definite=True)
INDEFINITE = Determiner("ein", german.LIKE_EIN, german.MIXED, "a", "")
BARE = Determiner("", None, german.STRONG, "", "")
NOT_A = Determiner("kein", german.LIKE_EIN, german.MIXED, "a", "any")
"""The kein of an object, whose negation English says at the verb: has not submitted a report."""
THIS = Determiner("dies", german.LIKE_DIESER, german.WEAK, "this", "these", definite=True)
OUR = Determiner("unser", german.LIKE_EIN, german.MIXED, "our", "our", definite=True)
WHICH = Determiner("welch", german.LIKE_DIESER, german.WEAK, "which", "which", definite=True)
ALL = Determiner("all", german.LIKE_DIESER, german.WEAK, "all", "all", definite=True)
MANY = Determiner("viel", german.LIKE_DIESER, german.STRONG, "", "many")
SOME = Determiner("einig", german.LIKE_DIESER, german.STRONG, "", "some")
HOW_MANY = Determiner("wie viel", german.LIKE_DIESER, german.STRONG, "", "how many")
MORE = Determiner("mehr", None, german.STRONG, "more", "more")


def counted(number: Wording) -> Determiner:
    """Return a number in the place of an article."""
    return Determiner(number.german, None, german.STRONG, "", number.english)


class Attachment(Protocol):
    """What follows a noun and may depend on its gender: a topic, a relative clause."""

    def german(self, gender: Gender) -> str:
        """Return the German words."""

    def english(self) -> str:
        """Return the English words."""

    def combinations(self) -> Iterator[Combination]:
        """Yield what is combined inside."""


@dataclass(frozen=True)
class NounPhrase:
    """A noun with all that depends on it."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    label: Wording | None = None
    """A quoted title: das Programm „Jugend 2007“."""
    owner: "NounPhrase | Name | None" = None
    """Whose it is; only a definite phrase may have an owner."""
    attachments: tuple[Attachment, ...] = ()

    @property
    def gender(self) -> Gender:
        """The column in declension tables."""
        return Gender.PLURAL if self.plural else self.noun.german.gender

    @property
    def agreement(self) -> Agreement:
        """What a verb agrees with."""
        return Agreement.PLURAL if self.plural else Agreement.THIRD

    @property
    def name(self) -> str:
        """The noun in its dictionary form."""
        return self.noun.german.lemma

    @property
    def definite(self) -> bool:
        """Whether the determiner is definite."""
        return self.determiner.definite

    @property
    def light(self) -> bool:
        """No."""
        return False

    def german(self, case: Case) -> str:
        """Return the phrase in a case: den neuen Bericht des Ausschusses."""
        gender, determiner = self.gender, self.determiner
        words = [determiner.german(case, gender)]
        for adjective in self.adjectives:
            ending = determiner.adjective_endings
            words.append(german.adjective(adjective.stem, ending, case, gender))
        words.append(self.noun.german.form(case, gender))
        if self.label:
            words.append(f"„{self.label.german}“")
        if self.owner:
            words.append(self.owner.german_owner())
        words += [attachment.german(gender) for attachment in self.attachments]
        return " ".join(filter(None, words))

    def english(self, *, subject: bool = False) -> str:
        """Return the phrase, which has no cases: the committee's new report."""
        del subject
        words = [adjective.english for adjective in self.adjectives]
        if self.label:
            words.append(f"“{self.label.english}”")
        words.append(english.plural(self.noun.english) if self.plural else self.noun.english)
        words += [attachment.english() for attachment in self.attachments]
        phrase = " ".join(words)
        if self.owner:
            return f"{english.possessive(self.owner.english())} {phrase}"
        special = Kind.POLICY in self.noun.kind and (self.adjectives or self.attachments)
        if self.determiner is DEFINITE and self.noun.bare and not special:
            return phrase
        word = self.determiner.english_plural if self.plural else self.determiner.english
        return english.with_article(phrase) if word == "a" else f"{word} {phrase}".strip()

    def german_owner(self) -> str:
        """Return the phrase as an owner: des Ausschusses."""
        return self.german(Case.GENITIVE)

    def combinations(self) -> Iterator[Combination]:
        """Yield the adjectives with the noun, and what is inside the dependents."""
        for adjective in self.adjectives:
            yield Combination("adjective", adjective.german, self.name)
        if self.owner:
            yield from self.owner.combinations()
        for attachment in self.attachments:
            yield from attachment.combinations()


@dataclass(frozen=True)
class Name:
    """A person: Frau Becker, Kommissar Weber."""

    title: Wording
    surname: str
    gender: Gender
    agreement: Agreement = Agreement.THIRD
    name: None = None
    definite: bool = True
    light: bool = False

    def german(self, case: Case) -> str:
        """Return the name; Herr alone is declined."""
        title = self.title.german
        if title == "Herr" and case is not Case.NOMINATIVE:
            title = "Herrn"
        return f"{title} {self.surname}"

    def english(self, *, subject: bool = False) -> str:
        """Return the name."""
        del subject
        return f"{self.title.english} {self.surname}"

    def german_owner(self) -> str:
        """Return the name as an owner: von Herrn Weber."""
        return f"von {self.german(Case.DATIVE)}"

    def combinations(self) -> Iterator[Combination]:
        """Yield nothing: names combine with everything."""
        return iter(())


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, with its German forms by case."""

    forms: dict[Case, str]
    english_subject: str
    english_object: str
    agreement: Agreement
    name: str | None = None
    """The noun it stands for, if that is in the same construction: of a relative pronoun."""
    definite: bool = True
    light: bool = True

    def german(self, case: Case) -> str:
        """Return the form of a case."""
        return self.forms[case]

    def english(self, *, subject: bool = False) -> str:
        """Return the subject's or the object's form."""
        return self.english_subject if subject else self.english_object

    def combinations(self) -> Iterator[Combination]:
        """Yield nothing."""
        return iter(())


def _pronoun(german_forms: str, subject: str, object_: str, agreement: Agreement) -> Pronoun:
    forms = dict(zip(Case, german_forms.split(), strict=False))
    return Pronoun(forms, subject, object_, agreement)


SPEAKER = _pronoun("ich mich mir", "I", "me", Agreement.FIRST)
WE = _pronoun("wir uns uns", "we", "us", Agreement.PLURAL)
YOU = _pronoun("Sie Sie Ihnen", "you", "you", Agreement.PLURAL)
WHO = _pronoun("wer wen wem", "who", "whom", Agreement.THIRD)


def anaphor(antecedent: NounPhrase | Name) -> Pronoun:
    """Return the pronoun that takes up a phrase: German by gender, English by sex."""
    gender = antecedent.gender
    human = isinstance(antecedent, Name) or Kind.PERSON in antecedent.noun.kind
    if gender is Gender.PLURAL:
        words = ("they", "them")
    elif not human:
        words = ("it", "it")
    else:
        words = ("she", "her") if gender is Gender.FEMININE else ("he", "him")
    forms = {case: german.PERSONAL[case, gender] for case in Case}
    return Pronoun(forms, *words, antecedent.agreement)


def relative_pronoun(antecedent: NounPhrase) -> Pronoun:
    """Return der, die or das, and who or which."""
    who = Kind.PERSON in antecedent.noun.kind or Kind.HUMAN in antecedent.noun.kind
    forms = {case: german.RELATIVE[case, antecedent.gender] for case in Case}
    words = ("who", "whom") if who else ("which", "which")
    return Pronoun(forms, *words, antecedent.agreement, antecedent.name)


@dataclass(frozen=True)
class Country:
    """A country; some have an article in German, and all of those are feminine."""

    words: Wording
    article: bool = False
    agreement: Agreement = Agreement.THIRD
    definite: bool = True
    light: bool = False

    @property
    def name(self) -> str:
        """The German name."""
        return self.words.german

    def german(self, case: Case) -> str:
        """Return the name, with its article if it has one."""
        article = german.DEFINITE[case, Gender.FEMININE] + " " if self.article else ""
        return article + self.words.german

    def english(self, *, subject: bool = False) -> str:
        """Return the name."""
        del subject
        return self.words.english

    def combinations(self) -> Iterator[Combination]:
        """Yield nothing."""
        return iter(())


@dataclass(frozen=True)
class Fixed:
    """Words that never change: Artikel 12, 3,5 Millionen Euro."""

    words: Wording
    agreement: Agreement = Agreement.THIRD
    of: NounPhrase | None = None
    """What it is a part of: Artikel 12 der Richtlinie."""
    name: None = None
    definite: bool = False
    light: bool = False

    def german(self, case: Case) -> str:
        """Return the words, the same in every case."""
        del case
        return self.words.german + (f" {self.of.german(Case.GENITIVE)}" if self.of else "")

    def english(self, *, subject: bool = False) -> str:
        """Return the words."""
        del subject
        return self.words.english + (f" of {self.of.english()}" if self.of else "")

    def combinations(self) -> Iterator[Combination]:
        """Yield what is inside the whole."""
        return self.of.combinations() if self.of else iter(())


@dataclass(frozen=True)
class Prepositional:
    """A phrase after a preposition, as an object, an adverbial or an attachment."""

    phrase: Phrase
    case: Case = Case.ACCUSATIVE
    preposition: Wording = field(default=Wording("", ""))

    def german(self, gender: Gender = Gender.MASCULINE) -> str:
        """Return the German words; the gender of what it is attached to does not matter."""
        del gender
        words = self.phrase.german(self.case)
        preposition = self.preposition.german
        return german.contracted(preposition, words) if preposition else words

    def english(self) -> str:
        """Return the English words."""
        return f"{self.preposition.english} {self.phrase.english()}".strip()

    def combinations(self) -> Iterator[Combination]:
        """Yield what is inside the phrase."""
        return self.phrase.combinations()


def with_attachment(phrase: NounPhrase, attachment: Attachment) -> NounPhrase:
    """Return the phrase with one more dependent at its end."""
    return replace(phrase, attachments=(*phrase.attachments, attachment))
