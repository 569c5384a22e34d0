"""Probes of behaviour, on translators that keep all, lose some or mix things up."""

import numpy as np
import pytest

from nmt_core.base.random import make_generator
from nmt_core.text.restoration import Restorer
from nmt_core.translation.behaviour import (
    AS_THEY_COME,
    PROBES,
    Behaviour,
    Probe,
    ProbeShare,
    change_lines,
    cut_literals,
    mistype_word,
    probe_translator,
    redraw_digits,
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


def test_copying_translator_passes_every_probe():
    behaviour = behave()
    assert [*behaviour] == [AS_THEY_COME, *(probe.name for probe in PROBES)]
    assert behaviour.pop(AS_THEY_COME) == Behaviour(kept=ProbeShare.count([True] * 2), same=None)
    assert behaviour.pop("a typing error").same == ProbeShare.count([False] * 3)
    for result in behaviour.values():
        assert result.kept.passed == result.same.passed == result.kept.total


def test_probes_are_of_the_lines_that_they_can_change():
    totals = {name: behaviour.kept.total for name, behaviour in behave().items()}
    assert totals[AS_THEY_COME] == totals["digits drawn anew"] == 2
    assert totals["an emoji"] == totals["capitals"] == totals["title"] == 3
    assert totals["no accents"] == 1
    assert not {AS_THEY_COME, "digits drawn anew"} & {*behave(lines=["Er geht jetzt."])}
    assert behave(lines=[]) == {}


def test_known_translations_and_a_limit_save_searches():
    translator = scripted_translator()
    plain = [best for [best] in translator.search(LINES, n_best=1)]
    translator.engine.asked.clear()
    behaviour = probe_translator(translator, LINES, seed=3, plain=plain, most=1)

    assert behaviour.pop(AS_THEY_COME).kept.total == 2  # costs no translation
    assert {each.kept.total for each in behaviour.values()} == {1}
    assert len(translator.engine.asked[0]) == len(behaviour)


@pytest.mark.parametrize(
    ("script", "name", "kept", "same"),
    [
        (
            lambda text: text if "1987" in text else text.replace("Haus", "Heim"),
            "digits drawn anew",
            2,
            1,
        ),
        (lambda text: text if "Haus" in text else "anders", "lower", 2, 3),
        (lambda text: "x" if "{" in text or "\ue010" in text else text, "an address", 1, 0),
        (lambda text: f"{text} 47", "capitals", 3, 3),
        (lambda text: f"{text} da da da da da da da da", "capitals", 3, 3),
    ],
)
def test_failures_are_counted(script, name, kept, same):
    behaviour = behave(script)[name]
    assert (behaviour.kept.passed, behaviour.same.passed) == (kept, same)


def test_lost_placeholders_are_counted():
    translator = scripted_translator(lambda text: text.replace("{name}", "x"), symbols=())
    behaviour = probe_translator(translator, LINES, seed=3)
    lost = {name: b.kept.passed for name, b in behaviour.items() if b.kept.passed < b.kept.total}
    assert lost == {"a placeholder, {name}": 0, "an emoji": 0}  # which the vocabulary lacks


def test_lines_are_changed_in_a_drawn_order_up_to_a_limit():
    seen = []
    probe = Probe("even", lambda line, *_: seen.append(line) or f"{line}!" * (1 - int(line) % 2))
    lines = [str(number) for number in range(12)]
    changed = dict(change_lines(probe, lines, "de", 1, None))
    assert changed == {number: f"{number}!" for number in range(0, 12, 2)}
    assert sorted(seen, key=int) == lines != seen
    assert [*dict(change_lines(probe, lines, "de", 1, 2))] == [*changed][:2]


def test_digits_are_redrawn_in_their_number_without_leading_zero():
    for seed in range(30):
        drawn = redraw_digits("1 und 20 und 3000", "de", make_generator(seed, "x"))
        assert [len(word) for word in drawn.split() if word.isdigit()] == [1, 2, 4]
        assert not any(word.startswith("0") for word in drawn.split())
    assert redraw_digits("keine", "de", make_generator(1, "x")) == ""


def test_one_word_of_four_letters_or_more_is_mistyped():
    line = "Er sah das Haus, 1987 am großen See."
    mistyped = set()
    for seed in range(50):
        changed = mistype_word(line, "de", make_generator(seed, "x")) or line
        differ = [a for a, b in zip(line.split(), changed.split(), strict=True) if a != b]
        assert len(differ) <= 1
        mistyped |= {*differ}
    assert mistyped == {"Haus,", "großen"}
    assert mistype_word("Er sah das", "de", make_generator(1, "x")) == ""


@pytest.mark.parametrize(
    ("name", "line", "changed", "reduced"),
    [
        ("title", "das haus", "Das Haus", "das haus"),
        ("title", "Das Haus", "", "das haus"),
        ("an e-mail", "a", None, "a"),
    ],
)
def test_probes_change_a_line_and_reduce_its_translation(name, line, changed, reduced):
    probe = next(probe for probe in PROBES if probe.name == name)
    after = probe.change(line, "de", np.random.default_rng(1))
    assert after == changed or (changed is None and {*after.split()} == {"a", "info@example.org"})
    assert probe.reduce(after or line, "de") == reduced


@pytest.mark.parametrize(
    ("line", "expected"), [("at 5 , he", "at, he"), ("{x} he (5) .", "he ( )."), ("he", "he")]
)
def test_literals_are_cut(line, expected):
    assert cut_literals(line, "en") == expected


def test_rows_have_shares_with_wilson_intervals():
    share = ProbeShare.count([True] * 90 + [False] * 10)
    assert (round(share.low, 3), round(share.high, 3)) == (0.826, 0.945)  # Wilson 1927
    assert Behaviour(kept=share, same=None).cells("x") == ["x", "100", "90.0 % (82.6 to 94.5)", ""]
    assert Behaviour(kept=share, same=share).cells("x")[3] == "90.0 % (82.6 to 94.5)"
