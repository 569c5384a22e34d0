"""What signals of screening say where there is little to go by."""

import numpy as np
import pytest

from nmt_core.corpora.screening import shifts, word_numbers
from nmt_core.corpora.screening.flat_text import flatten_lines
from nmt_core.corpora.screening.language_scores import LanguageScorer
from nmt_core.corpora.screening.settings import ScreenConfig
from nmt_core.corpora.screening.signals import LengthModel, find_sound
from nmt_core.corpora.screening.thresholds import count_losable
from nmt_core.corpora.screening.word_numbers import WordNumbers
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


def test_blanks_at_the_end_change_no_length():
    model = LengthModel.fit(["Ein Satz."] * 20, ["A sentence."] * 20)
    plain = model.measure(["Ein Satz.", "Ein Satz"], ["A sentence.", "A sentence."])
    blank = model.measure(["Ein Satz. ", " Ein Satz"], ["A sentence.\u3000", "A sentence. "])
    assert blank.tolist() == plain.tolist()


def test_words_are_forgotten_where_there_are_many(monkeypatch):
    monkeypatch.setattr(word_numbers, "MOST_WORDS", 5)
    numbers = WordNumbers(["haus"])
    for word in ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"):
        numbers.forget_many()
        read = numbers.read([f"haus {word}"]).values.tolist()
        assert read[0] == 0
        assert read[1] <= 6


@pytest.mark.parametrize(("pairs", "losable"), [(0, 0), (98, 0), (99, 1), (998, 9), (999, 10)])
def test_losable_pairs_are_the_stated_share_of_new_ones(pairs, losable):
    assert count_losable({"copied": np.zeros(pairs)}, ScreenConfig(lost_share=0.01)) == losable


def test_the_side_that_is_explained_worse_counts():
    """Or a target that says much more would pass for a translation."""
    words = WordPairs.learn([("haus baum", "house tree"), ("haus hund", "house dog")] * 5)
    whole = shifts._score(words, [("hund", "dog")] * shifts.BLOCK, 0)
    more = shifts._score(words, [("hund", "dog tree tree tree")] * shifts.BLOCK, 0)
    assert whole.blocks[0] > shifts.RELATED > more.blocks[0]
    assert whole.pairs[0] > 0 > more.pairs[0]
