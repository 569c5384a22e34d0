"""What signals of screening say where there is little to go by."""

import numpy as np
import pytest

from nmt_core.corpora.screening.flat_text import flatten_lines
from nmt_core.corpora.screening.language_scores import LanguageScorer
from nmt_core.corpora.screening.signals import LengthModel, find_sound
from nmt_core.corpora.screening.word_pairs import WordPairs

GERMAN = "Wir haben beschlossen, die Sitzung auf die nächste Woche zu verschieben."
ENGLISH = "We have decided to postpone the meeting until the end of next week."
FRENCH = "Nous avons décidé de reporter la réunion à la semaine prochaine."


def test_a_pair_in_another_language_is_no_sound_one_on_either_side():
    sample = [GERMAN, FRENCH, GERMAN, GERMAN], [ENGLISH, ENGLISH, FRENCH, ENGLISH]

    assert find_sound(sample, ("de", "en"), LanguageScorer(["de", "en", "fr"])) == [0, 3]


def test_words_that_nobody_knows_say_nothing_for_or_against_a_pair():
    pairs = WordPairs.learn([("haus baum", "house tree"), ("haus hund", "house dog")] * 5)
    unknown = len(pairs.words)
    sides = [
        flatten_lines([[pairs.words.index(word), unknown + side], [unknown + side] * 2])
        for side, word in enumerate(("haus", "house"))
    ]

    for explained in pairs.explain(*sides):
        assert explained.words.tolist() == [1, 0]
        assert explained.score[0] > 0
        assert explained.score[1] == 0


@pytest.mark.filterwarnings("error")
def test_lengths_of_a_few_pairs_are_enough_for_a_finite_surprise():
    lines = ["Ein Satz mit Wörtern." * number for number in range(1, 11)]
    model = LengthModel.fit(lines, lines)

    assert np.isfinite(model.measure(lines, lines[::-1])).all()
