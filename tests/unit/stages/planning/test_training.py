"""What a short training's journal says of updates and validations, and how long sentences are."""

import pytest

from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.data.shards import Block, IdPair, write_shards
from nmt_core.decoding.settings import BeamConfig
from stages import paths
from stages.configure.compose import compose_settings
from stages.params import build_all
from stages.planning.data_stages import choose_sizes, share_workers
from stages.planning.lengths import LOST_UPDATES, OVERRUN, read_lengths
from stages.planning.scratch import change_settings
from stages.planning.training import (
    FIRST_STEPS,
    LEAST_STEPS,
    MOST_SECONDS,
    MOST_STEPS,
    POINTS,
    SECONDS,
    choose_changes,
    choose_steps,
    read_curve,
)
from stages.planning.translating import limit_lengths
from tests.support.projects import PROJECT


@pytest.fixture(scope="module")
def settings():
    return compose_settings(["data=demo"], conf=PROJECT / "conf")


def parameters(settings, **changes):
    return build_all(change_settings(settings, changes), source="params.yaml")["train"]


def metrics(milliseconds, **values):
    names = {name.replace("_", "/", 1): value for name, value in values.items()}
    return {"kind": "metrics", "milliseconds": milliseconds, "values": names, "step": 0}


JOURNAL = [
    {"kind": "run", "milliseconds": 1_000},
    metrics(3_000, train_tokens_per_second=100.0, train_seconds=2.0),
    metrics(3_100, system_memory=5.0),
    metrics(4_000, train_tokens_per_second=300.0, train_seconds=3.0),
    metrics(6_500, validation_loss=3.0, train_seconds=3.0),
    {"kind": "end", "milliseconds": 7_000},
]


def test_a_journal_says_when_training_was_how_far():
    curve = read_curve(JOURNAL)

    assert curve.times == [3.0, 4.0]
    assert curve.tokens == pytest.approx([200.0, 300.0])
    assert (curve.validated, curve.saved) == (6.5, 7.0)


@pytest.mark.parametrize("update_seconds", [1e-9, 0.01, 0.1, 0.5, 2.0, 100.0])
def test_a_short_training_has_as_many_updates_between_any_two_points(update_seconds):
    steps = choose_steps(update_seconds)

    assert steps % POINTS == 0
    assert POINTS <= steps <= MOST_STEPS
    if POINTS < steps < MOST_STEPS:
        assert steps * update_seconds >= 0.75 * SECONDS
        assert steps >= min(LEAST_STEPS, 0.9 * MOST_SECONDS / update_seconds)
    assert steps * update_seconds <= max(1.1 * MOST_SECONDS, POINTS * update_seconds)


@pytest.mark.parametrize(("steps", "points"), [(FIRST_STEPS, FIRST_STEPS), (40, POINTS)])
def test_a_short_training_validates_once_at_its_end_where_a_point_is(settings, steps, points):
    changes = choose_changes(steps, points=points, sentences=1)
    params = parameters(settings, **changes)

    assert params.budget.steps == params.training.validate_every == steps
    assert steps == points * params.training.log_every
    assert params.schedule.learning_rate < 1e-6


def write(folder, train, validation):
    for split, lengths in (("train", train), ("validation", validation)):
        pairs = [IdPair([4] * source, [4] * target) for source, target in lengths]
        write_shards([Block.of(pairs)], folder / paths.SHARDS / split, pairs_per_shard=100)


def test_lengths_count_ends_of_sentences(settings, tmp_path):
    write(tmp_path, [(3, 7)] * 50, [(9, 9)] * 4)
    lengths = read_lengths(
        tmp_path, parameters(settings, **{"train.batching.max_tokens": 80}), read=60
    )

    assert lengths.growth == 2.0
    assert (lengths.read, lengths.validation_pairs) == (60, 4)
    assert lengths.epoch.target_tokens == 400
    assert lengths.epoch.batches == 5


def test_greedy_search_takes_a_share_of_its_limits_and_no_more_than_all(settings, tmp_path):
    write(tmp_path / "same", [(9, 9)] * 4, [(9, 9)] * 4)
    write(tmp_path / "long", [(4, 99)] * 4, [(4, 99)] * 4)
    params = parameters(settings)

    assert read_lengths(tmp_path / "same", params, read=4).greedy_share == pytest.approx(
        OVERRUN * 10 / 30
    )
    assert read_lengths(tmp_path / "long", params, read=4).greedy_share == 1.0


def test_a_model_that_has_learnt_little_searches_to_its_limits(settings, tmp_path):
    write(tmp_path, [(9, 19)] * 4, [(9, 19)] * 4)
    lengths = read_lengths(tmp_path, parameters(settings), read=4)
    factor, offset = "evaluate.beam.max_length_factor", "evaluate.beam.max_length_offset"
    beam = BeamConfig(max_length_factor=9.0, max_length_offset=50)

    assert limit_lengths(lengths, beam, 0) == {factor: 9.0, offset: 50}
    assert limit_lengths(lengths, beam, LOST_UPDATES)[factor] == (9.0 + OVERRUN * 2) / 2
    trained = limit_lengths(lengths, beam, 10**9)
    assert trained[factor] == pytest.approx(OVERRUN * 2.0, rel=1e-4)
    assert trained[offset] == 1


def test_all_of_a_small_corpus_is_read_and_two_parts_of_a_large_one():
    assert choose_sizes(20_000) == [20_000]
    assert choose_sizes(20_001) == [10_000, 20_000]


def test_a_part_is_shared_as_the_whole_is():
    workers = WorkersConfig(processes=0, dask="tcp://10.0.0.5:8786", chunk_lines=20_000)
    shared = WorkersConfig(**share_workers(workers, part=0.1, processes=2))

    assert shared == WorkersConfig(processes=2, dask=None, chunk_lines=2_000)
    assert share_workers(workers, part=1e-9, processes=0)["chunk_lines"] == 1
