"""Random clauses: what is said of phrases, when and how often."""

from dataclasses import replace

from stages.demo import lexicon, phrases
from stages.demo.clauses import (
    CAN,
    MAY,
    MUST,
    SHOULD,
    WANT,
    Clause,
    Modal,
    Negation,
    Relative,
    Tense,
    Time,
    VerbPhrase,
)
from stages.demo.german import Case
from stages.demo.phrase_composer import PhraseComposer
from stages.demo.phrases import (
    NounPhrase,
    Phrase,
    Prepositional,
)
from stages.demo.wording import Wording, listed
from stages.demo.words import SCHEME, TEXT, Kind, Verb

BY = Wording("von", "by")
PERFECT_TIMES = (
    Time("heute", "today"),
    Time("in dieser Woche", "this week"),
    Time("in diesem Jahr", "this year"),
    Time("in diesem Monat", "this month"),
)
ATTITUDES = (
    Time("leider", "unfortunately"),
    Time("natürlich", "of course"),
    Time("außerdem", "furthermore"),
    Time("deshalb", "therefore"),
    Time("trotzdem", "nevertheless"),
    Time("in der Tat", "indeed"),
    Time("meiner Meinung nach", "in my opinion"),
)
"""Adverbials that stand in front whatever the tense."""
MANNERS = (
    (Wording("einstimmig", "unanimously"), "annehmen ablehnen billigen unterstützen"),
    (Wording("sorgfältig", "carefully"), "prüfen lesen vorbereiten überarbeiten überwachen"),
    (Wording("nachdrücklich", "strongly"), "kritisieren verteidigen unterstützen fördern"),
    (Wording("ausdrücklich", "expressly"), "begrüßen billigen verteidigen"),
)
ALREADY = Wording("bereits", "already")
YET = Wording("noch", "yet")
"""With nicht: noch nicht, not yet."""
PASSIVE_VERBS = tuple(verb for verb in lexicon.TRANSITIVE if verb.entry != "verstehen")


