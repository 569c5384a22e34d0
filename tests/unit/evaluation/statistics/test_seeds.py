"""What seeds do to intervals and p-values: by simulation, and by textbook formulas."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from nmt_core.evaluation.statistics.resampling import run_paired_test
from nmt_core.evaluation.statistics.seeds import (
    VarianceSource,
    compute_t_interval,
    compute_t_p_value,
    measure_seeds,
)
from nmt_core.evaluation.statistics.significance import average_seeds, judge_over_seeds
from tests.unit.evaluation.statistics.test_significance import (
    ALSO_GOOD,
    BAD,
    GOOD,
    REFERENCES,
    compare,
)

SENTENCES = 100
REPETITIONS = 400


def mean(sums):
    return sums[:, 0] / SENTENCES


def simulate(seeds, *, between_seeds, ahead=0.0, draw):
    """Return the p-values over seeds and of sentences alone, of two systems drawn at random.

    A sentence is as difficult for both, each system has sentences of its own that suit it, each
    seed is better or worse as a whole, and each seed has its luck with each sentence.
    """
    difficulty = draw.normal(0, 1, SENTENCES)
    suits = draw.normal(0, 0.3, SENTENCES)
    systems = [
        shift
        + difficulty
        + sign * suits
        + draw.normal(0, between_seeds, (seeds, 1))
        + draw.normal(0, 0.3, (seeds, SENTENCES))
        for shift, sign in ((ahead, 1), (0.0, -1))
    ]
    test = run_paired_test(
        average_seeds(mean, seeds), *(one.T for one in systems), resamples=200, trials=200, seed=1
    )
    scores = [one.mean(axis=1).tolist() for one in systems]
    return judge_over_seeds(test, scores, SENTENCES), test.apart().randomization


def count_findings(seeds, **settings):
    draw = np.random.default_rng(seeds)
    p_values = np.array([simulate(seeds, draw=draw, **settings) for _ in range(REPETITIONS)])
    return (p_values <= 0.05).mean(axis=0)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("between_seeds", [0.0, 0.1, 0.5])
def test_equal_systems_are_called_different_once_in_twenty(seeds, between_seeds):
    """Three standard deviations of a share of 400; tests of sentences find what seeds did."""
    over_seeds, of_sentences = count_findings(seeds, between_seeds=between_seeds)

    assert over_seeds <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / REPETITIONS)
    if between_seeds == 0.5:
        assert of_sentences > 0.5
        assert over_seeds >= 0.01


@pytest.mark.parametrize(("seeds", "ahead"), [(3, 1.5), (5, 1.0), (5, 0.5)])
def test_what_differs_is_found_nearly_as_often_as_it_can_be(seeds, ahead):
    """By the noncentral t of 2 (K - 1) degrees of freedom, as if both variances were the same."""
    found, _ = count_findings(seeds, between_seeds=0.5, ahead=ahead)
    freedom, by_seeds = 2 * (seeds - 1), 0.25 * 2 / seeds
    by_sentences = (2 * 0.3) ** 2 / SENTENCES + 0.3**2 * 2 / seeds / SENTENCES
    critical = stats.t.ppf(0.975, freedom)
    expected = stats.nct.sf(critical, freedom, ahead / math.sqrt(by_seeds + by_sentences))

    assert 0.2 < expected < 0.95
    assert expected - 0.15 <= found <= expected + 0.06


def test_seeds_alone_make_it_welchs_test():
    one, other = [20.0, 31.0, 25.5], [12.0, 12.5, 13.5]
    expected = stats.ttest_ind(one, other, equal_var=False).pvalue
    found = compute_t_p_value(np.mean(one) - np.mean(other), [*map(measure_seeds, (one, other))])

    assert found == pytest.approx(expected)
    assert found == pytest.approx(
        compute_t_p_value(np.mean(other) - np.mean(one), [*map(measure_seeds, (other, one))])
    )


def test_an_interval_of_seeds_alone_is_students():
    scores = [5.3, 19.7, 3.4]
    expected = stats.t.interval(0.95, 2, np.mean(scores), stats.sem(scores))
    found = compute_t_interval(np.mean(scores), [VarianceSource(0.0, 1999), measure_seeds(scores)])

    assert found == pytest.approx(expected)


def test_an_interval_of_many_sentences_alone_is_the_normal_distributions():
    found = compute_t_interval(30.0, [VarianceSource(0.25, 1e6), measure_seeds([30.0, 30.0])])

    assert found == pytest.approx((30 - 1.96 * 0.5, 30 + 1.96 * 0.5), abs=1e-3)
    assert compute_t_p_value(0.98, [VarianceSource(0.25, 1e6)]) == pytest.approx(0.05, abs=1e-3)


def test_seeds_that_never_vary_leave_students_test_of_sentences():
    test = SimpleNamespace(drawn=np.array([1.0, 3.0]), seen=2.0)
    found = judge_over_seeds(test, [[4.0, 4.0], [2.0, 2.0]], sentences=3)

    assert found == pytest.approx(2 * stats.t.sf(2.0, 2))


def test_what_never_varies_is_certain():
    certain = [measure_seeds([1.0, 1.0])]

    assert compute_t_interval(2.0, certain) == (2.0, 2.0)
    assert (compute_t_p_value(0.0, certain), compute_t_p_value(0.5, certain)) == (1.0, 0.0)


def test_seeds_that_disagree_leave_a_difference_open_and_those_that_agree_do_not():
    """Of the same mean: by sentences alone both would be certain."""
    systems = {"one": [GOOD, ALSO_GOOD, GOOD], "other": [BAD, BAD[::-1], BAD]}
    [agree] = compare(systems, "bleu")
    systems = {"one": [GOOD, REFERENCES, BAD], "other": [BAD, BAD[::-1], BAD]}
    [disagree] = compare(systems, "bleu")

    assert max(agree.randomization, disagree.randomization) < 0.01
    assert agree.seeds == agree.seeds_holm == agree.p_value < 0.05
    assert disagree.p_value > 0.05
    assert disagree.value > 10


def test_one_seed_is_judged_by_sentences_alone():
    systems = {"one": [GOOD], "other": [BAD], "third": [ALSO_GOOD]}
    found = compare(systems, "bleu")

    assert {pair.seeds for pair in found} == {pair.seeds_holm for pair in found} == {None}
    assert all(pair.p_value == pair.randomization_holm for pair in found)


def test_p_values_over_seeds_are_corrected_for_the_number_of_pairs():
    systems = {"one": [GOOD, ALSO_GOOD], "other": [BAD, BAD[::-1]], "third": [REFERENCES, GOOD]}
    found = compare(systems, "chrf", trials=200)

    smallest = min(found, key=lambda pair: pair.seeds)
    assert smallest.seeds_holm == pytest.approx(3 * smallest.seeds)
    assert all(pair.p_value == pair.seeds_holm >= pair.seeds for pair in found)
