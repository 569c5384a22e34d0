"""Sentences of the chair and of the rapporteur: agendas, votes, dates and sums of money."""

from dataclasses import replace

from stages.demo import lexicon, numerals, phrases
from stages.demo.clauses import MAY, MUST, Clause, Negation, Tense, Time, VerbPhrase
from stages.demo.composer import YET, Composer
from stages.demo.german import Case
from stages.demo.phrase_composer import TO
from stages.demo.phrases import Fixed, Name, NounPhrase, Phrase, Prepositional
from stages.demo.sentence import Sentence, finished, stated
from stages.demo.wording import Wording
from stages.demo.words import TEXT, Kind

FOR = Wording("für", "for")
STATES_OF_SITTING = (
    Wording("für eröffnet", "open"),
    Wording("für geschlossen", "closed"),
    Wording("für unterbrochen", "suspended"),
    Wording("für beendet", "finished"),
)


def transfer(composer: Composer) -> Sentence:
    """Draw who gives what to whom: Die Kommission legt dem Rat einen Vorschlag vor."""
    verb = composer.choose(lexicon.TRANSFER)
    thing = Prepositional(composer.thing(verb.objects, rich=False))
    person = composer.person() if composer.chance(25) else composer.body()
    receiver = Prepositional(person, Case.DATIVE, TO)
    clause = composer.clause(verb=verb, front=40)
    negation = Negation.NICHT if thing.phrase.definite and composer.chance(10) else Negation.NONE
    modal = None if clause.modal is MAY else clause.modal
    adverb = None if clause.predicate.adverb is YET else clause.predicate.adverb
    predicate = VerbPhrase(verb, (thing, receiver), adverb=adverb)
    return stated(composer, replace(clause, predicate=predicate, negation=negation, modal=modal))


def thanks(composer: Composer) -> Sentence:
    """Draw words of thanks: Ich danke Frau Weber für den ausführlichen Bericht."""
    receivers: tuple[Phrase, ...] = (composer.name(), composer.person(), composer.body())
    receiver = composer.choose(receivers)
    gift = composer.thing(Kind.REPORT | Kind.PROPOSAL, definite=True, rich=False)
    actor = composer.choose((phrases.SPEAKER, phrases.WE))
    danken = next(verb for verb in lexicon.OBLIQUE if verb.entry == "danken")
    objects = (
        Prepositional(receiver, Case.DATIVE),
        Prepositional(gift, preposition=FOR),
    )
    modal = composer.choose((None, None, MUST))
    return stated(composer, Clause(actor, VerbPhrase(danken, objects), modal=modal))


def price(composer: Composer) -> Sentence:
    """Draw what something costs."""
    subject = composer.thing(Kind.PLAN, definite=True)
    predicate = VerbPhrase(lexicon.COST, (Prepositional(composer.amount()),))
    tense = composer.choose((Tense.PRESENT, Tense.PERFECT, Tense.FUTURE))
    return stated(composer, Clause(subject, predicate, tense))


def spending(composer: Composer) -> Sentence:
    """Draw who spends how much on what."""
    verb, preposition = composer.choose(
        ((lexicon.PROVIDE, FOR), (lexicon.SPEND, Wording("für", "on")))
    )
    purpose = composer.thing(Kind.PLAN | Kind.POLICY | Kind.VALUE, definite=True, rich=False)
    target = Prepositional(purpose, preposition=preposition)
    amount = composer.amount()
    if composer.chance(40):
        clause = Clause(amount, VerbPhrase(verb, (target,)), Tense.PAST, passive=True)
    else:
        tense = composer.choose((Tense.PAST, Tense.PAST, Tense.FUTURE))
        clause = Clause(composer.body(), VerbPhrase(verb, (Prepositional(amount), target)), tense)
    time = composer.future() if clause.tense is Tense.FUTURE else composer.past()
    return stated(composer, replace(clause, time=time, time_in_front=composer.chance(60)))