class Composer(PhraseComposer):
    """Draws clauses, too."""

    def relative(self, phrase: NounPhrase) -> Relative:
        """Draw a relative clause that tells which thing, other than a person, is meant."""
        pronoun = phrases.relative_pronoun(phrase)
        verbs = tuple(
            verb
            for verb in (*lexicon.TRANSITIVE, *lexicon.OBLIQUE)
            if verb.objects & phrase.noun.kind
        )
        verb = self.choose(verbs)
        lead = Prepositional(pronoun, verb.case, Wording(verb.preposition, ""))
        clause = self._timed(Clause(self.actor(verb), VerbPhrase(verb)), front=0)
        return Relative(clause, lead)

    def verb(self, *, progressive: bool = True) -> Verb:
        """Draw a verb with one object, whose English is in the progressive or perhaps not."""
        verbs = lexicon.TRANSITIVE if self.chance(75) else lexicon.OBLIQUE
        if not progressive:
            verbs = tuple(verb for verb in verbs if not verb.progressive)
        return self.choose(verbs)

    def transitive(self, names: str) -> Verb:
        """Draw one of some transitive verbs, given by their infinitives."""
        name = self.choose(listed(names))
        return next(verb for verb in lexicon.TRANSITIVE if verb.name == name)

    def predicate(
        self, verb: Verb | None = None, *, negated: bool = False, rich: bool = True
    ) -> VerbPhrase:
        """Draw the object of a verb.

        Args:
            verb: None draws one.
            negated: whether it will be negated; the object is then definite or has kein.
            rich: whether the object may have dependents.
        """
        verb = verb or self.verb()
        wording = Wording(verb.preposition, "")
        plain = verb.case is Case.ACCUSATIVE and not verb.preposition
        if plain and self.chance(10):
            item = self.item(verb)
            if item:
                return VerbPhrase(verb, (Prepositional(item),))
        thing = self.thing(verb.objects, definite=negated, rich=rich)
        countable = thing.noun.countable and thing.noun.kind & (TEXT | Kind.PLAN)
        if negated and plain and countable and self.chance(40):
            thing = replace(thing, determiner=phrases.NOT_A, label=None, owner=None)
        whole = VerbPhrase(verb, (Prepositional(thing, verb.case, wording),))
        if rich and not negated and countable and self.chance(10):
            thing = replace(thing, determiner=phrases.DEFINITE, owner=None, attachments=())
            extension = self.relative(thing)
            return VerbPhrase(
                verb, (Prepositional(thing, verb.case, wording),), extension=extension
            )
        return whole

    def clause(
        self,
        subject: Phrase | None = None,
        *,
        verb: Verb | None = None,
        rich: bool = False,
        front: int = 0,
    ) -> Clause:
        """Draw an active clause.

        Args:
            subject: who acts; None draws someone.
            verb: what is done; None draws something.
            rich: whether the object may have dependents; only for main clauses.
            front: how often in a hundred an adverbial, if any, stands in front.
        """
        negated = self.chance(15)
        predicate = self.predicate(verb, negated=negated, rich=rich)
        clause = Clause(subject or self.actor(predicate.verb), predicate)
        return self._timed(replace(clause, negation=_negation(predicate, negated)), front=front)

    def passive(self, *, front: int = 0) -> Clause:
        """Draw a passive clause."""
        verb = self.choose(PASSIVE_VERBS)
        agent = verb.name not in lexicon.HUMAN_ACTIONS and self.chance(40)
        objects = (Prepositional(self.body(), Case.DATIVE, BY),) if agent else ()
        predicate = VerbPhrase(verb, objects)
        patient = self.thing(verb.objects, definite=not self.chance(30))
        clause = Clause(patient, predicate, passive=True)
        if not agent and self.chance(35):
            return replace(clause, modal=self.choose((MUST, CAN, SHOULD)))
        negation = Negation.NICHT if patient.definite and self.chance(12) else Negation.NONE
        clause = replace(clause, negation=negation)
        tenses = (Tense.PRESENT, Tense.PERFECT, Tense.PAST, Tense.PAST, Tense.FUTURE)
        tense = self.choose(tenses if agent or verb.progressive else tenses[1:])
        return self._at(replace(clause, tense=tense), front=front, percent=60)

    def quality(self, *, front: int = 0) -> Clause:
        """Draw a clause that says of something how it is."""
        return self.described(self.thing(TEXT | SCHEME, definite=True), front=front)

    def described(self, subject: NounPhrase, *, front: int = 0) -> Clause:
        """Draw a clause that says of ``subject`` how it is."""
        merit = self.chance(50)
        clause = self.judged(subject, merit=merit)
        if merit and self.chance(25):
            clause = replace(clause, negation=Negation.NICHT)
        if self.chance(20):
            clause = replace(clause, tense=Tense.PAST)
        if self.chance(front):
            return replace(clause, time=self.choose(ATTITUDES), time_in_front=True)
        return clause

    def judged(self, subject: Phrase, *, merit: bool) -> Clause:
        """Draw a clause that says that something is good, or bad, in one way or another."""
        quality, degrees = self.choose(lexicon.MERITS if merit else lexicon.FLAWS)
        if degrees and self.chance(60):
            degree = self.choose(degrees)
            quality = Wording(
                f"{degree.german} {quality.german}", f"{degree.english} {quality.english}"
            )
        return Clause(subject, VerbPhrase(lexicon.BE, (), quality))

    def _timed(self, clause: Clause, *, front: int) -> Clause:
        """Draw tense, modal, adverb and time of an active clause."""
        negated = clause.negation is not Negation.NONE
        if self.chance(22):
            modal = self._modal(negated=negated)
            stance = self.chance(front // 2)
            time = self.choose(ATTITUDES) if stance else None
            return replace(clause, modal=modal, time=time, time_in_front=stance)
        tense = self.weighted(
            ((7, Tense.PRESENT), (6, Tense.PERFECT), (6, Tense.PAST), (3, Tense.FUTURE))
        )
        if tense is not Tense.FUTURE:
            clause = self._with_adverb(replace(clause, tense=tense), negated=negated)
        return self._at(replace(clause, tense=tense), front=front, percent=60)

    def _modal(self, *, negated: bool) -> Modal:
        if negated:
            return self.choose((CAN, SHOULD, WANT, MAY))
        return self.choose((MUST, MUST, CAN, SHOULD, WANT))

    def _with_adverb(self, clause: Clause, *, negated: bool) -> Clause:
        predicate, adverb = clause.predicate, None
        if clause.tense is Tense.PERFECT and self.chance(35):
            adverb = YET if negated else ALREADY
        elif not negated and self.chance(40):
            name = predicate.verb.german.infinitive
            fitting = tuple(manner for manner, verbs in MANNERS if name in verbs.split())
            adverb = self.choose(fitting) if fitting else None
            collective = isinstance(clause.subject, NounPhrase) and (
                clause.subject.noun.kind & Kind.BODY
            )
            if adverb and adverb.german == "einstimmig" and not collective:
                adverb = None
        return replace(clause, predicate=replace(predicate, adverb=adverb))

    def _at(self, clause: Clause, *, front: int, percent: int) -> Clause:
        """Draw a time that suits the tense, or with some chance none."""
        active_past = clause.tense is Tense.PAST and not clause.passive
        if not active_past and not self.chance(percent):
            return clause
        if clause.tense is Tense.PAST:
            time = self.past()
        elif clause.tense is Tense.PERFECT:
            if clause.predicate.adverb in (ALREADY, YET):
                return clause
            time = self.choose(PERFECT_TIMES)
        elif clause.tense is Tense.FUTURE:
            time = self.future()
        else:
            if not self.chance(front):
                return clause
            return replace(clause, time=self.choose(ATTITUDES), time_in_front=True)
        in_front = self.chance(front) or clause.predicate.extension is not None
        return replace(clause, time=time, time_in_front=in_front)


def _negation(predicate: VerbPhrase, negated: bool) -> Negation:  # noqa: FBT001 (private)
    if not negated:
        return Negation.NONE
    thing = predicate.objects[0].phrase
    kein = isinstance(thing, NounPhrase) and thing.determiner is phrases.NOT_A
    return Negation.KEIN if kein else Negation.NICHT
