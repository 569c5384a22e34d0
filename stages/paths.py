"""The paths of the project, relative to the top of the checkout."""

import os
from dataclasses import dataclass
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.languages import Languages, read_languages

HOME = Path(os.path.relpath(os.environ.get("DVC_ROOT", ".")))
"""The project's folder, even if an experiment of DVC runs in a temporary copy. Files that outlive a
run and are not outputs of DVC belong there."""

DOTENV = HOME / ".env"
"""Addresses and passwords of the servers, if they run."""

PARAMS = Path("params.yaml")
PIPELINE = Path("dvc.yaml")
LOCK = Path("dvc.lock")
CODE = Path("code")
"""Digests of the code of each stage."""
SETTINGS = Path("code/settings.json")
"""All settings, as DVC compares them."""
CONF = Path("conf")

DOWNLOADS = HOME / "downloads"
"""Fetched files; not an output of DVC, so that an interrupted transfer can be resumed."""

CORPUS = Path("data/corpus")
WEIGHTS = Path("data/weights.json")
"""Sampling weights of the corpora, in order; separate from the text, which they do not change."""
MONOLINGUAL = Path("data/monolingual")
"""Monolingual text, in a file per language: ``de.txt``."""
TAGS = Path("data/tags.json")
"""Tags of the corpora, in order; empty for a corpus without a tag."""
VECTORS = Path("data/vectors")
INITIAL_MODEL = Path("data/initial_model")
TOKENIZER = Path("data/tokenizer")
TOKENIZED = Path("data/tokenized")
VOCABULARY = Path("data/vocabulary")
EMBEDDINGS = Path("data/embeddings")
SHARDS = Path("data/shards")

TRAINED = Path("models/trained")
EXPORT = Path("models/export")

CHECKPOINTS = HOME / "checkpoints"
"""Checkpoints by fingerprint; not an output of DVC, which would delete them before a training."""

METRICS = Path("metrics")
"""The few numbers that ``dvc metrics`` compares; reports hold all measurements."""
REPORTS = Path("reports")
CORRECTIONS = HOME / "corrections.jsonl"
"""The journal of users' corrections; not an output of DVC, because no stage can recreate it."""

RUNS = HOME / "runs"
"""Journals of runs, which are sent to MLflow; not an output of DVC."""
PINNED = RUNS / "pinned.json"
"""Budgets in tokens that replaced budgets of time on this machine, by a digest of the settings."""
MLFLOW = HOME / "mlflow.db"
MLFLOW_FILES = HOME / "mlruns"
REGISTRY_LOCK = HOME / "registry.lock"
"""Lock file for changes of the champion."""

SPLITS = ("train", "validation", "test")
SIDES = ("source", "target")

EXPERIMENT = "nmt"
"""MLflow's experiment of this project's runs."""


def read_directions(corpus: Path) -> tuple[Languages, ...]:
    """Return the direction of each corpus in the folder of the text; empty for one direction."""
    named = files.read_json(corpus / "corpus.json").get("directions", ())
    return tuple(map(read_languages, named))


@dataclass(frozen=True)
class Inputs:
    """Outputs of earlier stages."""

    shards: Path = SHARDS
    corpus: Path = CORPUS
    tokenizer: Path = TOKENIZER
    vocabulary: Path = VOCABULARY
    embeddings: Path = EMBEDDINGS
    initial_model: Path = INITIAL_MODEL
    weights: Path = WEIGHTS
    trained: Path = TRAINED
    corpora: tuple[str, ...] = ()
    """Names of the corpora, in order; replayed corpora of an initial model follow without names."""
    tags: tuple[tuple[str, ...], ...] = ()
    """The tags of each corpus, in order; empty if no corpus has a tag."""
    directions: tuple[Languages, ...] = ()
    """The direction of each corpus, in order; empty if the model learns only one."""


def list_directions(inputs: Inputs, split: str) -> list[Languages]:
    """Return the direction of each line of a split; empty if there is only one direction."""
    if not inputs.directions:
        return []
    corpora = files.read_json(inputs.corpus / "corpus.json")["corpora"]
    return [
        direction
        for direction, pairs in zip(inputs.directions, corpora, strict=True)
        for _ in range(pairs[split])
    ]