def trend(composer: Composer) -> Sentence:
    """Draw what has risen or fallen: In Polen sind die Preise um 3,5 Prozent gestiegen."""
    noun = composer.noun(Kind.QUANTITY)
    subject = NounPhrase(noun, phrases.DEFINITE, plural=noun.countable)
    country = Prepositional(composer.country(), Case.DATIVE, Wording("in", "in"))
    share = composer.percentage()
    year = composer.between(1960, 2024)
    verb = composer.choose((lexicon.RISE, lexicon.FALL))
    if composer.chance(50):
        by = Wording(f"um {share.german}", f"by {share.english}")
        tense, time = Tense.PERFECT, Time(country.german(), country.english())
    else:
        by = Wording(
            f"{country.german()} um {share.german}", f"by {share.english} {country.english()}"
        )
        tense, time = Tense.PAST, Time(f"im Jahr {year}", f"in {year}")
    clause = Clause(subject, VerbPhrase(verb, (), by), tense, time=time, time_in_front=True)
    return stated(composer, clause)


def voting(composer: Composer) -> Sentence:
    """Draw the result of a vote: mit 312 gegen 97 Stimmen."""
    more = composer.between(13, 500)
    fewer = composer.between(2, more - 1)
    votes = Wording(f"mit {more} gegen {fewer} Stimmen", f"by {more} votes to {fewer}")
    verb = composer.transitive("ablehnen annehmen billigen")
    thing = composer.thing(TEXT, definite=True, rich=False)
    if composer.chance(50):
        clause = Clause(thing, VerbPhrase(verb, (), votes), Tense.PAST, passive=True)
        return stated(composer, clause)
    body = composer.body()
    while body.noun.german.lemma != "Parlament" and "usschuss" not in body.name:
        body = composer.body()
    clause = Clause(body, VerbPhrase(verb, (Prepositional(thing),), votes), Tense.PAST)
    return stated(composer, clause)


def opening(composer: Composer) -> Sentence:
    """Draw words of the chair: Ich erkläre die Sitzung vom 3. Mai 1999 für eröffnet."""
    meeting = NounPhrase(composer.noun(Kind.MEETING), phrases.DEFINITE)
    while meeting.name == "Verhandlung":
        meeting = replace(meeting, noun=composer.noun(Kind.MEETING))
    if composer.chance(60):
        of = Prepositional(Fixed(numerals.day(composer.day())), preposition=Wording("vom", "of"))
        meeting = phrases.with_attachment(meeting, of)
    elif composer.chance(30):
        meeting = replace(meeting, determiner=phrases.THIS)
    state = composer.choose(STATES_OF_SITTING)
    predicate = VerbPhrase(lexicon.DECLARE, (Prepositional(meeting),), state)
    return stated(composer, Clause(phrases.SPEAKER, predicate))


def agenda(composer: Composer) -> Sentence:
    """Draw who speaks next or what comes next."""
    if composer.chance(40):
        person: Name | NounPhrase = composer.person() if composer.chance(25) else composer.name()
        words = f"das Wort hat {person.german(Case.NOMINATIVE)}"
        return finished(words, f"{person.english()} has the floor", ".", person)
    text = composer.thing(Kind.REPORT | Kind.PROPOSAL, definite=True)
    text = replace(text, determiner=phrases.DEFINITE, plural=False)
    german = f"als nächster Punkt folgt {text.german(Case.NOMINATIVE)}"
    return finished(german, f"the next item is {text.english()}", ".", text)


def schedule(composer: Composer) -> Sentence:
    """Draw when a meeting will be: Die Abstimmung findet morgen um 11.30 Uhr statt."""
    clock = numerals.time_of_day(5 * composer.between(96, 287))
    meeting = composer.thing(Kind.MEETING, definite=True, rich=False)
    when = composer.day().replace(year=composer.between(2025, 2045), day=composer.between(1, 28))
    day, weekday = numerals.day(when), numerals.weekday(when)
    time = composer.choose(
        (
            Time("morgen", "tomorrow"),
            Time(f"am {weekday.german}", f"on {weekday.english}"),
            Time(f"am {day.german}", f"on {day.english}"),
        )
    )
    complement = Wording(f"um {clock.german}", f"at {clock.english}")
    predicate = VerbPhrase(lexicon.TAKE_PLACE, (), complement)
    front = composer.chance(40)
    clause = Clause(meeting, predicate, Tense.SCHEDULED, time=time, time_in_front=front)
    return stated(composer, clause)
