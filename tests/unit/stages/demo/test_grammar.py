"""Agreement, word order and numbers, against expectations written by hand."""

from dataclasses import replace
from datetime import date

import pytest

from nmt_core.base.errors import CorpusError
from stages.demo import lexicon, nouns, numerals, phrases
from stages.demo.clauses import (
    CAN,
    MAY,
    MUST,
    WANT,
    Clause,
    Infinitive,
    Negation,
    Relative,
    Subordinate,
    Tense,
    Time,
    VerbPhrase,
)
from stages.demo.composer import ALREADY, YET
from stages.demo.english import EnglishVerb, plural, with_article
from stages.demo.generate import generate
from stages.demo.german import Agreement, Case, Gender, GermanVerb
from stages.demo.phrases import Country, Fixed, Name, NounPhrase, Prepositional
from stages.demo.sentence import finished
from stages.demo.settings import GrammarConfig
from stages.demo.wording import Wording

NOUNS = {noun.german.lemma: noun for noun in (*nouns.SIMPLE_NOUNS, *nouns.COMPOUND_NOUNS)}
ADJECTIVES = {
    adjective.german: adjective for adjective in (*lexicon.ADJECTIVES, *lexicon.NATIONALITIES)
}
VERBS = {verb.name: verb for verb in (*lexicon.OBLIQUE, *lexicon.SAYING, *lexicon.TRANSITIVE)}
DETERMINERS = {
    "der": phrases.DEFINITE,
    "ein": phrases.INDEFINITE,
    "kein": phrases.NOT_A,
    "dieser": phrases.THIS,
    "unser": phrases.OUR,
    "alle": phrases.ALL,
    "viele": phrases.MANY,
    "": phrases.BARE,
}


def noun_phrase(words, *, several=False):
    """Build a noun phrase from its determiner, adjectives and noun, all in dictionary form."""
    determiner, *adjectives, noun = words.split(" ")
    chosen = tuple(ADJECTIVES[adjective] for adjective in adjectives)
    return NounPhrase(NOUNS[noun], DETERMINERS[determiner], plural=several, adjectives=chosen)


def thing(words, case=Case.ACCUSATIVE, *, several=False, german="", english=""):
    phrase = noun_phrase(words, several=several)
    return Prepositional(phrase, case, Wording(german, english))


def clause(subject, verb, *objects, **settings):
    predicate = VerbPhrase(VERBS[verb], objects)
    return Clause(noun_phrase(subject), predicate, **settings)


def main(sentence):
    return finished(sentence.german_main(), sentence.english(), ".")[:2]


def question(sentence, word=None):
    word = word or Wording("", "")
    german = sentence.german_inverted(word.german)
    return finished(german, sentence.english_question(word.english), "?")[:2]


COMMISSION = "der Kommission"
COUNCIL = "der Rat"
REPORT = thing("der Bericht")


