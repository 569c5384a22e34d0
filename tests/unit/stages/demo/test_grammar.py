"""Agreement, word order and the format of grammars, by hand and by brute force."""

import re
from functools import cache
from random import Random

import pytest

from nmt_core.base.errors import CorpusError
from stages.demo import corpus as generation
from stages.demo.corpus import GrammarConfig, generate
from stages.demo.grammar import DeadEndError
from stages.demo.reader import read_grammar
from tests.support.demo import translate
from tests.support.projects import PROJECT


class TestPhenomena:
    """A pair for each construction, written by hand."""

    @pytest.mark.parametrize(
        ("german", "english"),
        [
            ("Der Rat lehnt den neuen Vorschlag ab.", "The Council rejects the new proposal."),
            ("Der Rat muss den Bericht annehmen.", "The Council must adopt the report."),
            ("Der Rat darf den Bericht nicht annehmen.", "The Council must not adopt the report."),
            ("Der Rat kann den Bericht nicht annehmen.", "The Council cannot adopt the report."),
            ("Der Rat hat keinen Bericht vorgelegt.", "The Council has not submitted a report."),
            (
                "Der Rat hat den Bericht noch nicht geprüft.",
                "The Council has not yet examined the report.",
            ),
            ("Der Bericht wird geprüft.", "The report is being examined."),
            ("Der Bericht muss überarbeitet werden.", "The report must be revised."),
            ("Lehnt der Rat den Bericht ab?", "Does the Council reject the report?"),
            ("Wer unterstützt den Bericht?", "Who supports the report?"),
            ("Der Umweltplan ist wichtig.", "The environment plan is important."),
            (
                "Welcher Studie stimmt die Kommission zu?",
                "Which study does the Commission agree to?",
            ),
            ("Das Parlament trägt zum Frieden bei.", "Parliament contributes to peace."),
            (
                "Der Rat hat das Gesetz geprüft, aber er lehnt es ab.",
                "The Council has examined the law, but it rejects it.",
            ),
            (
                "Ich erkläre die Sitzung vom 3. Mai 1999 für eröffnet.",
                "I declare the sitting of 0 May 0 open.",
            ),
            ("Gestern hat es geregnet.", "Yesterday, it rained."),
            ("Sie sucht ihren Schlüssel.", "She is looking for her key."),
            ("Kannst du mir bitte helfen?", "Can you help me, please?"),
            ("Wir fahren morgen nach Köln.", "We are going to Cologne tomorrow."),
            ("Ich weiß nicht, ob er kommt.", "I do not know whether he is coming."),
            ("Hilf mir bitte!", "Please help me!"),
            ("Wie viel kosten die Äpfel?", "How much do the apples cost?"),
            ("Ich trinke kein Bier.", "I am not drinking any beer."),
        ],
    )
    def test_a_sentence_is_translated(self, german, english):
        assert english == translate(german)

    @pytest.mark.slow
    def test_examples_of_documents_are_in_the_language(self):
        documents = (PROJECT / name for name in ("README.md", "docs/integrate.md"))
        text = re.sub(r"<[^>]*>", "", " ".join(path.read_text() for path in documents))
        shown = set(re.findall(r"(?<=['. \"])(?:Der|Das) [A-ZÄÖÜ][\w ]+(?:\d,\d[^.]+)?\.", text))
        shown |= set(re.findall(r"Das wichtige [\w ]+\.", text))

        assert len(shown) >= 6
        assert {sentence for sentence in shown if translate(sentence) is None} == set()


SMALL = """\
features
  case: nom acc
  gender: m f
  size: large small
combinations
  thing
sentence
  thing:noun[size=small] verb*:verb gender=thing.gender
    | {der.nom} {thing} {verb}. | the {thing} {verb}.
verb
  tagt | meets
noun [gender]
  m size=small | Rat | Council
  f size=large | Kommission | Commission
der | m.nom f.nom |
  der die | the
"""


class TestReader:
    def test_a_small_grammar_is_read(self):
        grammar = read_grammar(SMALL)
        node = grammar.draw(Random(1))

        assert grammar.say(node) == ("Der Rat tagt.", "The Council meets.")
        assert [tuple(one) for one in grammar.combinations(node)] == [
            ("thing", "tagt meets", "Rat Council")
        ]

    def test_a_rules_own_features_need_no_head(self):
        text = SMALL.replace("thing:noun[size=small]", "thing:name[gender=f]")
        grammar = read_grammar(text + "name\n  noun*:noun[size=small] gender:=f\n")

        assert grammar.say(grammar.draw(Random(1)))[0] == "Die Rat tagt."

    def test_a_rule_passes_its_features_without_a_slot(self):
        text = SMALL.replace("thing:noun[size=small]", "thing:name")
        grammar = read_grammar(text + "name\n  size=small noun*:noun\n  size=large noun*:noun\n")
        said = {grammar.say(grammar.draw(Random(number)))[0] for number in range(20)}

        assert said == {"Der Rat tagt.", "Die Kommission tagt."}

    def test_rule_without_a_fitting_alternative_cannot_be_drawn(self):
        grammar = read_grammar(SMALL.replace("m size=small", "m size=large"))
        with pytest.raises(DeadEndError):
            grammar.draw(Random(1))


class TestGenerate:
    def test_a_training_set_with_few_words_is_refused(self, monkeypatch):
        draw = cache(generation._draw)
        monkeypatch.setattr(generation, "_draw", lambda seed, number: draw(seed, number % 400))
        with pytest.raises(CorpusError, match=r"raise train_pairs or lower validation_pairs"):
            generate(GrammarConfig(train_pairs=1, validation_pairs=20, test_pairs=1))
