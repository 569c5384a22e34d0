"""Results of several directions: averages, languages of translations, untrained directions."""

import pytest

from nmt_core.base.languages import Languages, read_directions
from nmt_core.corpora.parallel_text import Pair
from nmt_core.evaluation.metric import Score
from stages.reporting.directions import average_scores, measure_off_target
from stages.reporting.untrained import join_pairs, list_untrained

GERMAN = "Der Hund läuft über die grüne Wiese und bellt laut."
ENGLISH = "The dog runs across the green meadow and barks loudly."


@pytest.mark.parametrize(
    ("lines", "target", "others", "share"),
    [
        ([GERMAN, GERMAN], "de", ["en"], 0.0),
        ([GERMAN, ENGLISH], "de", ["en", "de"], 0.5),
        ([ENGLISH], "de-AT", ["en"], 1.0),
        (["OK", ""], "de", ["en"], 0.0),  # too short
        ([ENGLISH], "xx", ["en"], 0.0),  # unknown to py3langid
        ([], "de", ["en"], 0.0),
    ],
)
def test_translations_in_another_language_are_counted(lines, target, others, share):
    assert measure_off_target(lines, target, others) == share


def test_the_average_has_the_average_bounds():
    scores = [
        Score(value=value, low=value - 1, high=value + 3, signature=signature)
        for value, signature in ((20.0, "tok:13a"), (40.0, "tok:zh"), (30.0, "tok:13a"))
    ]
    average = average_scores(scores)

    assert (average.value, average.low, average.high) == (30.0, 29.0, 33.0)
    assert average.signature == "tok:13a + tok:zh"


@pytest.mark.parametrize(
    ("learned", "untrained"),
    [
        ("de-en fr-en", {}),
        ("de-en en-de", {}),
        ("de-en en-fr", {"de-fr": ["en"]}),
        ("de-en en-de fr-en en-fr", {"de-fr": ["en"], "fr-de": ["en"]}),
        ("de-en fr-cs", {"de-cs": [], "fr-en": []}),
    ],
)
def test_untrained_directions_have_their_pivots(learned, untrained):
    found = list_untrained(read_directions(learned))
    assert {str(languages): pivots for languages, pivots in found.items()} == untrained


def test_sentences_with_the_same_translation_are_joined():
    pairs = {
        Languages(source="de", target="en"): [Pair("Hund", "Dog."), Pair("Katze", "cat")],
        Languages(source="en", target="fr"): [Pair("dog", "chien"), Pair("bird", "oiseau")],
        Languages(source="cs", target="en"): [Pair("pes", "dog")],
    }
    assert join_pairs(pairs, Languages(source="de", target="fr")) == [Pair("Hund", "chien")]
    assert join_pairs(pairs, Languages(source="de", target="cs")) == []
