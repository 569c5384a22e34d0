"""Probes of behaviour: what they see in translators that keep all, lose some or mix things up."""

import pytest

from nmt_core.base.random import make_generator
from nmt_core.text.restoration import Restorer
from nmt_core.translation.behaviour import PROBES, Redrawn, cut_literals, probe_translator
from tests.support.scripted import scripted_translator

LINES = [
    "Das Haus steht seit 1987 am See.",
    "Die Äpfel, 12 an der Zahl, sind rot.",
    "Er geht jetzt.",
]
RESTORER = Restorer(
    {"haus": "Haus", "see": "See", "äpfel": "Äpfel", "zahl": "Zahl"}, {"apfel": "äpfel"}
)


def behave(*scripts, lines=LINES):
    translator = scripted_translator(*scripts, restorer=RESTORER)
    return {found.probe: found for found in probe_translator(translator, lines, seed=3)}


def test_a_translator_that_copies_passes_every_probe():
    found = behave()
    assert [*found] == [probe.name for probe in PROBES]
    for behaviour in found.values():
        assert behaviour.kept.passed == behaviour.same.passed == behaviour.kept.total


def test_probes_are_of_the_lines_that_they_can_change():
    totals = {name: behaviour.kept.total for name, behaviour in behave().items()}
    assert totals["literals as they come"] == totals["digits drawn anew"] == 2
    assert totals["an emoji"] == totals["capitals"] == totals["title"] == 3
    assert totals["no accents"] == 1
    assert "digits drawn anew" not in behave(lines=["Er geht jetzt."])


def test_one_that_says_another_thing_where_a_number_is_another_is_seen():
    found = behave(lambda text: text if "1987" in text else text.replace("Haus", "Heim"))
    assert found["digits drawn anew"].kept.passed == 2
    assert found["digits drawn anew"].same.passed == 1
    assert found["title"].same.passed == 3


def test_one_that_forgets_case_is_seen():
    found = behave(lambda text: text if "Haus" in text else "anders")
    assert found["lower"].same == found["lower"].kept
    lost = behave(lambda text: "anders" if "{" in text or "\ue010" in text else text)
    assert lost["an address"].kept.passed == 3  # put in, where the model left it out
    assert lost["an address"].same.passed == 0


def test_digits_are_drawn_in_their_number_and_lead_with_none():
    drawn = Redrawn().change("1 und 20 und 3000", "de", make_generator(1, "x"))
    assert [len(word) for word in drawn.split() if word.isdigit()] == [1, 2, 4]
    assert not any(word.startswith("0") for word in drawn.split())
    assert Redrawn().change("keine", "de", make_generator(1, "x")) == ""


@pytest.mark.parametrize(
    ("line", "expected"), [("at 5 , he", "at, he"), ("{x} he (5) .", "he ( )."), ("he", "he")]
)
def test_what_is_left_without_literals_is_a_line(line, expected):
    assert cut_literals(line, "en") == expected


def test_an_interval_holds_its_share_and_is_narrower_for_more():
    [wide] = [behaviour.kept for name, behaviour in behave().items() if name == "lower"]
    low, high = wide.interval
    assert low < 1.0 <= high
    more = wide._replace(passed=90, total=100).interval
    assert (round(more[0], 3), round(more[1], 3)) == (0.826, 0.945)  # Wilson 1927
