"""Every path of the project, once, relative to the top of the checkout."""

import os
from dataclasses import dataclass
from pathlib import Path

HOME = Path(os.path.relpath(os.environ.get("DVC_ROOT", ".")))
"""The project itself, even from the temporary folder of an experiment of DVC: files that outlive a
run, and are no outputs of DVC, belong there."""

DOTENV = HOME / ".env"
"""Where the servers are, if there are any."""

PARAMS = Path("params.yaml")
PIPELINE = Path("dvc.yaml")
LOCK = Path("dvc.lock")
CODE = Path("code")
"""The digests of the code that each stage runs."""
SETTINGS = Path("code/settings.json")
"""All settings, as DVC compares them."""
CONF = Path("conf")

DOWNLOADS = HOME / "downloads"
"""Fetched files, by content; no output of DVC, so that a broken transfer can be resumed."""

CORPUS = Path("data/corpus")
WEIGHTS = Path("data/weights.json")
"""Of the corpora, in order: not among the text, which weights do not change."""
MONOLINGUAL = Path("data/monolingual")
"""Text of one language alone, in a file that is named after it."""
TAGS = Path("data/tags.json")
"""Likewise; empty for a corpus without."""
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
"""Checkpoints by fingerprint; no output of DVC, which would delete them."""

METRICS = Path("metrics")
"""The few numbers that experiments are compared by; reports hold all measurements."""
REPORTS = Path("reports")
CORRECTIONS = HOME / "corrections.jsonl"
"""The journal of what users corrected; no output of DVC, for nothing makes it anew."""

RUNS = HOME / "runs"
"""Journals of runs, which MLflow is fed from; no output of DVC."""
PINNED = RUNS / "pinned.json"
"""Budgets of tokens that a time was worth on this machine, by settings."""
MLFLOW = HOME / "mlflow.db"
MLFLOW_FILES = HOME / "mlruns"
REGISTRY_LOCK = HOME / "registry.lock"
"""Locked while the champion is moved."""

SPLITS = ("train", "validation", "test")
SIDES = ("source", "target")

EXPERIMENT = "nmt"
"""The experiment in MLflow that this project's runs belong to."""


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
    """Names of the corpora, in order; those of an initial model, behind them, have none."""
    tags: tuple[str, ...] = ()
    """Of all corpora, empty for one without; none at all if no corpus has any."""
