"""Whole sentences: each function draws one of a family, as speakers in a debate use them."""

from collections.abc import Callable
from dataclasses import replace

from stages.demo import lexicon, phrases
from stages.demo.clauses import (
    CAN,
    MAY,
    MUST,
    SHOULD,
    WANT,
    Clause,
    Infinitive,
    Negation,
    Relative,
    Subordinate,
    Tense,
    VerbPhrase,
)
from stages.demo.composer import Composer
from stages.demo.german import Agreement, Case
from stages.demo.phrases import (
    Name,
    NounPhrase,
    Phrase,
    Prepositional,
)
from stages.demo.proceedings import (
    agenda,
    opening,
    price,
    schedule,
    spending,
    thanks,
    transfer,
    trend,
    voting,
)
from stages.demo.sentence import Sentence, finished, stated
from stages.demo.wording import Wording
from stages.demo.words import TEXT, Kind

THAT = Wording("dass", "that")
BECAUSE = Wording("weil", "because")
ALTHOUGH = Wording("obwohl", "although")
IF = Wording("wenn", "if")
IN_ORDER = Wording("um", "in order")

JUDGEMENTS = (
    Wording("klar", "clear"),
    Wording("richtig", "right"),
    Wording("bedauerlich", "regrettable"),
    Wording("erfreulich", "gratifying"),
    Wording("offensichtlich", "obvious"),
    Wording("inakzeptabel", "unacceptable"),
)
NECESSITIES = (
    Wording("notwendig", "necessary"),
    Wording("wichtig", "important"),
    Wording("möglich", "possible"),
    Wording("schwierig", "difficult"),
    Wording("sinnvoll", "useful"),
)
_IT = phrases.Pronoun(dict.fromkeys(Case, "es"), "it", "it", Agreement.THIRD)


def statement(composer: Composer) -> Sentence:
    """Draw a main clause: Gestern hat der Rat den Vorschlag abgelehnt."""
    return stated(composer, composer.clause(rich=True, front=45))


def passive(composer: Composer) -> Sentence:
    """Draw a passive main clause: Der Antrag wurde am Dienstag abgelehnt."""
    return stated(composer, composer.passive(front=35))


def quality(composer: Composer) -> Sentence:
    """Draw what something is like, perhaps with a relative clause that tells which."""
    subject = composer.thing(TEXT | Kind.PLAN | Kind.POLICY, definite=True)
    if not subject.attachments and not subject.owner and composer.chance(60):
        subject = replace(subject, determiner=phrases.DEFINITE)
        subject = phrases.with_attachment(subject, composer.relative(subject))
    return stated(composer, composer.described(subject, front=15))


def relative(composer: Composer) -> Sentence:
    """Draw a main clause about an object that has a relative clause."""
    thing = composer.thing(TEXT | Kind.PLAN | Kind.ISSUE, definite=True, rich=False)
    thing = replace(thing, determiner=phrases.DEFINITE)
    verbs = tuple(verb for verb in lexicon.TRANSITIVE if verb.objects & thing.noun.kind)
    verb = composer.choose(verbs)
    predicate = VerbPhrase(verb, (Prepositional(thing),), extension=composer.relative(thing))
    tense, modal = composer.weighted(
        ((4, (Tense.PRESENT, None)), (3, (Tense.PERFECT, None)), (4, (Tense.PRESENT, MUST)))
    )
    return stated(composer, Clause(composer.actor(verb), predicate, tense, modal))


def involved(composer: Composer) -> Sentence:
    """Draw a main clause about someone with a relative clause: die Ministerin, die ihn ablehnt."""
    person = composer.person() if composer.chance(60) else composer.body()
    while not person.noun.countable or person.determiner is not phrases.DEFINITE:
        person = composer.person()
    pronoun = phrases.relative_pronoun(person)
    clause = composer.clause(pronoun, verb=composer.choose(lexicon.STANCES))
    subject = phrases.with_attachment(person, Relative(clause))
    return stated(composer, composer.clause(subject))


