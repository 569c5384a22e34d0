"""Tests between systems: calibrated, blind to order, corrected for their number."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from nmt_core.evaluation.significance import SEED, differences, holm

WORDS = [
    "der",
    "Rat",
    "die",
    "Kommission",
    "das",
    "Haus",
    "sieht",
    "billigt",
    "hört",
    "einen",
    "Vorschlag",
    "heute",
    "gern",
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


def between(**systems):
    found = differences(systems, REFERENCES, resamples=200, trials=400)
    return {(pair.metric, pair.first, pair.second): pair for pair in found}


@pytest.mark.parametrize("hypotheses", [GOOD, [""] * len(REFERENCES)])
def test_the_same_output_twice_is_no_difference(hypotheses):
    for pair in between(one=[hypotheses], other=[list(hypotheses)]).values():
        assert (pair.value, pair.bootstrap, pair.randomization) == (0, 1, 1)
        assert (pair.bootstrap_holm, pair.randomization_holm) == (1, 1)


def test_a_clear_difference_is_found_and_chance_is_not():
    found = between(good=[GOOD], alike=[ALSO_GOOD], bad=[BAD])

    for metric in ("BLEU", "chrF2"):
        clear, alike = found[metric, "good", "bad"], found[metric, "good", "alike"]
        assert clear.value > 10
        assert max(clear.bootstrap_holm, clear.randomization_holm) < 0.05
        assert min(alike.bootstrap, alike.randomization) > 0.05


def test_many_pairs_are_corrected_metric_by_metric():
    found = between(good=[GOOD], alike=[ALSO_GOOD], bad=[BAD])

    assert len(found) == 6
    for metric in ("BLEU", "chrF2"):
        pairs = [pair for key, pair in found.items() if key[0] == metric]
        assert holm([p.bootstrap for p in pairs]) == [p.bootstrap_holm for p in pairs]
        assert holm([p.randomization for p in pairs]) == [p.randomization_holm for p in pairs]


@pytest.mark.parametrize(("kind", "name"), [("bs", "bootstrap"), ("ar", "randomization")])
def test_one_seed_is_sacrebleus_own_test(kind, name, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", str(SEED))
    samples = {"bs": 200, "ar": 400}[kind]
    systems = [("good", GOOD), ("alike", ALSO_GOOD)]
    _, results = PairedTest(systems, {"": BLEU()}, [REFERENCES], kind, n_samples=samples)()
    monkeypatch.setenv("SACREBLEU_SEED", "7")  # of no effect

    pair = between(good=[GOOD], alike=[ALSO_GOOD])["BLEU", "good", "alike"]

    assert results["BLEU"][1].p_value == getattr(pair, name)
    assert results["BLEU"][0].score - results["BLEU"][1].score == pair.value


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
    corrected = holm([0.01, 0.04, 0.03, 0.005])

    assert [0.03, 0.06, 0.06, 0.02] == pytest.approx(corrected)
    assert holm([]) == []
    assert holm([0.6, 0.7]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_only_raises(p_values):
    corrected = holm(p_values)

    assert all(p <= fixed <= 1 for p, fixed in zip(p_values, corrected, strict=True))
    ranked = [fixed for _, fixed in sorted(zip(p_values, corrected, strict=True))]
    assert ranked == sorted(ranked)