class TestAgreement:
    @pytest.mark.parametrize(
        ("words", "case", "expected"),
        [
            ("der groß Haushalt", Case.ACCUSATIVE, "den großen Haushalt"),
            ("ein wichtig Bericht", Case.DATIVE, "einem wichtigen Bericht"),
            ("der neu Richtlinie", Case.DATIVE, "der neuen Richtlinie"),
            ("der neu Richtlinie", Case.NOMINATIVE, "die neue Richtlinie"),
            ("ein neu Gesetz", Case.NOMINATIVE, "ein neues Gesetz"),
            ("ein ehrgeizig Plan", Case.NOMINATIVE, "ein ehrgeiziger Plan"),
            ("unser streng Verordnung", Case.GENITIVE, "unserer strengen Verordnung"),
            ("dieser gemeinsam Haushalt", Case.GENITIVE, "dieses gemeinsamen Haushalts"),
            ("kein modern System", Case.ACCUSATIVE, "kein modernes System"),
            ("der teuer Projekt", Case.NOMINATIVE, "das teure Projekt"),
            ("der dänisch Experte", Case.NOMINATIVE, "der dänische Experte"),
            ("der dänisch Experte", Case.ACCUSATIVE, "den dänischen Experten"),
            ("der Präsident", Case.GENITIVE, "des Präsidenten"),
        ],
    )
    def test_a_phrase_in_the_singular_shows_case_and_gender(self, words, case, expected):
        assert expected == noun_phrase(words).german(case)

    @pytest.mark.parametrize(
        ("words", "case", "expected"),
        [
            ("der neu Vorschlag", Case.NOMINATIVE, "die neuen Vorschläge"),
            ("der neu Vorschlag", Case.DATIVE, "den neuen Vorschlägen"),
            (" wichtig Bericht", Case.ACCUSATIVE, "wichtige Berichte"),
            (" wichtig Bericht", Case.GENITIVE, "wichtiger Berichte"),
            ("viele jung Landwirt", Case.NOMINATIVE, "viele junge Landwirte"),
            ("alle neu Minister", Case.DATIVE, "allen neuen Ministern"),
            ("alle klein Projekt", Case.NOMINATIVE, "alle kleinen Projekte"),
            ("kein streng Beschluss", Case.ACCUSATIVE, "keine strengen Beschlüsse"),
        ],
    )
    def test_a_phrase_in_the_plural_shows_its_case(self, words, case, expected):
        assert expected == noun_phrase(words, several=True).german(case)

    @pytest.mark.parametrize(
        ("words", "several", "expected"),
        [
            ("ein ehrgeizig Plan", False, "an ambitious plan"),
            ("ein europäisch Gesetz", False, "a European law"),
            ("kein Bericht", True, "any reports"),
            ("dieser Krise", True, "these crises"),
            ("der Armut", False, "poverty"),
            ("der Agrarpolitik", False, "agricultural policy"),
            ("der gemeinsam Agrarpolitik", False, "the common agricultural policy"),
            ("der Parlament", False, "Parliament"),
        ],
    )
    def test_english_chooses_the_article(self, words, several, expected):
        assert expected == noun_phrase(words, several=several).english()

    def test_an_owner_is_a_genitive_and_a_possessive(self):
        report = replace(noun_phrase("der neu Bericht"), owner=noun_phrase("der Ausschuss"))

        assert report.german(Case.DATIVE) == "dem neuen Bericht des Ausschusses"
        assert report.english() == "the committee's new report"

    def test_a_person_owns_with_von(self):
        owner = Name(Wording("Herr", "Mr"), "Weber", Gender.MASCULINE)
        report = replace(noun_phrase("der Bericht"), owner=owner)

        assert report.german(Case.NOMINATIVE) == "der Bericht von Herrn Weber"
        assert report.english() == "Mr Weber's report"

    @pytest.mark.parametrize(
        ("words", "several", "german", "english"),
        [
            ("der Rat", False, "er ihn ihm", "it it"),
            ("der Kommission", False, "sie sie ihr", "it it"),
            ("der Ministerin", False, "sie sie ihr", "she her"),
            ("der Gesetz", False, "es es ihm", "it it"),
            ("der Bericht", True, "sie sie ihnen", "they them"),
        ],
    )
    def test_a_pronoun_takes_the_gender_of_its_noun(self, words, several, german, english):
        pronoun = phrases.anaphor(noun_phrase(words, several=several))
        cases = (Case.NOMINATIVE, Case.ACCUSATIVE, Case.DATIVE)

        assert german == " ".join(pronoun.german(case) for case in cases)
        assert english == f"{pronoun.english(subject=True)} {pronoun.english()}"

    @pytest.mark.parametrize(
        ("words", "preposition", "expected"),
        [
            ("der Rat", "von", "vom Rat"),
            ("der Frieden", "zu", "zum Frieden"),
            ("der Sicherheit", "zu", "zur Sicherheit"),
            ("ein Treffen", "an", "an einem Treffen"),
        ],
    )
    def test_a_preposition_melts_with_the_definite_article(self, words, preposition, expected):
        assert expected == thing(words, Case.DATIVE, german=preposition).german()

    def test_some_countries_have_an_article(self):
        turkey = Country(Wording("Türkei", "Turkey"), article=True)

        assert turkey.german(Case.DATIVE) == "der Türkei"
        assert turkey.english() == "Turkey"