def _embedded(composer: Composer) -> Clause:
    """Draw a clause for the place after dass, perhaps with a reason of its own."""
    kind = composer.between(1, 10)
    if kind == 1:
        return composer.quality()
    if kind <= 3:  # noqa: PLR2004 (tenths)
        return composer.passive()
    clause = composer.clause()
    ground = _ground(composer, clause)
    if ground is None or not composer.chance(60):
        return clause
    return replace(clause, predicate=replace(clause.predicate, extension=ground))


def _ground(composer: Composer, clause: Clause) -> Subordinate | None:
    """Draw why something is done to a thing, by what the thing is like: weil er wichtig ist."""
    verb = clause.predicate.verb.name
    thing = clause.predicate.objects[0].phrase
    if verb not in lexicon.FAVOURABLE | lexicon.HOSTILE or not isinstance(thing, NounPhrase):
        return None
    if thing.adjectives or not thing.definite or not thing.noun.kind & (TEXT | Kind.PLAN):
        return None
    favoured = (verb in lexicon.FAVOURABLE) is (clause.negation is Negation.NONE)
    because = composer.chance(60)
    quality = composer.judged(phrases.anaphor(thing), merit=favoured is because)
    return Subordinate(BECAUSE if because else ALTHOUGH, quality)


def saying(composer: Composer) -> Sentence:
    """Draw a main clause with dass: Ich glaube, dass der Rat den Bericht ablehnen wird."""
    speakers: tuple[tuple[int, Phrase], ...] = (
        (6, phrases.SPEAKER),
        (4, phrases.WE),
        (2, composer.name()),
        (3, composer.body()),
        (2, composer.person()),
    )
    speaker = composer.weighted(speakers)
    verb = composer.choose(lexicon.SAYING)
    clause = Clause(speaker, VerbPhrase(verb, extension=Subordinate(THAT, _embedded(composer))))
    if verb.name in lexicon.ASSERTIONS:
        if composer.chance(30):
            clause = replace(clause, tense=Tense.PERFECT)
        elif composer.chance(30):
            clause = replace(clause, modal=MUST)
    elif verb.entry in ("glauben", "meinen") and composer.chance(25):
        clause = replace(clause, negation=Negation.NICHT)
    return stated(composer, clause)


def judgement(composer: Composer) -> Sentence:
    """Draw what is clear or a pity: Es ist klar, dass der Bericht wichtig ist."""
    extension = Subordinate(THAT, _embedded(composer))
    predicate = VerbPhrase(lexicon.BE, (), composer.choose(JUDGEMENTS), extension=extension)
    return stated(composer, Clause(_IT, predicate))


def necessity(composer: Composer) -> Sentence:
    """Draw an infinitive clause: Es ist wichtig, die Armut zu bekämpfen."""
    extension = Infinitive(composer.predicate(rich=False))
    predicate = VerbPhrase(lexicon.BE, (), composer.choose(NECESSITIES), extension=extension)
    negation = Negation.NICHT if composer.chance(20) else Negation.NONE
    return stated(composer, Clause(_IT, predicate, negation=negation))


def intention(composer: Composer) -> Sentence:
    """Draw who decides or tries to do something, calls for it, or needs something for it."""
    kind = composer.between(1, 3)
    extension = Infinitive(composer.predicate(rich=False))
    actor = composer.actor()
    if kind == 1:
        verb, tense = composer.choose(
            ((lexicon.DECIDE, Tense.PERFECT), (lexicon.TRY, Tense.PRESENT))
        )
        return stated(composer, Clause(actor, VerbPhrase(verb, extension=extension), tense))
    if kind == 2:  # noqa: PLR2004
        addressee = Prepositional(composer.body())
        callers: tuple[Phrase, ...] = (phrases.SPEAKER, phrases.WE, composer.person())
        actor = composer.choose(callers)
        predicate = VerbPhrase(lexicon.CALL_ON, (addressee,), extension=extension)
        return stated(composer, Clause(actor, predicate))
    means = composer.amount() if composer.chance(40) else composer.thing(Kind.PLAN, rich=False)
    extension = replace(extension, conjunction=IN_ORDER)
    predicate = VerbPhrase(lexicon.NEED, (Prepositional(means),), extension=extension)
    return stated(composer, Clause(actor, predicate))


