"""What evaluating and exporting take, by how many sentences are translated."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_core.decoding.settings import BeamConfig
from stages import paths
from stages.planning.data_stages import Sample, run_sample
from stages.planning.lengths import OVERRUN, Lengths, share_lost
from stages.planning.sampling import write_sample
from stages.planning.scratch import Scratch

SENTENCES = (8, 128)
"""That are translated: few, for what else there is to do, and some, for what each takes."""


def choose_sizes(total: int) -> list[int]:
    """Return how many of so many sentences to translate."""
    return sorted({min(total, size) for size in SENTENCES})


def limit_lengths(lengths: Lengths, beam: BeamConfig, updates: int) -> dict[str, Any]:
    """Return settings with which a search goes as far as that of a trained model does.

    Args:
        lengths: of the text.
        beam: how far it may go.
        updates: of the training.
    """
    lost = share_lost(updates)
    found = OVERRUN * lengths.growth
    return {
        "evaluate.beam.max_length_factor": lost * beam.max_length_factor + (1 - lost) * found,
        "evaluate.beam.max_length_offset": round(lost * beam.max_length_offset + (1 - lost)),
    }


def measure_translating(
    folder: Path,
    settings: Mapping[str, Any],
    trained: Scratch,
    limits: Mapping[str, Any],
    pairs: Mapping[str, int],
) -> dict[str, list[Sample]]:
    """Evaluate and export a model that was not trained, on a few sentences and on some more.

    Args:
        folder: takes a project for each number of sentences.
        settings: what params.yaml holds.
        trained: a project with a model.
        limits: settings of how far to search.
        pairs: of the corpus, by split.

    Returns:
        Samples by stage: of test sentences, and of validation sentences.
    """
    found: dict[str, list[Sample]] = {"evaluate": [], "export": []}
    for size in choose_sizes(pairs["test"]):
        scratch = Scratch.make(folder / f"evaluate-{size}", settings)
        for name in ("tokenizer", "vocabulary"):
            scratch.link_as(Path("data") / name, trained.folder / "data" / name)
        scratch.link_as(paths.TRAINED, trained.folder / paths.TRAINED)
        for name in ("download", "shard"):
            place = paths.METRICS / f"{name}.json"
            scratch.link_as(place, trained.folder / place)
        write_sample(paths.CORPUS, scratch.folder / paths.CORPUS, {"test": size})
        found["evaluate"].append(run_sample(scratch, "evaluate", size, limits))
    compared = min(pairs["validation"], settings["export"]["engine_sentences"])
    for size in choose_sizes(compared):
        own = scratch.beside(f"export-{size}", Path("data"), paths.TRAINED, paths.METRICS)
        changed = {**limits, "export.engine_sentences": size}
        found["export"].append(run_sample(own, "export", size, changed))
    return found
