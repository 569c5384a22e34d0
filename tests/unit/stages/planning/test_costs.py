"""What grows how: planted growths come back, and nothing is ever below 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.planning.costs import Cost, fit_cost, fit_line, fit_logarithm, fit_power

AMOUNTS = st.floats(0, 1e6)
SIZES = st.lists(st.integers(1, 1_000_000), min_size=2, max_size=5, unique=True)


@settings(max_examples=40)
@given(start=AMOUNTS, each=st.floats(1e-6, 1e3), sizes=SIZES, at=st.integers(0, 10**8))
def test_a_planted_line_comes_back(start, each, sizes, at):
    line = fit_line(sizes, [start + each * size for size in sizes])

    # of what rounding leaves of a slope between sizes that are close
    spread = max(sizes) - min(sizes)
    error = 1e-9 * (start + each * max(sizes)) * (1 + at / spread)
    assert line.at(at) == pytest.approx(start + each * at, rel=1e-6, abs=error + 1e-9)


@settings(max_examples=40)
@given(scale=st.floats(1e-3, 1e3), exponent=st.floats(0, 1), at=st.integers(1, 10**8))
def test_a_planted_power_comes_back(scale, exponent, at):
    power = fit_power([10_000, 20_000], [scale * size**exponent for size in (10_000, 20_000)])

    assert power.at(at) == pytest.approx(scale * at**exponent, rel=1e-6)


@settings(max_examples=40)
@given(sizes=SIZES, values=st.lists(AMOUNTS, min_size=5, max_size=5), at=st.integers(0, 10**8))
def test_nothing_falls_below_nothing_or_with_more_to_do(sizes, values, at):
    for growth in (fit_line, fit_power):
        grown = growth(sorted(sizes), values[: len(sizes)])
        assert 0 <= grown.at(at) <= grown.at(2 * at + 1) + 1e-9


SHARED = [Cost(4.0, 3.0), Cost(7.0, 6.0)]
"""Of 10 and of 20 items: 1 second and 3, and 3 seconds of two processors for 10 more."""


def test_the_clock_is_believed_between_what_processors_allow():
    clock, processor = fit_cost([10, 20], SHARED, cores=2)

    assert (clock.at(100), processor.at(100)) == pytest.approx((31.0, 30.0))


def test_other_programs_do_not_grow_with_the_text():
    """2 processor seconds are 5 by the clock, the first time, and 20 the second."""
    clock, processor = fit_cost([10, 20], [Cost(5.0, 2.0), Cost(20.0, 2.1)])

    assert processor.each == pytest.approx(0.01)
    assert clock.each == pytest.approx(0.01 * 25 / 4.1)
    assert clock.at(15) == pytest.approx(12.5)


def test_nothing_is_faster_than_all_processes_together():
    clock, processor = fit_cost([10, 20], [Cost(5.0, 2.0), Cost(4.0, 4.0)], cores=2)

    assert processor.each == pytest.approx(0.2)
    assert clock.each == pytest.approx(0.1)


@pytest.mark.parametrize("each", [0.0, 5.0])
def test_a_planted_logarithm_comes_back(each):
    grown = fit_logarithm([10, 20, 40], [3.0 + each * np.log(size) for size in (10, 20, 40)])

    assert grown.at(1_000) == pytest.approx(3.0 + each * np.log(1_000))


def test_memory_that_falls_is_as_much_as_was_ever_held():
    assert fit_logarithm([10, 20], [7.0, 5.0]).at(1_000) == 7.0


def test_what_takes_less_for_more_is_flat():
    assert fit_line([10, 20], [3.0, 1.0]).at(1000) == pytest.approx(2.0)
    assert fit_power([10, 20], [3.0, 1.0]).at(1000) == pytest.approx(1.0)


def test_a_line_that_would_start_below_nothing_starts_at_nothing():
    line = fit_line([10, 20], [0.0, 20.0])

    assert line.start == 0
    assert line.at(20) == pytest.approx(16.0)


def test_learning_grows_no_faster_than_the_text():
    assert fit_power([10, 20], [1.0, 4.0]).at(40) == pytest.approx(8.0)


@pytest.mark.parametrize("growth", [fit_line, fit_power, fit_logarithm])
def test_of_one_size_comes_what_was_measured(growth):
    assert growth([7], [3.0]).at(7) == pytest.approx(3.0)


@pytest.mark.parametrize("growth", [fit_line, fit_power])
@pytest.mark.parametrize(("sizes", "values"), [([], []), ([1, 2], [1.0]), ([0, 1], [1.0, 2.0])])
def test_nothing_is_fitted_to_nothing(growth, sizes, values):
    with pytest.raises(ValueError, match="one to a value; got"):
        growth(sizes, values)


@settings(max_examples=40)
@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=5))
def test_costs_add_up(amounts):
    total = sum((Cost(*each) for each in amounts), Cost())

    assert (total.seconds, total.processor_seconds) == pytest.approx(
        tuple(np.array([*amounts, (0.0, 0.0)]).sum(axis=0))
    )
    assert total - total == Cost()
    assert Cost() - total == Cost()
    assert (total * 2).seconds == pytest.approx((total + total).seconds)
    assert (total * 2).processor_seconds == pytest.approx((total + total).processor_seconds)
