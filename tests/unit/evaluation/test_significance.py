"""Tests between systems: calibrated, independent of order, corrected for their number."""

import math
import random
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest
from scipy import stats

from nmt_core.evaluation.registry import load_metric
from nmt_core.evaluation.significance import (
    RESAMPLES_AT_ONCE,
    average_seeds,
    compare_systems,
    compute_difference_p_value,
    compute_p_value,
    compute_t_interval,
    compute_t_p_value,
    correct_holm,
    estimate_seed_variance,
    run_paired_test,
)

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


def compare(references=REFERENCES, trials=400, metrics=METRICS, **systems):
    found = compare_systems(
        systems,
        references,
        references,
        metrics=metrics,
        language="en",
        resamples=200,
        trials=trials,
    )
    return {(pair.metric, pair.first, pair.second): pair for pair in found}


# resampling


@pytest.mark.parametrize(("name", "scorer"), [("bleu", BLEU), ("chrf", CHRF)])
def test_resamples_are_distributed_as_sacrebleus(name, scorer):
    metric = load_metric(name, "en")
    counts = [metric.counts(lines, REFERENCES, []) for lines in (GOOD, ALSO_GOOD)]
    amounts = {"resamples": 1500, "trials": 1500}
    test = run_paired_test(metric.score_of_sums, *counts, **amounts, seed=1)
    systems = [("a", GOOD), ("b", ALSO_GOOD)]
    _, theirs = PairedTest(systems, {"": scorer()}, [REFERENCES], "ar", n_samples=1500)()
    [(one, other)] = [scores for system, scores in theirs.items() if system != "System"]

    assert len(test.bootstrap) == len(test.randomized) == 1500
    assert one.score - other.score == pytest.approx(test.observed)
    assert test.bootstrap.mean() == pytest.approx(test.observed, abs=0.3 * test.bootstrap.std())
    assert abs(test.randomized.mean()) < 0.1 * test.randomized.std()
    assert test.compute_two_sided() == pytest.approx(other.p_value, abs=0.03)


def test_every_resample_differs_in_each_chunk():
    metric = load_metric("bleu", "en")
    counts = [metric.counts(lines, REFERENCES, []) for lines in (GOOD, BAD)]
    amounts = {"resamples": 2 * RESAMPLES_AT_ONCE, "trials": 2 * RESAMPLES_AT_ONCE}
    test = run_paired_test(metric.score_of_sums, *counts, **amounts, seed=1)
    for scores in (test.bootstrap, test.randomized):
        assert len(np.unique(scores.round(9))) > 1.9 * RESAMPLES_AT_ONCE


@pytest.mark.parametrize(
    ("extreme", "p_value"), [([False] * 999, 1 / 1000), ([True] * 9, 1), ([True, False], 2 / 3)]
)
def test_observed_difference_is_one_of_the_trials(extreme, p_value):
    assert compute_p_value(np.array(extreme)) == p_value


# corrections


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]), ([], []), ([0.6, 0.7], [1.0, 1.0])],
)
def test_holms_correction_by_hand(p_values, corrected):
    assert correct_holm(p_values) == pytest.approx(corrected)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_only_raises(p_values):
    corrected = correct_holm(p_values)
    assert all(p <= fixed <= 1 for p, fixed in zip(p_values, corrected, strict=True))
    ranked = [fixed for _, fixed in sorted(zip(p_values, corrected, strict=True))]
    assert ranked == sorted(ranked)


# one seed


@pytest.mark.parametrize("hypotheses", [GOOD, [""] * len(REFERENCES)])
def test_equal_outputs_do_not_differ(hypotheses):
    for pair in compare(one=[hypotheses], other=[list(hypotheses)]).values():
        assert (pair.value, pair.p_value) == (0, 1)


def test_clear_difference_is_found_and_chance_is_not():
    found = compare(good=[GOOD], alike=[ALSO_GOOD], bad=[BAD])
    assert len(found) == 6
    for metric in METRICS:
        assert found[metric, "good", "bad"].value > 10
        assert found[metric, "good", "bad"].p_value < 0.05 < found[metric, "good", "alike"].p_value


def test_p_values_are_corrected_for_many_pairs():
    alone = compare(good=[GOOD], bad=[BAD])
    three = compare(good=[GOOD], alike=[ALSO_GOOD], bad=[BAD])
    for metric in METRICS:
        assert three[metric, "good", "bad"].p_value == pytest.approx(
            3 * alone[metric, "good", "bad"].p_value
        )


COUNCILS = [f"The council number {n} has met in the old house." for n in range(200)]


def ahead(*sentences, of):
    """Return a system that is right in some sentences and has a wrong word in all others."""
    return [
        line if number in sentences else line.replace("old", "big")
        for number, line in enumerate(COUNCILS[:of])
    ]


@pytest.mark.parametrize("better", [1, 2, 3, 5])
def test_difference_in_few_sentences_may_be_chance(better):
    """If all of k sentences favour one system, two of 2**k exchanges do so: the p-value."""
    first, second = ahead(*range(better), of=200), ahead(of=200)
    forth = compare(COUNCILS, trials=2000, a=[first], b=[second])
    back = compare(COUNCILS, trials=2000, a=[second], b=[first])
    for one, other in zip(forth.values(), back.values(), strict=True):
        assert one.value == -other.value > 0
        assert one.p_value == other.p_value == pytest.approx(2 / 2**better, abs=0.03)


