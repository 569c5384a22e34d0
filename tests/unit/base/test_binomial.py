import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from nmt_core.base.random import find_binomial_tail, find_share_interval

counts = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.9, 0.95, 0.999]))
def test_an_interval_of_a_share_is_scipys(counted, confidence):
    expected = binomtest(*counted).proportion_ci(confidence, method="wilson")

    assert find_share_interval(*counted, confidence) == pytest.approx(expected, abs=1e-12)


@given(counts)
def test_heads_are_as_likely_as_scipy_says(counted):
    heads, tosses = counted
    both = min(1.0, 2 * find_binomial_tail(max(heads, tosses - heads), tosses))

    assert find_binomial_tail(*counted) == pytest.approx(
        binomtest(*counted, alternative="greater").pvalue
    )
    assert both == pytest.approx(binomtest(*counted).pvalue)


def test_a_coin_without_tosses_shows_nothing():
    assert find_binomial_tail(0, 0) == 1
