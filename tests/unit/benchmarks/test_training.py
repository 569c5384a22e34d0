"""The benchmark of training: what a run takes to start counts for nothing."""

import sys

from benchmarks.training.__main__ import Contestant, Run, Speed, run, tabulate
from benchmarks.training.peers import count_eole_tokens, prepare_eole
from benchmarks.training.work import FIRST_WORD, VOCABULARY, draw_pairs, write_work

STEP = (
    "[2026-11-23 12:06:58,378 INFO] Step {step}/   20; acc: 2.1; ppl: 7895.71; xent: 8.97; "
    "aux: 0.000; mtp: 0.000; attn_ent: 0.000; lr: 1.00e-04; sents:     593; "
    "bsz:  834/{target}/59; 227/232 tok/s;     74 sec;\n"
)


def test_start_up_does_not_count():
    shorter = Run(target_tokens=100, processor_seconds=7.0, seconds=9.0, most_bytes=5)
    longer = Run(target_tokens=400, processor_seconds=10.0, seconds=15.0, most_bytes=6)

    assert Speed.of_more(shorter, longer) == (100.0, 50.0, 6)


def test_ratios_are_those_of_one_round():
    speeds = {
        Contestant("ours", "float32"): (100, 300, 200),
        Contestant("ours", "bfloat16"): (200, 600, 400),
        Contestant("plain", "float32"): (50, 100, 200),
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


def test_a_program_is_measured_with_what_it_says():
    program = "import time; began = time.process_time(); held = b'1' * 3 * 10**8\n"
    program += "while time.process_time() < began + 0.3: 0"
    done = run([sys.executable, "-c", f"{program}\nprint(42)"], int, threads=1)

    assert done.target_tokens == 42
    assert 0.3 <= done.processor_seconds < 30
    assert done.seconds >= 0.3
    assert done.most_bytes > 3 * 10**8


def test_all_systems_read_the_same_text(tmp_path):
    work = write_work(tmp_path, batch_tokens=1024)
    pairs = draw_pairs()

    for path, side in ((work.source, 0), (work.target, 1)):
        lines = path.read_text().splitlines()
        assert [[f"t{number}" for number in pair[side]] for pair in pairs] == [
            line.split() for line in lines
        ]
    assert len(set(work.tokens.read_text().split())) == VOCABULARY - FIRST_WORD


def test_eole_is_told_the_same_work_and_its_tokens_are_read(tmp_path):
    work = write_work(tmp_path, batch_tokens=512)
    command = prepare_eole(tmp_path, work, tmp_path, steps=20)
    settings = (tmp_path / "eole.yaml").read_text()

    assert command[-1] == str(tmp_path / "eole.yaml")
    assert "batch_size: 512" in settings
    assert "train_steps: 20" in settings
    said = STEP.format(step=10, target=" 894") + STEP.format(step=20, target=" 853")
    assert count_eole_tokens(said, steps=20) == 853 * 20