@pytest.mark.parametrize("apart", [2, 4, 6])
def test_equal_systems_are_seldom_called_different(apart):
    """A coin decides which system is better in each of k of 60 sentences: 5 % at most."""
    wrongly = 0.0
    for heads in range(apart + 1):
        first, second = ahead(*range(heads), of=60), ahead(*range(heads, apart), of=60)
        [found] = compare(COUNCILS[:60], 2000, ["bleu"], a=[first], b=[second]).values()
        wrongly += comb(apart, heads) / 2**apart * (found.p_value <= 0.05)
    assert wrongly <= 0.05


# several seeds


def simulate(seeds, draw, *, between_seeds, ahead=0.0, sentences=100):
    """Return p-values over seeds and over sentences alone, for two systems drawn at random.

    Each sentence is equally difficult for both systems. Each system has sentences that suit it.
    Each seed is better or worse as a whole, and has random luck in each sentence.
    """
    difficulty, suits = draw.normal(0, 1, sentences), draw.normal(0, 0.3, sentences)
    systems = [
        shift
        + difficulty
        + sign * suits
        + draw.normal(0, between_seeds, (seeds, 1))
        + draw.normal(0, 0.3, (seeds, sentences))
        for shift, sign in ((ahead, 1), (0.0, -1))
    ]
    mean = average_seeds(lambda sums: sums[:, 0] / sentences, seeds)
    test = run_paired_test(mean, *(own.T for own in systems), resamples=200, trials=200, seed=1)
    scores = [own.mean(axis=1).tolist() for own in systems]
    return compute_difference_p_value(test, scores, sentences), test.compute_two_sided()


def share_findings(seeds, repetitions=400, **settings):
    draw = np.random.default_rng(seeds)
    p_values = np.array([simulate(seeds, draw, **settings) for _ in range(repetitions)])
    return (p_values <= 0.05).mean(axis=0)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("between_seeds", [0.0, 0.5])
def test_equal_systems_of_several_seeds_seldom_differ(seeds, between_seeds):
    """Up to three standard deviations of a share of 200."""
    over_seeds, of_sentences = share_findings(seeds, 200, between_seeds=between_seeds)
    assert over_seeds <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    if between_seeds:
        assert of_sentences > 0.5  # finds the effects of seeds
        assert over_seeds >= 0.01


@pytest.mark.parametrize(("seeds", "lead"), [(3, 1.5), (5, 1.0)])
def test_power_is_that_of_students_test(seeds, lead):
    """By the noncentral t distribution with 2 (K - 1) degrees of freedom."""
    found, _ = share_findings(seeds, between_seeds=0.5, ahead=lead)
    freedom, by_seeds = 2 * (seeds - 1), 0.25 * 2 / seeds
    by_sentences = (2 * 0.3) ** 2 / 100 + 0.3**2 * 2 / seeds / 100
    critical = stats.t.ppf(0.975, freedom)
    expected = stats.nct.sf(critical, freedom, lead / math.sqrt(by_seeds + by_sentences))
    assert expected - 0.15 <= found <= expected + 0.06


ONE, OTHER = [20.0, 31.0, 25.5], [12.0, 12.5, 13.5]
SEEDS = [estimate_seed_variance(ONE), estimate_seed_variance(OTHER)]
CERTAIN = [estimate_seed_variance([1.0, 1.0])]


@pytest.mark.parametrize(
    ("value", "sources", "p_value"),
    [
        (np.mean(ONE) - np.mean(OTHER), SEEDS, stats.ttest_ind(ONE, OTHER, equal_var=False).pvalue),
        (np.mean(OTHER) - np.mean(ONE), SEEDS, stats.ttest_ind(ONE, OTHER, equal_var=False).pvalue),
        (0.98, [(0.25, 1e9)], 0.05),
        (0.0, CERTAIN, 1.0),
        (0.5, CERTAIN, 0.0),
    ],
)
def test_p_values_are_those_of_welchs_test(value, sources, p_value):
    assert compute_t_p_value(value, sources) == pytest.approx(p_value, abs=1e-4)


@pytest.mark.parametrize(
    ("value", "sources", "interval"),
    [
        (
            np.mean(ONE),
            [(0.0, 1999), estimate_seed_variance(ONE)],
            stats.t.interval(0.95, 2, np.mean(ONE), stats.sem(ONE)),
        ),
        (30.0, [(0.25, 1e9), *CERTAIN], (30 - 0.98, 30 + 0.98)),
        (2.0, CERTAIN, (2.0, 2.0)),
    ],
)
def test_intervals_are_students(value, sources, interval):
    assert compute_t_interval(value, sources) == pytest.approx(interval, abs=1e-4)


def test_variance_of_sentences_has_its_own_freedom():
    test = SimpleNamespace(bootstrap=np.array([1.0, 3.0]), observed=2.0)
    found = compute_difference_p_value(test, [[4.0, 4.0], [2.0, 2.0]], sentences=3)
    assert found == pytest.approx(2 * stats.t.sf(2.0, 2))


@pytest.mark.parametrize(
    ("one", "differs"), [([GOOD, ALSO_GOOD, GOOD], True), ([GOOD, REFERENCES, BAD], False)]
)
def test_disagreeing_seeds_leave_a_difference_undecided(one, differs):
    [found] = compare(metrics=["bleu"], one=one, other=[BAD, BAD[::-1], BAD]).values()
    assert found.value > 10
    assert (found.p_value < 0.05) is differs


def test_every_seed_counts():
    for found in compare(one=[GOOD, BAD], other=[GOOD, GOOD]).values():
        assert found.value < -5
