"""What short runs of the real stages take on this machine; nothing is predicted here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_core.base.config import Config
from nmt_core.base.parallel.jobs import WorkersConfig, count_processes
from nmt_core.translation.loading import count_cores
from stages import paths
from stages.params import EvaluateParams, TrainParams
from stages.planning.data_stages import Sample, measure_data_stages
from stages.planning.lengths import Lengths, read_lengths
from stages.planning.sampling import count_pairs
from stages.planning.training import Training, measure_training
from stages.planning.translating import limit_lengths, measure_translating
from stages.planning.updates import expect_updates
from stages.tokenize import make_jobs


@dataclass(frozen=True)
class Calibration:
    """What was measured on this machine."""

    pairs: Mapping[str, int]
    """Of the whole corpus."""
    processes: int
    """That share the work of the data stages on all of it."""
    cores: int
    """That a stage may use which translates."""
    stages: Mapping[str, list[Sample]]
    """By stage, but for training; a tokenizer's learning stands apart where ``learning`` does."""
    learning: list[Sample]
    lengths: Lengths
    """Of the pairs that were read."""
    training: Training


def calibrate(
    settings: Mapping[str, Any],
    sections: Mapping[str, Config],
    folder: Path,
    say: Callable[[str], object] = lambda _: None,
) -> Calibration:
    """Run every stage but the first on parts of the text.

    Args:
        settings: what params.yaml holds.
        sections: the same, as types.
        folder: to be thrown away afterwards.
        say: is told what is measured.

    Raises:
        CorpusError: if there is no corpus.
        NmtError: if a stage fails.
    """
    train, evaluate, workers = (sections[name] for name in ("train", "evaluate", "workers"))
    assert isinstance(train, TrainParams)
    assert isinstance(evaluate, EvaluateParams)
    assert isinstance(workers, WorkersConfig)
    pairs = count_pairs(paths.CORPUS)
    jobs = make_jobs(paths.CORPUS, paths.TOKENIZER, workers.chunk_lines)
    processes = max(1, count_processes(jobs, workers))
    data = measure_data_stages(
        folder, settings, workers, pairs=pairs["train"], processes=processes, say=say
    )
    assert data.left is not None
    lengths = read_lengths(data.left.folder, train, read=data.samples["shard"][-1].items)
    say("train: a few updates, twice")
    training, trained = measure_training(data.left, train, lengths)
    say("evaluate, export: a few sentences, twice")
    epoch = lengths.epoch.grown(pairs["train"] / lengths.read)
    updates = expect_updates(train.budget, epoch, training.speed).updates
    limits = limit_lengths(lengths, evaluate.beam, updates)
    translating = measure_translating(folder, settings, trained, limits, pairs)
    return Calibration(
        pairs,
        processes,
        count_cores(),
        data.samples | translating,
        data.learning,
        lengths,
        training,
    )
