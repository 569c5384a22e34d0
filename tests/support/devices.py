"""Trainings on a GPU, or on a CPU without one, for test_device_laws.

Usage: python -m tests.support.devices FOLDER, by torchrun or alone; writes the final weights to
FOLDER/PROCESSES.safetensors.
"""

import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from nmt_core.base.compute import Compute, cpu_has_bfloat16
from nmt_core.data.settings import TokenBatching
from nmt_core.models.weights import untied_state_dict
from nmt_core.training.distributed import init_process_group
from nmt_core.training.settings import WorldConfig
from tests.support.pairs import write_pairs
from tests.support.trainings import Log, trainer

LONG, MANY = 400, 64
"""Tokens per sentence and sentences per batch; a batch takes some hundred megabytes."""


def find():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def can_round(device, name):
    """Return whether a model of a preset can compute in bfloat16 on a device."""
    return device.type == "cuda" or not name.startswith("rnn") or cpu_has_bfloat16()


def make_large_training(folder, name, compute):
    """A training of one large batch without dropout, and its messages."""
    dataset = write_pairs(folder / "pairs", longest=LONG, count=MANY)
    training = trainer(
        dataset, folder / "checkpoints", log := Log(), name=name, dropout=0.0, compute=compute
    )
    config = TokenBatching(max_tokens=LONG * MANY)
    training.objective.batches = replace(training.objective.batches, config=config)
    return training, log.notes


def update_once(training):
    """Make an update; return the weights after it, and its peak memory in bytes."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    training.train_step(next(training.objective.batches.start_from(training.progress.position)))
    found = {name: value.cpu() for name, value in untied_state_dict(training.model).items()}
    return found, torch.cuda.max_memory_allocated()


@contextmanager
def at_most(count):
    """Limit this process to a number of bytes of the GPU, in addition to its present use."""
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, count / whole))
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def read_weights(folder, processes):
    return load_file(folder / f"{processes}.safetensors")


def main(folder):
    with init_process_group(WorldConfig()) as world:
        place = folder / f"{world.size}-{world.rank}"
        dataset = write_pairs(place / "pairs", longest=8)
        exact = {"dropout": 0.0, "dtype": torch.float64}  # the order of sums makes no difference
        compute = Compute(find(), torch.float32)
        training = trainer(dataset, place, Log(), compute=compute, world=world, **exact)
        training.fit()
        if world.is_main:
            save_file(untied_state_dict(training.model), folder / f"{world.size}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