def reason(composer: Composer) -> Sentence:
    """Draw a main clause with weil or obwohl, after it or before it."""
    main = composer.clause(verb=composer.choose(lexicon.STANCES) if composer.chance(50) else None)
    ground = _ground(composer, main)
    if ground:
        german = f"{main.german_main()}, {ground.german()}"
        return finished(german, f"{main.english()} {ground.english()}", ".", main, ground)
    conjunction = composer.choose((BECAUSE, ALTHOUGH))
    clause = composer.clause(verb=composer.choose(lexicon.STANCES))
    return _complex(composer, main, Subordinate(conjunction, clause))


def condition(composer: Composer) -> Sentence:
    """Draw what we must do if something happens."""
    verb = composer.choose(lexicon.STANCES)
    clause = Clause(composer.actor(verb), composer.predicate(verb, rich=False))
    if composer.chance(30):
        clause = composer.quality()
    predicate = composer.predicate(rich=False)
    main = Clause(phrases.WE, predicate, modal=composer.choose((MUST, CAN, SHOULD)))
    return _complex(composer, main, Subordinate(IF, clause))


def _complex(composer: Composer, main: Clause, subordinate: Subordinate) -> Sentence:
    """Join two clauses; after a subordinate clause, the main one begins with its verb."""
    if composer.chance(35):
        german = f"{subordinate.german()}, {main.german_inverted()}"
        english = f"{subordinate.english()}, {main.english()}"
    else:
        german = f"{main.german_main()}, {subordinate.german()}"
        english = f"{main.english()} {subordinate.english()}"
    return finished(german, english, ".", main, subordinate)


def question(composer: Composer) -> Sentence:
    """Draw a question for yes or no: Hat der Ausschuss den Bericht gelesen?"""
    clause = composer.passive() if composer.chance(25) else composer.clause()
    if clause.modal is MAY or clause.subject is phrases.SPEAKER:
        clause = replace(clause, subject=phrases.YOU, modal=None, time=None, tense=Tense.PRESENT)
    return finished(clause.german_inverted(), clause.english_question(), "?", clause)


def asking(composer: Composer) -> Sentence:
    """Draw a question with a question word."""
    kind = composer.between(1, 4)
    if kind == 1:
        clause = composer.clause(phrases.WHO)
        return finished(clause.german_main(), clause.english(), "?", clause)
    if kind == 2:  # noqa: PLR2004
        return _asking_which(composer)
    word = composer.choose((Wording("wann", "when"), Wording("warum", "why")))
    clause = composer.passive() if composer.chance(30) else composer.clause()
    clause = replace(clause, time=None, modal=None, negation=Negation.NONE)
    clause = _without_kein(clause)
    tense = composer.choose((Tense.PAST, Tense.FUTURE) if word.german == "wann" else _WHY_TENSES)
    clause = replace(clause, tense=tense, predicate=replace(clause.predicate, adverb=None))
    german, english = clause.german_inverted(word.german), clause.english_question(word.english)
    return finished(german, english, "?", clause)


_WHY_TENSES = (Tense.PRESENT, Tense.PERFECT, Tense.FUTURE)


def _without_kein(clause: Clause) -> Clause:
    """Return the clause with definite objects in the place of those with kein."""
    objects = tuple(
        replace(item, phrase=replace(item.phrase, determiner=phrases.DEFINITE))
        if isinstance(item.phrase, NounPhrase) and item.phrase.determiner is phrases.NOT_A
        else item
        for item in clause.predicate.objects
    )
    return replace(clause, predicate=replace(clause.predicate, objects=objects))