class TestVerbs:
    @pytest.mark.parametrize(
        ("verb", "forms"),
        [
            ("ablehnen", "lehne lehnt lehnen abgelehnt abzulehnen"),
            ("annehmen", "nehme nimmt nehmen angenommen anzunehmen"),
            ("vorbereiten", "bereite bereitet bereiten vorbereitet vorzubereiten"),
            ("unterstützen", "unterstütze unterstützt unterstützen unterstützt"),
            ("unterzeichnen", "unterzeichne unterzeichnet unterzeichnen unterzeichnet"),
            ("eröffnen", "eröffne eröffnet eröffnen eröffnet"),
            ("ändern", "ändere ändert ändern geändert"),
            ("entwickeln", "entwickle entwickelt entwickeln entwickelt"),
            ("ratifizieren", "ratifiziere ratifiziert ratifizieren ratifiziert"),
            ("wissen", "weiß weiß wissen gewusst"),
            ("einladen", "lade lädt laden eingeladen einzuladen"),
        ],
    )
    def test_a_german_verb_has_its_forms(self, verb, forms):
        german = VERBS[verb].german
        present = [german.present(agreement) for agreement in Agreement]
        zu = german.zu_infinitive
        found = [*present, german.participle, *([] if zu.startswith("zu ") else [zu])]

        assert forms.split() == found

    def test_an_inseparable_infinitive_follows_zu(self):
        assert GermanVerb("prüfen").zu_infinitive == "zu prüfen"

    @pytest.mark.parametrize(
        ("verb", "forms"),
        [
            ("reject", "rejects rejected rejected rejecting"),
            ("ratify", "ratifies ratified ratified ratifying"),
            ("submit", "submits submitted submitted submitting"),
            ("agree to", "agrees to, agreed to, agreed to, agreeing to"),
            ("draw up", "draws up, drew up, drawn up, drawing up"),
            ("stress", "stresses stressed stressed stressing"),
            ("revise", "revises revised revised revising"),
        ],
    )
    def test_an_english_verb_has_its_forms(self, verb, forms):
        english = EnglishVerb(verb)
        third = Agreement.THIRD
        found = [english.present(third), english.past(third), english.participle, english.gerund]

        assert forms.split(", " if "," in forms else " ") == found

    def test_english_nouns_and_articles_have_their_exceptions(self):
        assert plural("economic crisis") == "economic crises"
        assert plural("strategy") == "strategies"
        assert with_article("urgent matter") == "an urgent matter"
        assert with_article("unified text") == "a unified text"


