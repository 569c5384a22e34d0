"""The benchmark of training: both loops run, and ratios compare times of one round."""

import pytest

from benchmarks.training import Speed, System, measure, tabulate
from tests.support.torch_settings import torchs_own_settings


def test_ratios_compare_times_of_one_round():
    speeds = {System.OURS: (100, 300, 200), System.PLAIN: (50, 100, 200)}
    rounds = [
        {name: Speed(values[number], 1.0, 2**30) for name, values in speeds.items()}
        for number in range(3)
    ]
    assert tabulate(rounds) == [
        ["ours", "200", "1", "1.00 (1.00 to 1.00)", "1.00"],
        ["plain", "100", "1", "2.00 (1.00 to 3.00)", "1.00"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("system", System)
def test_loops_are_measured(system):
    with torchs_own_settings():
        assert min(measure(system, steps=2, batch_tokens=64, precision="float32", threads=1)) > 0
