"""Tests between systems: calibrated, blind to order, corrected for their number."""

import random
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.evaluation.statistics.resampling import correct_holm
from nmt_core.evaluation.statistics.significance import compare_all

METRICS = ["bleu", "chrf"]
WORDS = [
    *("der", "Rat", "die", "Kommission", "das", "Haus", "sieht"),
    *("billigt", "hört", "einen", "Vorschlag", "heute", "gern"),
]
DRAW = random.Random(1)
REFERENCES = [" ".join(DRAW.choices(WORDS, k=8)) for _ in range(40)]


def noisy(share, seed):
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split())
        for line in REFERENCES
    ]


GOOD, ALSO_GOOD, BAD = noisy(0.2, 1), noisy(0.2, 2), noisy(0.7, 3)


def compare(systems, *metrics, trials=400):
    settings = {"language": "en", "resamples": 200, "trials": trials}
    return compare_all(systems, REFERENCES, REFERENCES, metrics=metrics, **settings)


def between(**systems):
    found = compare(systems, *METRICS)
    return {(pair.metric, pair.first, pair.second): pair for pair in found}


@pytest.mark.parametrize("hypotheses", [GOOD, [""] * len(REFERENCES)])
def test_the_same_output_twice_is_no_difference(hypotheses):
    for pair in between(one=[hypotheses], other=[list(hypotheses)]).values():
        assert (pair.value, pair.bootstrap, pair.randomization) == (0, 1, 1)
        assert (pair.bootstrap_holm, pair.randomization_holm) == (1, 1)


def test_a_clear_difference_is_found_and_chance_is_not():
    found = between(good=[GOOD], alike=[ALSO_GOOD], bad=[BAD])

    for metric in METRICS:
        clear, alike = found[metric, "good", "bad"], found[metric, "good", "alike"]
        assert clear.value > 10
        assert max(clear.bootstrap_holm, clear.randomization_holm) < 0.05
        assert min(alike.bootstrap, alike.randomization) > 0.05


def test_many_pairs_are_corrected_metric_by_metric():
    found = between(good=[GOOD], alike=[ALSO_GOOD], bad=[BAD])

    assert len(found) == 6
    for metric in METRICS:
        pairs = [pair for key, pair in found.items() if key[0] == metric]
        assert correct_holm([p.bootstrap for p in pairs]) == [p.bootstrap_holm for p in pairs]
        assert correct_holm([p.randomization for p in pairs]) == [
            p.randomization_holm for p in pairs
        ]


COUNCILS = [f"The council number {n} has met in the old house." for n in range(200)]


def ahead(*sentences, of):
    """A system that is right in some sentences, and has one wrong word in each of the others."""
    return [
        line if number in sentences else line.replace("old", "big")
        for number, line in enumerate(COUNCILS[:of])
    ]


def between_two(first, second):
    systems = {"first": [first], "second": [second]}
    lines = COUNCILS[: len(first)]
    return compare_all(systems, lines, lines, metrics=METRICS, language="en", trials=2000)


@pytest.mark.parametrize("better", [1, 2, 3, 5])
def test_what_differs_in_few_sentences_may_be_chance(better):
    """All of k sentences speak for one system in two of 2**k exchanges: that is the p-value."""
    first, second = ahead(*range(better), of=200), ahead(of=200)
    forth, back = between_two(first, second), between_two(second, first)

    for found in forth:
        assert found.value > 0
        assert found.randomization == pytest.approx(2 / 2**better, abs=0.03)
        assert found.bootstrap >= np.exp(-better) - 0.03  # none of the k is drawn
    for one, other in zip(forth, back, strict=True):
        assert other.value == -one.value
        assert other.randomization == one.randomization


@pytest.mark.parametrize("apart", [2, 4, 6])
def test_equal_systems_are_seldom_called_different(apart):
    """A coin decides who is better in each of k of 60 sentences: 5 % at most."""
    wrongly = 0.0
    for heads in range(apart + 1):
        first, second = ahead(*range(heads), of=60), ahead(*range(heads, apart), of=60)
        [found, _] = between_two(first, second)
        wrongly += comb(apart, heads) / 2**apart * (found.randomization <= 0.05)

    assert wrongly <= 0.05


def test_every_seed_counts():
    """A system's second seed is no copy of its first."""
    for found in between(one=[GOOD, BAD], other=[GOOD, GOOD]).values():
        assert found.value < -5
        assert max(found.bootstrap, found.randomization) < 0.05


def test_the_same_seed_twice_proves_no_more_than_once():
    """Sentences are drawn, not outputs: copies are no evidence."""
    once = between(good=[GOOD], alike=[ALSO_GOOD])
    twice = between(good=[GOOD, GOOD], alike=[ALSO_GOOD, ALSO_GOOD])

    for pair, other in zip(once.values(), twice.values(), strict=True):
        assert pair.value == pytest.approx(other.value)
        assert pair.randomization == pytest.approx(other.randomization, abs=0.02)
        assert pair.bootstrap == pytest.approx(other.bootstrap, abs=0.02)


def test_holm_is_the_worked_example():
    """Four tests: 0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04, which may not fall below 0.06."""
    corrected = correct_holm([0.01, 0.04, 0.03, 0.005])

    assert [0.03, 0.06, 0.06, 0.02] == pytest.approx(corrected)
    assert correct_holm([]) == []
    assert correct_holm([0.6, 0.7]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_only_raises(p_values):
    corrected = correct_holm(p_values)

    assert all(p <= fixed <= 1 for p, fixed in zip(p_values, corrected, strict=True))
    ranked = [fixed for _, fixed in sorted(zip(p_values, corrected, strict=True))]
    assert ranked == sorted(ranked)
