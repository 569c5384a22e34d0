"""Odd case is what its definition says, and accents come back where they are known."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.text.restoration import Restorer, find_odd_case

WORDS = ("das", "Haus", "KM", "m²", "1.", "-", "«Äpfel»", "éa", "Ü", "ß", "o'Neil", "x5", "日本")
LINES = st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join)


def define_odd_case(line):
    """As the docstring has it: letters of words, one of ten of which may be otherwise."""
    words = ["".join(regex.findall(r"[\p{L}\p{M}]", word)) for word in line.split()]
    words = [word for word in words if word]
    if len(words) < 3:
        return None
    capitals = sum(word == word.upper() and word != word.lower() for word in words)
    titles = sum(word[0].isupper() for word in words)
    if 10 * (len(words) - capitals) <= len(words):
        return "upper"
    if 10 * (len(words) - titles) <= len(words):
        return "title"
    return "lower" if all(map(str.islower, words)) else None


@given(LINES)
def test_case_is_odd_where_its_definition_says_so(line):
    for one in (line, line.upper(), line.lower(), line.title()):
        assert find_odd_case(one) == define_odd_case(one)


@given(LINES, st.sampled_from([{}, {"das": "dàs"}, {"aepfel": "äpfel", "ea": "éa"}]))
def test_accents_change_the_words_that_are_known_alone(line, accents):
    words = line.split(" ")
    forms = {"das": accents.get("das", "das")}
    assert Restorer({}, accents).restore_accents(line) == " ".join(
        forms.get(word, word) for word in words
    )


def test_a_word_is_restored_in_its_own_case():
    restorer = Restorer({}, {"apfel": "äpfel"})
    assert restorer.restore_accents("Zwei Apfel, APFEL, apfel!") == "Zwei Äpfel, ÄPFEL, äpfel!"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fur", "für"),
        ("fuer", "für"),
        ("Strasse", "Straße"),
        ("GRUSSE", "GRÜSSE"),
        ("gruesse", "grüße"),
        ("Grüsse", "Grüße"),
        ("Coeur", "Cœur"),
        ("manoeuvre", "manœuvré"),
        ("aarhus", "århus"),
        ("Koebenhavn", "København"),
        ("mueller", "mueller"),  # a word of its own
        ("neue", "neue"),
    ],
)
def test_words_come_back_however_a_keyboard_without_their_letters_wrote_them(typed, meant):
    text = "für straße grüße cœur manœuvré århus københavn müller neü"
    restorer = Restorer.learn([text, text, "mueller mueller neue neue"])
    assert restorer.restore_accents(typed) == meant


@given(st.lists(st.text("aäoöuüßåæøœée", min_size=1, max_size=4), max_size=12))
def test_no_word_of_the_text_is_taken_for_another_without_its_letters(words):
    accents = Restorer.learn([" ".join(words * 2)]).accents
    assert accents.keys().isdisjoint(words)
    assert {*accents.values()} <= {*words}
