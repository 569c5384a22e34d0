"""What a run takes, from numbers that somebody made up: totals add up, and planted growths show."""

import math
from dataclasses import replace

import pytest

from stages.configure.compose import compose_settings
from stages.params import build_all
from stages.planning.calibration import Calibration
from stages.planning.costs import Cost, Logarithm
from stages.planning.data_stages import Sample
from stages.planning.lengths import Lengths, share_lost
from stages.planning.prediction import predict
from stages.planning.scratch import change_settings
from stages.planning.training import Training
from stages.planning.updates import Epoch
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")
PAIRS = {"train": 100_000, "validation": 500, "test": 1_000}
STAGES = ("tokenize", "vocabulary", "embeddings", "shard", "evaluate", "export")


def grown(items, *, start=2.0, each=0.001):
    took = start + each * items
    return Sample(items, Cost(took, 1.5 * took), 10**6 + 10 * items, 7 * items)


SAMPLES = {stage: [grown(10_000), grown(20_000)] for stage in STAGES[:4]} | {
    stage: [grown(8), grown(128)] for stage in STAGES[4:]
}
CALIBRATION = Calibration(
    pairs=PAIRS,
    processes=2,
    cores=2,
    stages=SAMPLES,
    learning=[],
    lengths=Lengths(20_000, Epoch(400, 200_000), 1.1, 500, 0.5),
    training=Training(
        start=Cost(10.0, 12.0),
        token=Cost(0.001, 0.002),
        loss=Cost(1.0, 1.5),
        sentence=Cost(0.01, 0.015),
        sentences=500,
        memory=Logarithm(10**8, 10**8),
        disk_bytes=3 * 10**7,
        checkpoint_bytes=10**8,
    ),
)


def sections(**changes):
    return build_all(change_settings(SETTINGS, changes), source="params.yaml")


def plan(calibration=CALIBRATION, **changes):
    return predict(calibration, sections(**changes), settings="")


def test_data_stages_grow_with_the_pairs_and_others_with_their_sentences():
    stages = plan().stages

    assert stages["shard"].seconds == pytest.approx(102.0)
    assert stages["shard"].disk_bytes == pytest.approx(700_000)
    assert stages["evaluate"].seconds == pytest.approx(3.0)
    assert stages["export"].seconds == pytest.approx(2.5)
    assert stages["shard"].processor_seconds == pytest.approx(153.0)


def test_export_compares_no_more_sentences_than_it_is_to():
    assert plan(**{"export.engine_sentences": 100}).stages["export"].seconds == pytest.approx(2.1)


def test_processes_side_by_side_take_memory_each():
    stages = plan(**{"train.compute.processes": 3}).stages

    assert stages["shard"].memory_bytes == pytest.approx(2 * (10**6 + 10 * 100_000))
    assert stages["train"].memory_bytes == round(3 * 10**8 * (1 + math.log(1_200)))


def test_more_sentences_are_more_batches_and_no_larger_ones():
    assert plan().stages["evaluate"].memory_bytes == 10**6 + 10 * 128


def test_training_is_its_beginning_its_updates_and_its_validations():
    """1,200 updates of 500 tokens; 4 validations of 1 second, and 500 sentences, each: half of the
    way to their limits, but for what the model goes in circles."""
    train = plan().stages["train"]
    share = sum(0.5 + 0.5 * share_lost(updates) for updates in (300, 600, 900, 1_200))

    assert 2 < share < 4
    assert train.seconds == pytest.approx(10 + 600 + 4 * 1 + 5 * share)
    assert train.processor_seconds == pytest.approx(12 + 1200 + 4 * 1.5 + 7.5 * share)
    assert train.disk_bytes == 2 * 3 * 10**7 + 2 * 10**8


def test_a_training_that_validates_once_keeps_one_checkpoint():
    once = plan(**{"train.training.validate_every": 5_000}).stages["train"]

    assert once.disk_bytes == 2 * 3 * 10**7 + 10**8


def test_the_whole_text_is_passed_over_and_not_the_part_that_was_read():
    training = plan().training

    assert (training.updates, training.limit, training.validations) == (1_200, "steps", 4)
    assert training.tokens_per_pass == 1_000_000
    assert training.passes == pytest.approx(0.6)
    assert training.target_tokens == pytest.approx(600_000)
    assert training.tokens_per_second == pytest.approx(1_000)


def test_pairs_that_are_too_long_are_passed_over_by_nobody():
    half = replace(CALIBRATION, lengths=replace(CALIBRATION.lengths, epoch=Epoch(200, 100_000)))

    assert plan(half).training.tokens_per_pass == 500_000


@pytest.mark.parametrize(
    ("joint", "most", "pairs"), [(True, 80_000, 40_000), (False, 40_000, 40_000)]
)
def test_a_tokenizer_is_learnt_from_so_many_lines_and_not_more(joint, most, pairs):
    learning = [Sample(n, Cost(n**0.5, 2 * n**0.5), 5 * 10**6 + n, 0) for n in (10_000, 20_000)]
    calibration = replace(CALIBRATION, learning=learning)
    changes = {
        "tokenize.subwords.joint": joint,
        "tokenize.subwords.max_lines": most,
        "train.model.tie": "none",
    }

    tokenize = plan(calibration, **changes).stages["tokenize"]
    assert tokenize.seconds == pytest.approx(102.0 + pairs**0.5)
    assert tokenize.processor_seconds == pytest.approx(153.0 + 2 * pairs**0.5)
    assert tokenize.memory_bytes == pytest.approx(5 * 10**6 + pairs)
    assert tokenize.disk_bytes == pytest.approx(700_000)


def test_totals_add_up():
    made = plan()
    stages = made.stages.values()

    assert list(made.stages) == [
        "tokenize",
        "vocabulary",
        "embeddings",
        "shard",
        "train",
        *STAGES[4:],
    ]
    for name in ("seconds", "processor_seconds", "disk_bytes"):
        assert getattr(made.total, name) == pytest.approx(sum(getattr(s, name) for s in stages))
    assert made.total.memory_bytes == max(stage.memory_bytes for stage in stages)
