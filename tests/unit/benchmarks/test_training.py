"""The benchmark of training: start-up does not count, and ratios are of one round."""

import sys

import pytest

from benchmarks.training import Run, Speed, System, run, subtract, tabulate


def test_start_up_does_not_count():
    shorter = Run(target_tokens=100, processor_seconds=7.0, seconds=9.0, most_bytes=5)
    longer = Run(target_tokens=400, processor_seconds=10.0, seconds=15.0, most_bytes=6)
    assert subtract(longer, shorter) == (100.0, 50.0, 6)


def test_ratios_are_those_of_one_round():
    speeds = {System.OURS: (100, 300, 200), System.PLAIN: (50, 100, 200)}
    rounds = [
        {name: Speed(values[number], 1.0, 2**30) for name, values in speeds.items()}
        for number in range(3)
    ]
    assert tabulate(rounds) == [
        ["ours", "200", "1", "1.00 (1.00 to 1.00)", "1.00"],
        ["plain", "100", "1", "2.00 (1.00 to 3.00)", "1.00"],
    ]


def test_cost_of_a_program_is_measured():
    program = "import time; began = time.process_time(); held = b'1' * 3 * 10**8\n"
    program += "while time.process_time() < began + 0.3: 0"
    done = run([sys.executable, "-c", f"{program}\nprint(42)"], threads=1)

    assert done.target_tokens == 42
    assert 0.3 <= done.processor_seconds < 30
    assert done.seconds >= 0.3
    assert done.most_bytes > 3 * 10**8


@pytest.mark.slow
@pytest.mark.parametrize("system", System)
def test_loops_print_their_target_tokens(system):
    loop = [sys.executable, "-m", "benchmarks.training", f"--system={system}", "--batch-tokens=64"]
    assert 0 < run([*loop, "--steps=2", "--precision=float32"], threads=1).target_tokens <= 128
