"""One process of two that train together, for test_distributed_laws.

Usage: python -m tests.support.ranks FOLDER RANK

It runs every scenario in FOLDER/SCENARIO, and writes its results there, as RANK.json and, for
weights, RANK.safetensors.
"""

import sys
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file

from nmt_core.base import files
from nmt_core.data.shards import ShardDataset
from nmt_core.models.weights import untied_state_dict
from nmt_core.training.distributed import ALONE, PeerError, World
from tests.support import subword_pairs, trainings
from tests.support.pairs import write_pairs

PATIENT, IMPATIENT = 120.0, 5.0
"""Timeouts, in seconds."""

STEPS, CUT_AT = 12, 8

SAME = {
    "transformer": {},
    "convs2s": {"preset": "convs2s"},
    "rnn": {"preset": "rnn_attention"},
    "per_sentence": {"normalize_loss": "sentence"},
    "sampled": {"sampled_softmax": 4, "label_smoothing": 0.0},
    "subwords": {"draws_subwords": True},
}
"""Trainings that are the same with any number of processes."""


class Log(trainings.Log):
    """A display that only records losses."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def metrics(self, values, *, step):
        self.losses += [values["train/loss"]] if "train/loss" in values else []


def disturb(training, happens):
    """Call a function before an update."""
    train_step = training.train_step

    def disturbed(share):
        if training.progress.step + 1 == CUT_AT:
            happens()
        train_step(share)

    training.train_step = disturbed


def write_texts(folder):
    """Pairs, many of which are a batch of their own, and lines in subwords."""
    write_pairs(folder / "pairs", longest=8)
    subword_pairs.write_lines(folder / "lines", "bpe_dropout")


def trainer(folder, world=ALONE, *, preset="transformer", draws_subwords=False, **settings):
    """A training in float64, so that other orders of sums make no difference that grows.

    Every process starts with other weights; those of rank 0 must be used.
    """
    dataset = ShardDataset(folder.parent / ("lines" if draws_subwords else "pairs"))
    chosen = {"dropout": 0.0, "max_tokens": 16, "select_by": "loss"}
    if draws_subwords:
        sample = subword_pairs.drawn(dataset)
        chosen |= {"words": subword_pairs.PIECES, "sample": sample, "max_tokens": 60}
    training = trainings.trainer(
        dataset,
        folder / f"checkpoints{world.rank}",
        Log(),
        name=preset,
        world=world,
        seed=world.rank,
        dtype=torch.float64,
        **chosen | settings,
    )
    # worse and worse
    training.objective.translate_and_score = lambda _: -float(training.progress.step)
    return training


def cut(folder, world, **settings):
    """Train until all processes end at once, like a power failure."""

    def fail():
        raise trainings.PowerCut

    training = trainer(folder, world, **settings)
    disturb(training, fail)
    with suppress(trainings.PowerCut):
        training.fit()


def train(folder, world, **settings):
    """Train to the end; return the last step."""
    training = trainer(folder, world, **settings)
    progress = training.fit()
    save_file(untied_state_dict(training.model), folder / f"{world.rank}.safetensors")
    return {"losses": training.tracker.losses, "step": progress.step, "seconds": progress.seconds}


def cut_and_train(folder, world):
    cut(folder, world, dropout=0.2)
    return train(folder, world, dropout=0.2)


def first_works_long(folder, world):
    """A time longer than the timeout of a sum."""
    began = time.monotonic()
    world.run_on_main(lambda: time.sleep(1.5 * IMPATIENT))
    return {"seconds": time.monotonic() - began, "sum": world.all_reduce_max(world.rank)}


def second_hangs(folder, world):
    if not world.is_main:
        time.sleep(1.5 * IMPATIENT)
        return {}
    return left_alone(world)


def second_leaves(folder, world):
    return left_alone(world) if world.is_main else {}


def left_alone(world):
    try:
        world.all_reduce_max(0)
    except PeerError as error:
        return {"error": str(error)}


PATIENTLY = {
    **{name: lambda *at, given=given: train(*at, **given) for name, given in SAME.items()},
    "whole": lambda *at: train(*at, dropout=0.2),
    "cut_and_whole": cut_and_train,
    "cut": cut,
}
IMPATIENTLY = {"long": first_works_long, "hung": second_hangs, "left": second_leaves}


@contextmanager
def process_group(folder, rank, seconds):
    world = World(rank, 2, seconds)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder / 'group'}",
        rank=rank,
        world_size=world.size,
        timeout=timedelta(seconds=seconds),
    )
    yield world
    dist.destroy_process_group()


def main(top, rank):
    for scenarios, seconds in ((PATIENTLY, PATIENT), (IMPATIENTLY, IMPATIENT)):
        for name, run in scenarios.items():
            folder = top / name
            folder.mkdir(exist_ok=True)
            with process_group(folder, rank, seconds) as world:
                files.write_json(folder / f"{rank}.json", run(folder, world))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
