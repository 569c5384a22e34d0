"""The benchmark of training: start-up does not count."""

import sys

import pytest

from benchmarks.training import Contestant, Run, Speed, run, tabulate
from benchmarks.training_loops import System

OURS = Contestant(System.OURS, "float32")


def test_start_up_does_not_count():
    shorter = Run(target_tokens=100, processor_seconds=7.0, seconds=9.0, most_bytes=5)
    longer = Run(target_tokens=400, processor_seconds=10.0, seconds=15.0, most_bytes=6)

    assert Speed.of_more(shorter, longer) == (100.0, 50.0, 6)


def test_ratios_are_those_of_one_round():
    speeds = {
        OURS: (100, 300, 200),
        Contestant(System.OURS, "bfloat16"): (200, 600, 400),
        Contestant(System.PLAIN, "float32"): (50, 100, 200),
    }
    rounds = [
        {name: Speed(values[number], 1.0, 2**30) for name, values in speeds.items()}
        for number in range(3)
    ]

    heading, ours, ours_bfloat16, plain = tabulate(rounds)
    assert len(heading) == len(plain)
    assert ours[:4] == ["this project, float32", "200", "1", "1.00 (1.00 to 1.00)"]
    assert ours_bfloat16[3:5] == ["0.50 (0.50 to 0.50)", "1.00 (1.00 to 1.00)"]
    assert plain[1:] == ["100", "1", "2.00 (1.00 to 3.00)", "4.00 (2.00 to 6.00)", "1.00"]


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
    loop = [sys.executable, "-m", "benchmarks.training_loops", system, "--batch-tokens=64"]

    assert 0 < run([*loop, "--steps=2", "--precision=float32"], threads=1).target_tokens <= 128
