"""Names, settings and datasets of trainings, for people to read."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import yaml

from nmt_core.base import files
from nmt_core.corpora.fetch.address import redact_url
from nmt_core.training.settings import Budget
from stages import paths
from stages.configure.sections import read_settings
from stages.params import SECTIONS, DownloadParams, TrainParams, load
from stages.runtime.git import short_commit
from stages.tracking.journal import PARENT

DVC_EXPERIMENT = "DVC_EXP_NAME"
"""Environment variable that ``dvc exp run`` sets: the name of the experiment."""

COMPARISON_VARIABLE = "NMT_COMPARISON"
"""Environment variable of a comparison's experiments: its fingerprint."""

UP_TO_TRAINING = tuple(takewhile(lambda name: name != "evaluate", SECTIONS))
"""Sections of params.yaml that decide a trained model."""

CONTEXTS = {"train": "training", "validation": "validation", "test": "evaluation"}
"""MLflow's terms for the use of a split."""


@dataclass(frozen=True)
class Dataset:
    """The text of a split."""

    name: str
    digest: str
    """Two runs that show the same were given the same lines in the same order."""
    context: str
    source_type: str
    source: dict[str, Any]
    """Where it came from, as MLflow writes it for a source of that type."""
    columns: tuple[str, str]
    pairs: int


def describe_run(params: TrainParams) -> dict[str, str]:
    """Return the tags of a training's run: its name and languages."""
    languages = load(DownloadParams, "download").languages
    pair = f"{languages.source}-{languages.target}"
    what = [
        f"{pair} {params.model.architecture}",
        f"{describe_dataset('train').pairs:,} pairs",
        *_limits(params.budget),
        f"seed {params.seed}",
        short_commit(),
    ]
    comparison = os.environ.get(COMPARISON_VARIABLE)
    return {
        "languages": pair,
        "mlflow.runName": os.environ.get(DVC_EXPERIMENT) or ", ".join(filter(None, what)),
        **({PARENT: comparison} if comparison else {}),
        "mlflow.source.name": "stages.train",
        "mlflow.source.type": "LOCAL",
    }


def _limits(budget: Budget) -> Iterator[str]:
    for unit, limit in budget.model_dump().items():
        if limit is not None:
            yield f"{limit:,} {unit}"


def read_public_settings(*sections: str) -> dict[str, object]:
    """Return sections of params.yaml under dotted names, without secrets in addresses."""
    document = _public(read_settings())
    return dict(_flat({section: document[section] for section in sections}))


def read_public_params() -> str:
    """Return params.yaml without comments and without secrets in addresses."""
    document = _public(read_settings())
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _public(value: Any) -> Any:
    match value:
        case dict():
            return {name: _public(inner) for name, inner in value.items()}
        case list():
            return [_public(inner) for inner in value]
        case str() if value.startswith(("http://", "https://")) and {"@", "?"} & {*value}:
            return redact_url(value)
    return value


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def describe_dataset(split: str) -> Dataset:
    """Describe the text of a split."""
    download = load(DownloadParams, "download")
    facts = files.read_json(paths.CORPUS / "corpus.json")
    source, target = (facts["languages"][side] for side in paths.SIDES)
    digests = "".join(facts["sha256"][f"{split}.{side}"] for side in paths.SIDES)
    origin = next(iter(download.parallel.values())).origin(split, download.languages)
    sources: dict[str, dict[str, Any]] = {
        "code": {"tags": {"mlflow.source.name": origin.place}},
        "http": {"url": origin.place},
        "local": {"uri": origin.place},
    }
    return Dataset(
        name=f"{', '.join(download.parallel)} {source}-{target}",
        digest=hashlib.sha256(digests.encode()).hexdigest()[:16],
        context=CONTEXTS[split],
        source_type=origin.kind,
        source=sources[origin.kind],
        columns=(source, target),
        pairs=facts["pairs"][split],
    )