class TestPhenomena:
    """One pair for every construction that the language has, written by hand."""

    def test_a_separable_particle_stands_last(self):
        said = clause(COUNCIL, "ablehnen", thing("der neu Vorschlag"))
        expected = (
            "Der Rat lehnt den neuen Vorschlag ab.",
            "The Council rejects the new proposal.",
        )

        assert expected == main(said)

    def test_a_subordinate_clause_puts_the_verb_last_and_joins_the_particle(self):
        content = clause(COUNCIL, "ablehnen", REPORT)
        know = VerbPhrase(VERBS["wissen"], extension=Subordinate(Wording("dass", "that"), content))
        expected = (
            "Ich weiß, dass der Rat den Bericht ablehnt.",
            "I know that the Council rejects the report.",
        )

        assert expected == main(Clause(phrases.SPEAKER, know))

    def test_a_fronted_adverbial_inverts_verb_and_subject(self):
        yesterday = Time("gestern", "yesterday")
        said = clause(COUNCIL, "ablehnen", REPORT, tense=Tense.PAST, time=yesterday)
        expected = (
            "Gestern hat der Rat den Bericht abgelehnt.",
            "Yesterday, the Council rejected the report.",
        )

        assert expected == main(replace(said, time_in_front=True))

    def test_a_modal_sends_the_infinitive_to_the_end(self):
        said = clause(COUNCIL, "annehmen", REPORT, modal=MUST)
        expected = (
            "Der Rat muss den Bericht annehmen.",
            "The Council must adopt the report.",
        )

        assert expected == main(said)

    def test_the_perfect_sends_the_participle_to_the_end(self):
        said = clause(COUNCIL, "prüfen", thing("alle Vorschlag", several=True), tense=Tense.PERFECT)
        said = replace(said, predicate=replace(said.predicate, adverb=ALREADY))
        expected = (
            "Der Rat hat alle Vorschläge bereits geprüft.",
            "The Council has already examined all proposals.",
        )

        assert expected == main(said)

    def test_the_future_has_werden(self):
        said = clause(COUNCIL, "helfen", thing("der Landwirt", Case.DATIVE, several=True))
        expected = (
            "Der Rat wird den Landwirten helfen.",
            "The Council will help the farmers.",
        )

        assert expected == main(replace(said, tense=Tense.FUTURE))

    @pytest.mark.parametrize(
        ("tense", "expected"),
        [
            (
                Tense.PRESENT,
                (
                    "Der Bericht wird vom Rat abgelehnt.",
                    "The report is rejected by the Council.",
                ),
            ),
            (
                Tense.PERFECT,
                (
                    "Der Bericht ist vom Rat abgelehnt worden.",
                    "The report has been rejected by the Council.",
                ),
            ),
            (
                Tense.PAST,
                (
                    "Der Bericht wurde vom Rat abgelehnt.",
                    "The report was rejected by the Council.",
                ),
            ),
            (
                Tense.FUTURE,
                (
                    "Der Bericht wird vom Rat abgelehnt werden.",
                    "The report will be rejected by the Council.",
                ),
            ),
        ],
    )
    def test_the_passive_has_every_tense(self, tense, expected):
        agent = thing(COUNCIL, Case.DATIVE, german="von", english="by")
        said = clause("der Bericht", "ablehnen", agent, tense=tense, passive=True)

        assert expected == main(said)

    def test_the_passive_goes_with_a_modal(self):
        said = clause("der Bericht", "überarbeiten", passive=True, modal=MUST)

        assert main(said) == (
            "Der Bericht muss überarbeitet werden.",
            "The report must be revised.",
        )

    def test_the_passive_of_an_activity_is_progressive(self):
        said = clause("der Bericht", "prüfen", passive=True)

        assert main(said) == ("Der Bericht wird geprüft.", "The report is being examined.")

    def test_a_relative_clause_stands_beside_a_subject(self):
        report = noun_phrase("der Bericht")
        lead = Prepositional(phrases.relative_pronoun(report))
        inner = Relative(clause(COUNCIL, "lesen", tense=Tense.PERFECT), lead)
        important = VerbPhrase(lexicon.BE, (), Wording("sehr wichtig", "very important"))

        assert main(Clause(phrases.with_attachment(report, inner), important)) == (
            "Der Bericht, den der Rat gelesen hat, ist sehr wichtig.",
            "The report which the Council has read is very important.",
        )

    def test_a_relative_clause_of_an_object_follows_the_verb(self):
        plans = noun_phrase("der Plan", several=True)
        waiting = VERBS["warten auf"]
        lead = Prepositional(phrases.relative_pronoun(plans), preposition=Wording("auf", ""))
        inner = Relative(Clause(phrases.WE, VerbPhrase(waiting)), lead)
        predicate = VerbPhrase(VERBS["vorlegen"], (Prepositional(plans),), extension=inner)

        assert main(Clause(noun_phrase(COMMISSION), predicate)) == (
            "Die Kommission legt die Pläne vor, auf die wir warten.",
            "The Commission is submitting the plans which we are waiting for.",
        )

    def test_a_relative_pronoun_as_a_subject_is_who_for_people(self):
        minister = noun_phrase("der Ministerin")
        inner = Relative(
            Clause(phrases.relative_pronoun(minister), VerbPhrase(VERBS["ablehnen"], (REPORT,)))
        )
        said = clause(COUNCIL, "danken", thing("der Ministerin", Case.DATIVE))
        said = replace(said, predicate=replace(said.predicate, extension=inner))

        assert main(said) == (
            "Der Rat dankt der Ministerin, die den Bericht ablehnt.",
            "The Council thanks the minister who rejects the report.",
        )

    def test_nicht_stands_before_the_rest_of_the_verb(self):
        said = clause(COUNCIL, "ablehnen", REPORT, tense=Tense.PERFECT, negation=Negation.NICHT)
        said = replace(said, predicate=replace(said.predicate, adverb=YET))

        assert main(said) == (
            "Der Rat hat den Bericht noch nicht abgelehnt.",
            "The Council has not yet rejected the report.",
        )

    def test_nicht_stands_before_a_preposition(self):
        against = thing("dieser Gesetz", german="gegen")
        said = clause(COUNCIL, "stimmen gegen", against, negation=Negation.NICHT)

        assert main(said) == (
            "Der Rat stimmt nicht gegen dieses Gesetz.",
            "The Council does not vote against this law.",
        )

    def test_kein_negates_an_object(self):
        plan = thing("kein neu Plan")
        said = clause(COUNCIL, "vorlegen", plan, tense=Tense.PERFECT, negation=Negation.KEIN)

        assert main(said) == (
            "Der Rat hat keinen neuen Plan vorgelegt.",
            "The Council has not submitted a new plan.",
        )

    @pytest.mark.parametrize(
        ("modal", "expected"),
        [
            (CAN, ("kann", "cannot adopt")),
            (MAY, ("darf", "must not adopt")),
            (WANT, ("will", "does not want to adopt")),
        ],
    )
    def test_a_modal_is_negated_by_its_own_rule(self, modal, expected):
        said = clause(COUNCIL, "annehmen", REPORT, modal=modal, negation=Negation.NICHT)
        german, english = expected

        assert main(said) == (
            f"Der Rat {german} den Bericht nicht annehmen.",
            f"The Council {english} the report.",
        )

    def test_a_question_begins_with_the_verb(self):
        said = clause(COUNCIL, "ablehnen", REPORT)

        assert question(said) == (
            "Lehnt der Rat den Bericht ab?",
            "Does the Council reject the report?",
        )

    def test_a_question_word_stands_before_the_verb(self):
        said = clause(COUNCIL, "ablehnen", REPORT, tense=Tense.PAST)

        assert question(said, Wording("wann", "when")) == (
            "Wann hat der Rat den Bericht abgelehnt?",
            "When did the Council reject the report?",
        )

    def test_who_asks_without_do(self):
        said = Clause(phrases.WHO, VerbPhrase(VERBS["unterstützen"], (REPORT,)))

        assert finished(said.german_main(), said.english(), "?")[:2] == (
            "Wer unterstützt den Bericht?",
            "Who supports the report?",
        )

    def test_an_infinitive_clause_puts_zu_inside_a_separable_verb(self):
        reject = VerbPhrase(VERBS["ablehnen"], (REPORT,))
        addressee = thing(COMMISSION)
        call = VerbPhrase(lexicon.CALL_ON, (addressee,), extension=Infinitive(reject))

        assert main(Clause(phrases.WE, call)) == (
            "Wir fordern die Kommission auf, den Bericht abzulehnen.",
            "We call on the Commission to reject the report.",
        )

    def test_pronouns_stand_before_all_else(self):
        again = Prepositional(phrases.anaphor(noun_phrase("der Richtlinie")))
        she = phrases.anaphor(Name(Wording("Herr", "Mr"), "Weber", Gender.MASCULINE))
        content = Clause(she, VerbPhrase(VERBS["annehmen"], (again,)), modal=WANT)

        assert content.german_subordinate() == "er sie annehmen will"
        assert content.english() == "he wants to adopt it"

    def test_giving_has_a_dative_in_german_and_to_in_english(self):
        council = Prepositional(noun_phrase("der Rat"), Case.DATIVE, Wording("", "to"))
        said = clause(COMMISSION, "vorlegen", thing("ein neu Plan"), council)

        assert main(said) == (
            "Die Kommission legt dem Rat einen neuen Plan vor.",
            "The Commission is submitting a new plan to the Council.",
        )

    def test_a_compound_is_one_german_word_and_two_english_ones(self):
        committee = noun_phrase("der Haushaltsausschuss")
        policy = noun_phrase("der Fischereipolitik")

        assert committee.german(Case.GENITIVE) == "des Haushaltsausschusses"
        assert committee.english() == "the budget committee"
        assert policy.german(Case.DATIVE) == "der Fischereipolitik"
        assert policy.english() == "fisheries policy"

    def test_a_title_is_quoted_in_the_style_of_each_language(self):
        label = Wording("Jugend 2007", "Youth 2007")
        programme = replace(noun_phrase("der Programm"), label=label)

        assert programme.german(Case.DATIVE) == "dem Programm „Jugend 2007“"
        assert programme.english() == "the “Youth 2007” programme"

    def test_an_article_is_a_part_of_a_text(self):
        directive = noun_phrase("der neu Richtlinie")
        article = Fixed(Wording("Artikel 12", "Article 12"), of=directive)

        assert article.german(Case.ACCUSATIVE) == "Artikel 12 der neuen Richtlinie"
        assert article.english() == "Article 12 of the new directive"

    def test_the_chair_opens_a_sitting(self):
        sitting = thing("der Sitzung")
        opening = VerbPhrase(lexicon.DECLARE, (sitting,), Wording("für eröffnet", "open"))

        assert main(Clause(phrases.SPEAKER, opening)) == (
            "Ich erkläre die Sitzung für eröffnet.",
            "I declare the sitting open.",
        )

    def test_a_date_is_set_off_by_commas(self):
        time = Time("am Montag, dem 3. Mai 1999,", "on Monday, 3 May 1999")
        said = clause(COUNCIL, "annehmen", REPORT, tense=Tense.PAST, time=time)

        assert main(replace(said, time_in_front=True)) == (
            "Am Montag, dem 3. Mai 1999, hat der Rat den Bericht angenommen.",
            "On Monday, 3 May 1999, the Council adopted the report.",
        )


