"""Train the model, or continue where a training of the same fingerprint stopped.

Usage: python -m stages.train
Reads:  data/shards/, data/corpus/validation.*, data/tokenizer/, data/vocabulary/, data/embeddings/,
        data/{weights,tags}.json, data/initial_model/
Writes: models/trained/, reports/learning_curve.csv, metrics/train.json; and, during training,
        checkpoints/<fingerprint>/, from which the same command continues after any interruption

With ``train.compute.processes`` above 1, it starts that many processes, each with a share of every
batch. On several machines, start them by torchrun: torchrun --nnodes 2 ... -m stages.train
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from safetensors.torch import load_file, save_file

from nmt_core.base import files
from nmt_core.base.compute import Compute, prepare_compute
from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.base.progress import Tracker, TrainingDisplay
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import MAX_EVALUATION_TOKENS, TrainingBatches, build_evaluation_batches
from nmt_core.data.mixture import Mixture
from nmt_core.data.shards import ShardDataset
from nmt_core.evaluation.registry import DEFAULT_METRICS, find_label, load_metric
from nmt_core.evaluation.validation import score_greedy
from nmt_core.models.embedding import build_pretrained_embedding
from nmt_core.models.seq2seq import Pretrained, Seq2Seq
from nmt_core.models.settings import build_model
from nmt_core.models.weights import untied_state_dict
from nmt_core.text.side import Side
from nmt_core.training.checkpoint import CheckpointStore, adopt_checkpoint
from nmt_core.training.distributed import ALONE, World, init_process_group
from nmt_core.training.initial import average_weights, copy_weights, load_initial_model
from nmt_core.training.objective import TranslationObjective
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.progress import Point, Progress
from nmt_core.training.settings import Budget
from nmt_core.training.trainer import Trainer
from stages import paths
from stages.params import DownloadParams, TrainParams, load
from stages.paths import Inputs
from stages.runtime import launch
from stages.runtime.drawn_pairs import draw_pairs, read_tagged
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import check_digests, compute_fingerprint, write_digests
from stages.runtime.trained import read_tags
from stages.tracking import run_metadata
from stages.tracking.journal import Journal
from stages.tracking.run_metadata import record_inputs
from stages.tracking.tracker import open_tracker


def run(
    params: TrainParams,
    inputs: Inputs,
    *,
    languages: Languages,
    checkpoints: Path,
    tracker: Tracker,
    notes: Sequence[str] = (),
    world: World = ALONE,
) -> tuple[Seq2Seq[Any, Any], Progress]:
    """Train to the end; return the model, with the best weights in rank 0, and the progress."""
    config = params.compute
    compute = prepare_compute(config.device, precision=config.precision, threads=config.threads)
    sides = {
        side: Side.load(inputs.tokenizer / side, inputs.vocabulary / f"{side}.txt")
        for side in paths.SIDES
    }
    torch.manual_seed(derive_seed(params.seed, "weights"))
    vocabularies = (sides["source"].vocabulary, sides["target"].vocabulary)
    model = build_model(
        params.model,
        source_size=len(vocabularies[0]),
        target_size=len(vocabularies[1]),
        pretrained=load_pretrained(inputs.embeddings),
    )
    compute.check_layers(model)
    if initial := load_initial_model(inputs.initial_model):
        notes = [
            *notes,
            *copy_weights(initial, model, params.model, vocabularies, params.initial_parts),
        ]
    model.to(compute.device)
    objective, long_pairs_notes = build_objective(params, inputs, sides, languages, model, compute)
    console = None if world.is_main else Console(quiet=True, force_terminal=False)
    scores = {f"validation_{objective.metric}": find_label(objective.metric)}
    done = resolve_budget(params.budget, objective.batches).done
    display = TrainingDisplay(done, console, scores=scores)
    for note in (*notes, *long_pairs_notes):
        display.note(note)
    trainer = Trainer(
        objective=objective,
        optimizer=build_optimizer(model, params.optimizer),
        schedule=params.schedule,
        budget=params.budget,
        checkpoints=CheckpointStore(checkpoints),
        display=display,
        tracker=tracker,
        world=world,
        accumulate=params.compute.accumulate,
    )
    progress = trainer.fit()
    if initial and params.initial_share > 0:
        average_weights(initial, model, vocabularies, params.initial_parts, params.initial_share)
    return model, progress


def build_objective(
    params: TrainParams,
    inputs: Inputs,
    sides: Mapping[str, Side],
    languages: Languages,
    model: Seq2Seq[Any, Any],
    compute: Compute,
) -> tuple[TranslationObjective, Sequence[str]]:
    """Return the objective of a model, and notes on validation pairs that are too long."""
    training = ShardDataset(inputs.shards / "train")
    validation = ShardDataset(inputs.shards / "validation")
    directions = inputs.directions or (languages,) * len(training.corpora)
    draw = draw_pairs(params, training, sides, directions, inputs.tags)
    pairs = read_tagged(validation, sides["source"], inputs.tags)
    mixture = build_mixture(params, inputs, training)
    target = sides["target"]
    held_out, too_long = build_evaluation_batches(pairs, vocabulary=len(target.vocabulary))
    select_by = params.training.select_by
    name = DEFAULT_METRICS[0] if select_by == "loss" else select_by
    metric = load_metric(name, languages.target)
    scored = choose_scored(len(pairs), params.training.validation_sentences, directions)
    lines = {s: [*files.read_lines(inputs.corpus / f"validation.{s}")] for s in paths.SIDES}
    assert {*map(len, lines.values())} == {len(pairs)}, "the shard stage leaves no pair out"
    score = partial(
        score_greedy,
        metric=metric,
        sources=[lines["source"][row] for row in scored],
        source_numbers=[[*pairs[row][0][:MAX_EVALUATION_TOKENS]] for row in scored],
        references=[lines["target"][row] for row in scored],
        target=target,
        compute=compute,
    )
    objective = TranslationObjective(
        model=model,
        compute=compute,
        config=params.training,
        seed=params.seed,
        batches=TrainingBatches(training, params.batching, params.seed, draw, mixture),
        validation=held_out,
        translate_and_score=score,
        metric=name,
        higher_is_better=metric.higher_is_better,
    )
    warning = (
        f"{too_long} validation pairs have more than {MAX_EVALUATION_TOKENS} tokens on a side; "
        f"the validation truncates them"
    )
    return objective, [warning] if too_long else []


def choose_scored(pairs: int, limit: int, directions: Sequence[Languages]) -> list[int]:
    """Return the validation pairs to score: the first, or evenly spread over several directions."""
    if len({*directions}) == 1:
        return [*range(pairs)[:limit]]
    return [*dict.fromkeys(place * pairs // limit for place in range(limit))]


def build_mixture(params: TrainParams, inputs: Inputs, training: ShardDataset) -> Mixture:
    """Return the mixture of the corpora."""
    weights = files.read_json(inputs.weights)
    replayed = range(len(inputs.corpora), len(weights))  # corpora of an initial model, unnamed
    names = [*inputs.corpora, *map(str, replayed)]
    return Mixture(
        dict(zip(names, training.corpora, strict=True)),
        dict(zip(names, weights, strict=True)),
        params.mixture,
        params.seed,
        directions=dict(zip(names, map(str, inputs.directions), strict=bool(inputs.directions))),
    )


def resolve_budget(budget: Budget, batches: TrainingBatches) -> Budget:
    """Return the budget with epochs as an approximate number of updates, to show progress."""
    if budget.epochs is None:
        return budget
    steps = batches.estimate_batches(budget.epochs)
    return budget.model_copy(update={"steps": min(steps, budget.steps or steps)})


def load_pretrained(embeddings: Path) -> Pretrained | None:
    """Return the vectors of the embeddings stage; None if it wrote none."""
    entry = files.read_json(embeddings / "embeddings.json")
    if entry["kind"] == "none":
        return None
    files_of = {side: embeddings / f"{side}.safetensors" for side in paths.SIDES}
    return {
        side: build_pretrained_embedding(load_file(path)["weight"], frozen=entry["frozen"])
        for side, path in files_of.items()
    }


def write_model(
    folder: Path,
    model: Seq2Seq[Any, Any],
    params: TrainParams,
    progress: Progress,
    key: str,
) -> None:
    """Write weights, architecture and history, and their digests; ``key`` is the fingerprint."""
    origin = paths.INITIAL_MODEL / "initial_model.json"
    with files.whole_folder(folder) as part:
        save_file(untied_state_dict(model), part / "model.safetensors")
        files.write_json(part / "model.json", params.model.model_dump(mode="json"))
        record = {
            "fingerprint": key,
            "steps": progress.step,
            "best_step": progress.best_step,
            "skipped": progress.skipped,
            "epochs": progress.position.epoch,
            "target_tokens": progress.target_tokens,
            "parameters": sum(weight.numel() for weight in model.parameters()),
            "params": params.model_dump(mode="json"),
            "initial_model": files.read_json(origin) if origin.exists() else {},
            "history": [point.model_dump() for point in progress.history],
            "curve": progress.curve,
        }
        files.write_json(part / "training.json", record)
        write_digests(part)


def format_learning_curve(history: list[Point]) -> str:
    """Return the history as CSV, one line per validation."""
    text = io.StringIO()
    rows = [point.row() for point in history]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def summarize_training(progress: Progress) -> dict[str, float]:
    """Return the numbers of the best validation, named like those of the test."""
    best = next(point for point in progress.history if point.step == progress.best_step)
    scores = {
        name.removeprefix("validation_"): value
        for name, value in best.row().items()
        if name.startswith("validation_")
    }
    return {"steps": progress.step, **scores}


@contextmanager
def track_training(params: TrainParams, journal: Journal) -> Iterator[Tracker]:
    """Open the run of a training, record its settings, and yield the tracker."""
    with open_tracker(journal.fingerprint, tags=run_metadata.describe_run(params)) as tracker:
        record_inputs(tracker)
        yield tracker


def identify(params: TrainParams, languages: Config) -> str:
    """Return the fingerprint of a training."""
    settings = params.model_dump(mode="json")
    budget = settings.pop("budget")
    return compute_fingerprint(
        [settings, languages.model_dump(mode="json")], "train", budget=budget
    )


def continue_other_budget(params: TrainParams, journal: Journal) -> Iterator[str]:
    """Copy checkpoints of a training with another budget, if this one has none; yield messages."""
    course, _, _ = journal.fingerprint.partition("-")
    store = CheckpointStore(paths.CHECKPOINTS / journal.fingerprint)
    others = [CheckpointStore(folder) for folder in paths.CHECKPOINTS.glob(f"{course}-*")]
    if not (store.is_empty and (others := [other for other in others if not other.is_empty])):
        return
    if params.follows_budget:
        yield (
            f"training starts from scratch, although {others[0].folder} differs only in its "
            f"budget: with {' and '.join(params.follows_budget)}, every update depends on the "
            f"budget; to prolong trainings, use an inverse_sqrt or cosine_restarts schedule "
            f"without scheduled sampling"
        )
        return
    validate_every = params.training.validate_every
    prolonged = adopt_checkpoint(store, others, budget=params.budget, validate_every=validate_every)
    if prolonged is None:
        yield (
            f"training starts from scratch, although {others[0].folder} differs only in its "
            f"budget: its checkpoints are beyond this budget, damaged, or from validations by the "
            f"clock, unlike those of this training"
        )
        return
    other, step = prolonged
    yield f"continuing from {other.folder}, a training that differs only in its budget"
    with suppress(OSError):
        journal.take_over(Journal(other.folder.name), until=step)


def run_rank(params: TrainParams, world: World) -> None:
    """Run the stage on the project's own paths, as one of the processes that train together."""
    download = load(DownloadParams, "download")
    languages = download.languages
    key = identify(params, languages)
    if world.broadcast(key.encode()) != key.encode():
        raise NmtError(
            f"rank {world.rank} has other settings, code or data than rank 0; update its machine"
        )
    journal = Journal(key)
    with track_training(params, journal) if world.is_main else nullcontext(Tracker()) as tracker:
        notes = [*continue_other_budget(params, journal)] if world.is_main else []
        model, progress = run(
            params,
            Inputs(
                corpora=tuple(use.name for use in download.uses),
                tags=read_tags(),
                directions=paths.read_directions(paths.CORPUS),
            ),
            languages=languages,
            checkpoints=paths.CHECKPOINTS / key,
            tracker=tracker,
            notes=notes,
            world=world,
        )
    if world.is_main:
        write_model(paths.TRAINED, model, params, progress, key)
        files.write_text(
            paths.REPORTS / "learning_curve.csv", format_learning_curve(progress.history)
        )
        files.write_json(paths.METRICS / "train.json", summarize_training(progress))


def main() -> None:
    """Run the stage with the configured number of processes."""
    check_digests(paths.VOCABULARY, stage="vocabulary")
    params = load(TrainParams, "train")
    if params.compute.processes > 1 and not launch.is_rank():
        launch.launch("stages.train", params.compute)
        return
    with launch.ignore_late_stop(), init_process_group(params.compute) as world:
        run_rank(params, world)


if __name__ == "__main__":
    run_stage(main)
