"""The benchmark of training: both loops run, and ratios compare times of one round."""

import pytest

from benchmarks import describe
from benchmarks.training import SYSTEMS, measure
from tests.support.torch_settings import torchs_own_settings


def test_ratios_compare_times_of_one_round():
    assert describe((100, 300, 200), (50, 100, 200)) == "200 (1.00, 2.00, 3.00)"
    assert describe((100, 300, 200), ()) == "200"


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_loops_are_measured(system):
    with torchs_own_settings():
        assert min(measure(system, steps=2, batch_tokens=64, precision="float32", threads=1)) > 0
