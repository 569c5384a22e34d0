"""Learning rates by closed form."""

import math

import pytest

from nmt_core.training.settings import CosineRestarts, InverseSquareRoot, WarmupDecay


def test_inverse_square_root_equals_the_papers():
    """Vaswani et al. 2017, equation 3, scaled to the peak at the end of the warm-up."""
    schedule = InverseSquareRoot(learning_rate=0.5, warmup_steps=10)

    def paper(step):
        return 0.5 * math.sqrt(10) * min(step**-0.5, step * 10**-1.5)

    assert [paper(step + 1) for step in range(50)] == pytest.approx(
        [schedule.rate(step, 0.5) for step in range(50)]
    )


@pytest.mark.parametrize("shape", ["cosine", "linear"])
def test_warmup_decay_rises_to_the_peak_and_falls(shape):
    schedule = WarmupDecay(learning_rate=2.0, warmup=0.1, shape=shape, floor=0.25)
    rates = [schedule.rate(7, step / 100) for step in range(101)]

    assert [0.2 * step for step in range(1, 11)] == pytest.approx(rates[1:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.5)
    assert schedule.rate(0, 0.55) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        (  # each cycle starts, halves and ends where the formula says
            {"first_steps": 100, "length_factor": 2.0, "rate_factor": 0.9, "floor": 0.01},
            {0: 1, 50: 0.505, 100: 0.9, 200: 0.9 * 0.505, 300: 0.81},
        ),
        (  # figure 5: cycles of 1000, 900, 810 updates that all start alike and fall to a tenth
            {"first_steps": 1000, "length_factor": 0.9, "rate_factor": 1.0, "floor": 0.1},
            {0: 1, 999: 0.1, 1000: 1, 1899: 0.1, 1900: 1, 2709: 0.1},
        ),
    ],
)
def test_restarts_equal_the_articles(settings, rates):
    schedule = CosineRestarts(learning_rate=0.02, **settings)

    assert [schedule.rate(step, 0.5) for step in rates] == pytest.approx(
        [0.02 * share for share in rates.values()], rel=1e-3
    )