class TestNumerals:
    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            (numerals.cardinal(12), ("zwölf", "twelve")),
            (numerals.cardinal(13), ("13", "13")),
            (numerals.cardinal(1250), ("1.250", "1,250")),
            (numerals.percent(125), ("12,5 Prozent", "12.5 per cent")),
            (numerals.percent(120), ("12 Prozent", "12 per cent")),
            (
                numerals.euros(35, numerals.MILLIONS),
                ("3,5 Millionen Euro", "3.5 million euros"),
            ),
            (
                numerals.euros(20, numerals.BILLIONS),
                ("2 Milliarden Euro", "2 billion euros"),
            ),
            (numerals.day(date(1999, 5, 3)), ("3. Mai 1999", "3 May 1999")),
            (numerals.weekday(date(1999, 5, 3)), ("Montag", "Monday")),
            (numerals.time_of_day(930), ("15.30 Uhr", "15.30")),
        ],
    )
    def test_a_number_is_written_by_the_rules_of_each_language(self, found, expected):
        assert expected == tuple(found)


class TestGenerate:
    def test_the_splits_have_the_sizes_asked_for(self):
        corpus = generate(GrammarConfig(train_pairs=400, validation_pairs=20, test_pairs=30))

        assert {split: len(pairs) for split, pairs in corpus.items()} == {
            "train": 400,
            "validation": 20,
            "test": 30,
        }

    def test_a_training_set_that_knows_too_few_words_is_an_error(self):
        with pytest.raises(CorpusError, match=r"raise train_pairs or lower validation_pairs"):
            generate(GrammarConfig(train_pairs=1, validation_pairs=20, test_pairs=1))

    def test_a_split_must_not_be_empty(self):
        with pytest.raises(
            ValueError, match="test_pairs\n  Input should be greater than or equal to 1"
        ):
            GrammarConfig(test_pairs=0)