def _asking_which(composer: Composer) -> Sentence:
    verb = composer.choose(lexicon.TRANSITIVE)
    thing = composer.thing(verb.objects & (TEXT | Kind.PLAN) or TEXT, rich=False)
    if not verb.objects & thing.noun.kind:
        verb = lexicon.TRANSITIVE[0]
    many = thing.noun.countable and composer.chance(40)
    determiner = phrases.HOW_MANY if many else phrases.WHICH
    thing = replace(thing, determiner=determiner, plural=many, adjectives=())
    tense = composer.choose((Tense.PRESENT, Tense.PERFECT, Tense.FUTURE))
    clause = Clause(composer.body(), VerbPhrase(verb), tense)
    lead = Prepositional(thing)
    whole = replace(clause, predicate=VerbPhrase(verb, (lead,)))
    german = clause.german_inverted(lead.german())
    return finished(german, clause.english_question(lead.english()), "?", whole)


def coordination(composer: Composer) -> Sentence:
    """Draw two clauses with pronouns: Der Rat hat die Richtlinie geprüft, aber er lehnt sie ab."""
    conjunction, before, after, modals, negation = composer.choose(_TURNS)
    kind = composer.choose((Kind.PROPOSAL, Kind.REPORT, Kind.LAW))
    actors: tuple[NounPhrase | Name, ...] = (composer.body(), composer.person(), composer.name())
    actor = composer.choose(actors)
    thing = composer.thing(kind, definite=True, rich=False)
    subject = phrases.anaphor(actor)
    while subject.german(Case.NOMINATIVE) == phrases.anaphor(thing).german(Case.ACCUSATIVE):
        thing = composer.thing(kind, definite=True, rich=False)
    again = Prepositional(phrases.anaphor(thing))
    first = Clause(
        actor, VerbPhrase(composer.transitive(before), (Prepositional(thing),)), Tense.PERFECT
    )
    second = Clause(
        subject,
        VerbPhrase(composer.transitive(after), (again,)),
        modal=composer.choose(modals),
        negation=negation,
    )
    english = f"{first.english()}{conjunction.english} {second.english()}"
    order = second.german_main if conjunction is BUT else second.german_subordinate
    german = f"{first.german_main()}, {conjunction.german} {order()}"
    return finished(german, english, ".", first, second)


BUT = Wording("aber", ", but")
_BECAUSE, _ALTHOUGH = (Wording(word.german, f" {word.english}") for word in (BECAUSE, ALTHOUGH))
_STUDY = "prüfen erörtern überarbeiten"
_APPROVE = "annehmen billigen unterstützen"
_OPPOSE = "ablehnen kritisieren"
_TURNS = (
    (BUT, _STUDY, _OPPOSE, (None,), Negation.NONE),
    (BUT, _STUDY, _APPROVE, (CAN, WANT), Negation.NICHT),
    (_BECAUSE, _APPROVE, "begrüßen verteidigen", (None,), Negation.NONE),
    (_BECAUSE, _STUDY, "verbessern ändern", (WANT, MUST), Negation.NONE),
    (_BECAUSE, _OPPOSE, _APPROVE, (CAN,), Negation.NICHT),
    (_ALTHOUGH, _APPROVE, _OPPOSE, (None,), Negation.NONE),
    (_ALTHOUGH, _STUDY, _OPPOSE, (None,), Negation.NONE),
)
"""What may follow what: conjunction, first verb, second verb, its modal and its negation."""


FAMILIES: tuple[tuple[int, Callable[[Composer], Sentence]], ...] = (
    (20, statement),
    (11, passive),
    (7, quality),
    (6, relative),
    (3, involved),
    (13, saying),
    (5, judgement),
    (4, necessity),
    (7, intention),
    (12, reason),
    (6, condition),
    (5, question),
    (6, asking),
    (5, coordination),
    (5, transfer),
    (2, thanks),
    (2, price),
    (4, spending),
    (3, trend),
    (2, voting),
    (1, opening),
    (1, agenda),
    (2, schedule),
)
"""The families with their weights."""


def sentence(composer: Composer) -> Sentence:
    """Draw a sentence."""
    return composer.weighted(FAMILIES)(composer)
