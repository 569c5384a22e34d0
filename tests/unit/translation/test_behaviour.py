"""Probes of behaviour: what they see in translators that keep all, lose some or mix things up."""

import pytest

from nmt_core.base.random import make_generator
from nmt_core.text.restoration import Restorer
from nmt_core.translation.behaviour import (
    AS_THEY_COME,
    PROBES,
    MistypedWord,
    ProbeShare,
    Redrawn,
    cut_literals,
    probe_translator,
)
from tests.support.scripted import scripted_translator

LINES = [
    "Das Haus steht seit 1987 am See.",
    "Die Äpfel, 12 an der Zahl, sind schön.",
    "Er geht jetzt.",
]
RESTORER = Restorer(
    {"haus": "Haus", "see": "See", "äpfel": "Äpfel", "zahl": "Zahl"},
    {"apfel": "äpfel", "schon": "schön"},
)


def behave(*scripts, lines=LINES, **options):
    translator = scripted_translator(*scripts, restorer=RESTORER)
    return probe_translator(translator, lines, seed=3, **options)


def test_a_translator_that_copies_passes_every_probe():
    found = behave()
    assert [*found] == [AS_THEY_COME, *(probe.name for probe in PROBES)]
    as_they_come = found.pop(AS_THEY_COME)
    assert as_they_come.kept == ProbeShare.count([True, True])
    assert as_they_come.same is None  # nothing to compare with
    assert found.pop("a typing error").same == ProbeShare.count([False] * 3)
    for behaviour in found.values():
        assert behaviour.kept.passed == behaviour.same.passed == behaviour.kept.total


def test_probes_are_of_the_lines_that_they_can_change():
    totals = {name: behaviour.kept.total for name, behaviour in behave().items()}
    assert totals[AS_THEY_COME] == totals["digits drawn anew"] == 2
    assert totals["an emoji"] == totals["capitals"] == totals["title"] == 3
    assert totals["no accents"] == 1
    assert not {AS_THEY_COME, "digits drawn anew"} & {*behave(lines=["Er geht jetzt."])}
    assert behave(lines=[]) == {}


def test_at_most_so_many_lines_are_changed_by_each_and_what_is_known_is_not_asked_again():
    translator = scripted_translator()
    plain = [best for [best] in translator.search(LINES, n_best=1)]
    translator.engine.asked.clear()
    found = probe_translator(translator, LINES, seed=3, plain=plain, most=1)

    assert found.pop(AS_THEY_COME).kept.total == 2  # costs no translation
    assert {behaviour.kept.total for behaviour in found.values()} == {1}
    assert len(translator.engine.asked[0]) == len(found)
    few, all_of_them = ({*behave(most=most)} for most in (1, None))
    assert few == all_of_them  # whatever stands first


def test_one_that_says_another_thing_where_a_number_is_another_is_seen():
    found = behave(lambda text: text if "1987" in text else text.replace("Haus", "Heim"))
    assert found["digits drawn anew"].kept.passed == 2
    assert found["digits drawn anew"].same.passed == 1
    assert found["title"].same.passed == 3


def test_one_that_forgets_case_is_seen():
    found = behave(lambda text: text if "Haus" in text else "anders")
    assert found["lower"].kept.passed < found["lower"].kept.total
    lost = behave(lambda text: "anders" if "{" in text or "\ue010" in text else text)
    assert lost["an address"].kept.passed == 1  # put in; the others lose numbers, too
    assert lost["an address"].same.passed == 0


def test_what_a_change_loses_is_seen():
    translator = scripted_translator(lambda text: text.replace("{name}", "x"), symbols=())
    found = probe_translator(translator, LINES, seed=3)
    lost = [name for name, one in found.items() if one.kept.passed < one.kept.total]
    assert lost == ["a placeholder, {name}", "an emoji"]  # which the vocabulary lacks
    assert found[lost[0]].kept.passed == 0


def test_what_one_adds_or_repeats_is_nothing_lost():
    for more in (" 47", " da da da da da da da da"):
        translator = scripted_translator(lambda text, more=more: text + more)
        assert translator.search(LINES, n_best=1)[0][0].breaches
        found = probe_translator(translator, LINES, seed=3)
        assert all(one.kept.passed == one.kept.total for one in found.values())


def test_digits_are_drawn_in_their_number_and_lead_with_none():
    drawn = Redrawn().change("1 und 20 und 3000", "de", make_generator(1, "x"))
    assert [len(word) for word in drawn.split() if word.isdigit()] == [1, 2, 4]
    assert not any(word.startswith("0") for word in drawn.split())
    assert Redrawn().change("keine", "de", make_generator(1, "x")) == ""


def test_one_word_of_four_letters_or_more_is_mistyped():
    line = "Er sah das Haus, 1987 am großen See."
    mistyped = set()
    for seed in range(50):
        changed = MistypedWord().change(line, "de", make_generator(seed, "x"))
        pairs = zip(line.split(), changed.split() or line.split(), strict=True)
        differ = [word for word, other in pairs if word != other]
        assert len(differ) <= 1
        mistyped |= {*differ}
    assert mistyped == {"Haus,", "großen"}
    assert MistypedWord().change("Er sah das", "de", make_generator(1, "x")) == ""


@pytest.mark.parametrize(
    ("line", "expected"), [("at 5 , he", "at, he"), ("{x} he (5) .", "he ( )."), ("he", "he")]
)
def test_what_is_left_without_literals_is_a_line(line, expected):
    assert cut_literals(line, "en") == expected


def test_an_interval_holds_its_share_and_is_narrower_for_more():
    wide = ProbeShare.count([True] * 3)
    assert wide.low < 1.0 <= wide.high
    more = ProbeShare.count([True] * 90 + [False] * 10)
    assert (round(more.low, 3), round(more.high, 3)) == (0.826, 0.945)  # Wilson 1927
    assert more.describe() == "90.0 % (82.6 to 94.5)"
