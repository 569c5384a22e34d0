"""Learning rates by closed form."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.training.settings import CosineRestarts, InverseSquareRoot, WarmupDecay


def test_inverse_square_root_is_the_papers():
    """Vaswani et al. 2017, equation 3, scaled to the peak at the end of the warm-up."""
    schedule = InverseSquareRoot(learning_rate=0.5, warmup_steps=10)

    def paper(step):
        return 0.5 * math.sqrt(10) * min(step**-0.5, step * 10**-1.5)

    assert [paper(step + 1) for step in range(50)] == pytest.approx(
        [schedule.rate(step, 0.5) for step in range(50)]
    )


@pytest.mark.parametrize("shape", ["cosine", "linear"])
def test_warmup_decay_rises_to_the_peak_and_falls_to_the_floor(shape):
    schedule = WarmupDecay(learning_rate=2.0, warmup=0.1, shape=shape, floor=0.25)
    rates = [schedule.rate(7, step / 100) for step in range(101)]

    assert [0.2 * step for step in range(1, 11)] == pytest.approx(rates[1:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.5)
    assert schedule.rate(0, 0.55) == pytest.approx(1.25)


def test_restarts_are_the_articles():
    """Each cycle begins, halves and ends where the formula puts it."""
    schedule = CosineRestarts(
        learning_rate=0.02, first_steps=100, length_factor=2.0, rate_factor=0.9, floor=0.01
    )

    assert schedule.rate(0, 0.5) == pytest.approx(0.02)
    assert schedule.rate(50, 0.5) == pytest.approx(0.02 * (0.01 + 0.99 / 2))
    assert schedule.rate(100, 0.5) == pytest.approx(0.02 * 0.9)
    assert schedule.rate(200, 0.5) == pytest.approx(0.02 * 0.9 * (0.01 + 0.99 / 2))
    assert schedule.rate(300, 0.5) == pytest.approx(0.02 * 0.81)


def test_the_articles_figure():
    """Figure 5: cycles of 1000, 900, 810 updates that all start at 0.05 and fall to 0.005."""
    schedule = CosineRestarts(
        learning_rate=0.05, first_steps=1000, length_factor=0.9, rate_factor=1.0, floor=0.1
    )

    assert [0.05] * 3 == pytest.approx([schedule.rate(step, 0.5) for step in (0, 1000, 1900)])
    for end in (999, 1899, 2709):
        assert schedule.rate(end, 0.5) == pytest.approx(0.005, rel=1e-3)


@given(st.integers(0, 10**6), st.floats(0.5, 3), st.floats(0.5, 1), st.floats(0, 1))
def test_restarts_stay_between_nothing_and_the_first_rate(step, longer, lower, floor):
    schedule = CosineRestarts(
        learning_rate=1.0, first_steps=50, length_factor=longer, rate_factor=lower, floor=floor
    )

    assert 0 <= schedule.rate(step, 0.5) <= 1
