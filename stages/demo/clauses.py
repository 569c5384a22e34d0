"""Clauses: one tree of phrases, said by German and by English rules of word order.

German by topological fields: what is in front, the finite verb, the middle field, the rest of the
verb, and clauses after it. A main clause puts the finite verb second and a separable particle
last; a subordinate clause puts all of the verb last, and there the particle is joined to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from stages.demo import german
from stages.demo.english import BE, EnglishVerb
from stages.demo.german import Agreement, Case, Gender
from stages.demo.phrases import Combination, Phrase, Prepositional
from stages.demo.wording import Wording
from stages.demo.words import Verb


class Tense(Enum):
    """When; both languages follow from it, so a German form with two readings needs a sign."""

    PRESENT = auto()
    SCHEDULED = auto()
    """German present, English future: Die Abstimmung findet morgen statt."""
    PERFECT = auto()
    PAST = auto()
    """Simple past in English, in German the perfect, or wurde and war; an active clause must show
    a past time, or its perfect could not be told from PERFECT."""
    FUTURE = auto()


class Negation(Enum):
    """How a clause is negated."""

    NONE = auto()
    NICHT = auto()
    KEIN = auto()
    """By a determiner in German, at the verb in English."""


class Modal(NamedTuple):
    """A modal verb; where English has none, an ordinary verb with to."""

    german: str
    english: str
    negated: str
    """What English says before not."""


MUST = Modal("müssen", "must", "")
CAN = Modal("können", "can", "can")
SHOULD = Modal("sollen", "should", "should")
WANT = Modal("wollen", "want to", "want to")
MAY = Modal("dürfen", "may", "must")
"""With nicht a prohibition: darf nicht, must not."""


class Time(NamedTuple):
    """An adverbial; if in front, English puts a comma after it and German the verb."""

    german: str
    english: str


class Extension(Protocol):
    """A clause after the verb, in German after a comma."""

    def german(self) -> str:
        """Return the German words, without comma."""

    def english(self) -> str:
        """Return the English words."""

    def combinations(self) -> Iterator[Combination]:
        """Yield what is combined inside."""


class GermanGroup(NamedTuple):
    """The finite verb, its particle, and the infinitives and participles that stay behind."""

    finite: str
    particle: str
    rest: str


class EnglishGroup(NamedTuple):
    """The auxiliary that not and questions need, empty if there is none, and all other verbs."""

    operator: str
    rest: str


@dataclass(frozen=True)
class VerbPhrase:
    """A verb with all that belongs to it but the subject."""

    verb: Verb
    objects: tuple[Prepositional, ...] = ()
    complement: Wording | None = None
    """What never changes and stands last: sehr wichtig, für eröffnet."""
    adverb: Wording | None = None
    """In English before the main verb: einstimmig, unanimously."""
    extension: Extension | None = None
    """A clause after the verb; also a relative clause of the last object, which German, unlike
    English, puts there too."""

    def middle(self, *, time: str = "", negated: bool = False) -> str:
        """Return the German middle field after the subject.

        Pronouns come first, what is new and what has a preposition last, and nicht between.
        """
        plain = [item for item in self.objects if not item.preposition.german]
        light = [item.german() for item in plain if item.phrase.light]
        known = [item.german() for item in plain if item.case is Case.DATIVE]  # before all others
        known += [
            item.german()
            for item in plain
            if item.case is Case.ACCUSATIVE and item.phrase.definite and not item.phrase.light
        ]
        new = [
            item.german()
            for item in plain
            if item.case is Case.ACCUSATIVE and not item.phrase.definite
        ]
        late = [item.german() for item in self.objects if item.preposition.german]
        known = [*known, time] if negated else [time, *known]
        adverb = self.adverb.german if self.adverb else ""
        complement = self.complement.german if self.complement else ""
        nicht = "nicht" if negated else ""
        return _joined(*light, *known, adverb, nicht, *new, *late, complement)

    def german_zu(self) -> str:
        """Return the infinitive clause: den Bericht abzulehnen."""
        return _joined(self.middle(), self.verb.german.zu_infinitive, self.german_end())

    def english_to(self) -> str:
        """Return the infinitive clause: to reject the report."""
        adverb = self.adverb.english if self.adverb else ""
        return _joined("to", adverb, self.verb.english.base, self.english_objects())

    def german_end(self) -> str:
        """Return the clause after the verb with the comma before it."""
        return f", {self.extension.german()}," if self.extension else ""

    def english_objects(self, time: str = "") -> str:
        """Return all that follows the English verb."""
        complement = self.complement.english if self.complement else ""
        extension = self.extension.english() if self.extension else ""
        return _joined(*(item.english() for item in self.objects), complement, time, extension)

    def combinations(self) -> Iterator[Combination]:
        """Yield the verb with its objects, and what is inside them."""
        for item in self.objects:
            if item.phrase.name:
                yield Combination("object", self.verb.name, item.phrase.name)
            yield from item.combinations()
        if self.extension:
            yield from self.extension.combinations()


@dataclass(frozen=True)
class Clause:
    """A subject and what is said of it.

    A passive clause has the patient as its subject; an agent is an object with von.
    """

    subject: Phrase
    predicate: VerbPhrase
    tense: Tense = Tense.PRESENT
    modal: Modal | None = None
    passive: bool = False
    negation: Negation = Negation.NONE
    time: Time | None = None
    time_in_front: bool = False

    def german_main(self) -> str:
        """Return a main clause with the time, if it is to be, or the subject in front."""
        if self.time and self.time_in_front:
            return self.german_inverted(self.time.german)
        group = self._german_group()
        subject = self.subject.german(Case.NOMINATIVE)
        return _joined(subject, group.finite, self._middle(), self._german_tail(group))

    def german_inverted(self, front: str = "") -> str:
        """Return a main clause with ``front`` before the finite verb; without, a question."""
        group = self._german_group()
        subject = self.subject.german(Case.NOMINATIVE)
        return _joined(front, group.finite, subject, self._middle(), self._german_tail(group))

    def german_subordinate(self) -> str:
        """Return the words after a conjunction or a relative pronoun, the finite verb last."""
        group = self._german_group()
        subject = self.subject.german(Case.NOMINATIVE)
        finite = group.particle + group.finite
        words = _joined(subject, self._middle(), group.rest, finite)
        return words + self.predicate.german_end()

    def english(self) -> str:
        """Return a declarative clause."""
        words = _joined(self.subject.english(subject=True), self._english_predicate())
        if self.time and self.time_in_front:
            return f"{self.time.english.removesuffix(',')}, {words}"
        return words

    def english_question(self, lead: str = "") -> str:
        """Return a question, with a question word or phrase before it or without."""
        group = self._english_group(needs_operator=True)
        subject = self.subject.english(subject=True)
        return _joined(lead, group.operator, subject, self._after_operator(group))

    def combinations(self) -> Iterator[Combination]:
        """Yield the subject with the verb, the verb with its objects, and what is inside."""
        if self.subject.name:
            if self.passive:
                yield Combination("object", self.predicate.verb.name, self.subject.name)
            else:
                yield Combination("subject", self.subject.name, self.predicate.verb.name)
        yield from self.subject.combinations()
        for combination in self.predicate.combinations():
            agent = self.passive and combination.construction == "object"
            if agent and combination.left == self.predicate.verb.name:
                yield Combination("subject", combination.right, combination.left)
            else:
                yield combination

    def _middle(self) -> str:
        time = self.time.german if self.time and not self.time_in_front else ""
        return self.predicate.middle(time=time, negated=self.negation is Negation.NICHT)

    def _german_tail(self, group: GermanGroup) -> str:
        return _joined(group.particle, group.rest) + self.predicate.german_end()

    def _german_group(self) -> GermanGroup:
        verb, agreement = self.predicate.verb.german, self.subject.agreement
        if self.modal:
            infinitive = f"{verb.participle} werden" if self.passive else verb.infinitive
            return GermanGroup(german.MODALS[self.modal.german][agreement], "", infinitive)
        if self.passive:
            finite, ending = _PASSIVE[self.tense]
            return GermanGroup(finite[agreement], "", _joined(verb.participle, ending))
        match self.tense:
            case Tense.FUTURE:
                return GermanGroup(german.AUXILIARIES["werden"][agreement], "", verb.infinitive)
            case Tense.PAST if verb.entry in german.PAST_AUXILIARIES:
                return GermanGroup(german.PAST_AUXILIARIES[verb.entry][agreement], "", "")
            case Tense.PERFECT | Tense.PAST:
                finite = german.AUXILIARIES[verb.auxiliary]
                return GermanGroup(finite[agreement], "", verb.participle)
            case _:
                return GermanGroup(verb.present(agreement), verb.particle, "")

    def _english_predicate(self) -> str:
        negated = self.negation is not Negation.NONE
        return self._after_operator(self._english_group(needs_operator=negated), declarative=True)

    def _after_operator(self, group: EnglishGroup, *, declarative: bool = False) -> str:
        """Return what follows the subject; in a question, the operator stands before it."""
        adverb = self.predicate.adverb.english if self.predicate.adverb else ""
        operator = group.operator if declarative else ""
        negation = "" if self.negation is Negation.NONE else "not"
        time = self.time.english if self.time and not self.time_in_front else ""
        objects = self.predicate.english_objects(time)
        words = _joined(operator, negation, adverb, group.rest, objects)
        return "cannot" + words.removeprefix("can not") if words.startswith("can not ") else words

    def _english_group(self, *, needs_operator: bool) -> EnglishGroup:
        verb, agreement = self.predicate.verb.english, self.subject.agreement
        if self.modal:
            return self._english_modal(needs_operator=needs_operator)
        progressive = self.predicate.verb.progressive and self.tense is Tense.PRESENT
        last = verb.participle if self.passive else verb.gerund
        if self.tense in (Tense.FUTURE, Tense.SCHEDULED):
            return EnglishGroup("will", f"be {last}" if self.passive else verb.base)
        if self.tense is Tense.PERFECT:
            have = EnglishVerb("have").present(agreement)
            return EnglishGroup(have, f"been {last}" if self.passive else verb.participle)
        past = self.tense is Tense.PAST
        if not (self.passive or progressive or verb.base == "be"):
            return _simple(verb, agreement, past=past, do=needs_operator)
        be = EnglishVerb("be").past(agreement) if past else BE[agreement]
        if verb.base == "be":
            return EnglishGroup(be, "")
        return EnglishGroup(be, f"being {last}" if self.passive and progressive else last)

    def _english_modal(self, *, needs_operator: bool) -> EnglishGroup:
        assert self.modal
        verb = self.predicate.verb.english
        base = f"be {verb.participle}" if self.passive else verb.base
        word = self.modal.english if self.negation is Negation.NONE else self.modal.negated
        if word.endswith(" to"):
            want = EnglishVerb(word.removesuffix(" to"))
            group = _simple(want, self.subject.agreement, past=False, do=needs_operator)
            return EnglishGroup(group.operator, f"{group.rest} to {base}")
        return EnglishGroup(word, base)


_PASSIVE = {
    Tense.PRESENT: (german.AUXILIARIES["werden"], ""),
    Tense.FUTURE: (german.AUXILIARIES["werden"], "werden"),
    Tense.PERFECT: (german.AUXILIARIES["sein"], "worden"),
    Tense.PAST: (german.PAST_AUXILIARIES["werden"], ""),
}


def _simple(verb: EnglishVerb, agreement: Agreement, *, past: bool, do: bool) -> EnglishGroup:
    if not do:
        return EnglishGroup("", verb.past(agreement) if past else verb.present(agreement))
    if past:
        return EnglishGroup("did", verb.base)
    return EnglishGroup("does" if agreement is Agreement.THIRD else "do", verb.base)


def _joined(*words: str) -> str:
    return " ".join(filter(None, words))


@dataclass(frozen=True)
class Subordinate:
    """A clause after a conjunction: dass, weil, obwohl, wenn."""

    conjunction: Wording
    clause: Clause

    def german(self) -> str:
        """Return the clause, its finite verb last."""
        return f"{self.conjunction.german} {self.clause.german_subordinate()}"

    def english(self) -> str:
        """Return the clause."""
        return f"{self.conjunction.english} {self.clause.english()}"

    def combinations(self) -> Iterator[Combination]:
        """Yield what is combined inside."""
        return self.clause.combinations()


@dataclass(frozen=True)
class Infinitive:
    """A clause with zu: um die Armut zu bekämpfen."""

    predicate: VerbPhrase
    conjunction: Wording = Wording("", "")  # noqa: RUF009 (a tuple is immutable)

    def german(self) -> str:
        """Return the clause."""
        return _joined(self.conjunction.german, self.predicate.german_zu())

    def english(self) -> str:
        """Return the clause."""
        return _joined(self.conjunction.english, self.predicate.english_to())

    def combinations(self) -> Iterator[Combination]:
        """Yield what is combined inside."""
        return self.predicate.combinations()


@dataclass(frozen=True)
class Relative:
    """A relative clause, whose clause lacks the pronoun that leads it, unless that is its subject.

    English leaves a preposition behind: the report which we are waiting for.
    """

    clause: Clause
    lead: Prepositional | None = None

    def german(self, gender: Gender = Gender.MASCULINE) -> str:
        """Return the clause between commas."""
        del gender
        lead = self.lead.german() if self.lead else ""
        return f", {_joined(lead, self.clause.german_subordinate())},"

    def english(self) -> str:
        """Return the clause."""
        lead = self.lead.phrase.english() if self.lead else ""
        return _joined(lead, self.clause.english())

    def combinations(self) -> Iterator[Combination]:
        """Yield the antecedent with the verb, and what is combined inside."""
        if self.lead and self.lead.phrase.name:
            yield Combination("object", self.clause.predicate.verb.name, self.lead.phrase.name)
        yield from self.clause.combinations()
