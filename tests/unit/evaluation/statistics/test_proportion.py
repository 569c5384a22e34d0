"""Intervals of a share, against another program's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from nmt_core.evaluation.statistics.proportion import compute_mcnemar_p, compute_wilson_interval


@given(st.integers(1, 30_000), st.floats(0, 1), st.floats(0.5, 0.999))
def test_intervals_are_those_of_scipy(total, share, confidence):
    right = round(share * total)
    wanted = binomtest(right, total).proportion_ci(confidence, method="wilson")

    assert compute_wilson_interval(right, total, confidence=confidence) == pytest.approx(
        (wanted.low, wanted.high), abs=1e-9
    )


@pytest.mark.parametrize(("right", "total"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(right, total):
    with pytest.raises(ValueError, match="no proportion"):
        compute_wilson_interval(right, total)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_difference_is_as_likely_as_a_fair_coin_says(first, second):
    expected = binomtest(first, first + second).pvalue if first + second else 1.0

    assert compute_mcnemar_p(first, second) == pytest.approx(expected)
