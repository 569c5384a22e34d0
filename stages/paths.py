"""Every path of the project, once, relative to the top of the checkout."""

import os
from pathlib import Path

HOME = Path(os.path.relpath(os.environ.get("DVC_ROOT", ".")))
"""The project itself, also from the temporary folder that DVC runs an experiment in: what outlives
a run, and is no output of DVC, belongs there."""

DOTENV = HOME / ".env"
"""Where the servers are, if there are any."""

PARAMS = Path("params.yaml")
PIPELINE = Path("dvc.yaml")
LOCK = Path("dvc.lock")
CONF = Path("conf")

DOWNLOADS = HOME / "downloads"
"""What was fetched, by content; no output of DVC, so that a broken transfer can be resumed."""

CORPUS = Path("data/corpus")
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
"""What training needs to continue, by fingerprint; no output of DVC, which would delete it."""

METRICS = Path("metrics")
REPORTS = Path("reports")
RUNS = HOME / "runs"
"""Journals of what was sent to MLflow; no output of DVC."""
USAGE = RUNS / "usage"
"""What each stage took when it ran last: time and memory."""
PLAN = RUNS / "plan.json"
"""What a run was predicted to take."""
MLFLOW = HOME / "mlflow.db"
MLFLOW_FILES = HOME / "mlruns"
REGISTRY_LOCK = HOME / "registry.lock"
"""Held by who moves the champion."""

SPLITS = ("train", "validation", "test")
SIDES = ("source", "target")

EXPERIMENT = "nmt"
"""The experiment in MLflow that this project's runs belong to."""
