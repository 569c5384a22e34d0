"""The model card: description, origin and scores of a model.

It begins with the metadata that Hugging Face reads (https://huggingface.co/docs/hub/model-cards).
"""

import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageMetadata, distributions
from itertools import chain
from typing import Any
from urllib.parse import quote

import yaml

from nmt_core.base.packages import DISTRIBUTION
from nmt_core.translation.confidence import MIN_UNKNOWN_SENTENCES
from stages.params import DownloadParams
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import name_pair, render_template


def render_card(
    download: DownloadParams,
    report: DownloadReport,
    record: Mapping[str, Any],
    evaluation: Evaluation,
    *,
    shards: Mapping[str, int],
    made: Mapping[str, Any],
) -> str:
    """Return the card in Markdown; it does not depend on the time or machine.

    ``record`` is ``training.json``, and ``shards`` has the numbers of training and validation
    pairs. ``made`` has the ``commit`` of the code and its ``date``, the number of
    ``glossary_terms``, and the ``extras`` that serving the model requires.
    """
    initial = record.get("initial_model", {})
    assert report.corpus is not None
    metadata = {
        "language": [*dict.fromkeys(chain.from_iterable(d.codes for d in download.learned))],
        **report.corpus.licence,
        "pipeline_tag": "translation",
        "tags": ["translation", record["params"]["model"]["architecture"]],
        "metrics": [*evaluation.scores],
    }
    return render_template(
        "card.md",
        fewest_unknown=MIN_UNKNOWN_SENTENCES,
        metadata=yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=1000),
        title=", ".join(evaluation.directions) or name_pair(download.languages),
        record=record,
        report=report,
        shards=shards,
        evaluation=evaluation,
        initial_models={"": initial} if "bundle_sha256" in initial else initial,
        tags=sorted({corpus.tag for corpus in report.corpora.values()} - {""}),
        near_duplicates=download.near_duplicates,
        **made,
    )


def list_materials(*, model: str, version: str) -> dict[str, Any]:
    """Return a software bill of materials as CycloneDX: the packages of this environment."""
    every = reversed([package.metadata for package in distributions()])
    installed = {re.sub(r"[-_.]+", "-", each["Name"]).lower(): each for each in every}  # PEP 503
    installed.pop(DISTRIBUTION, None)
    python = {
        "type": "platform",
        "name": platform.python_implementation(),
        "version": platform.python_version(),
    }
    components = []
    for name, metadata in sorted(installed.items()):
        purl = f"pkg:pypi/{name}@{quote(metadata['Version'], safe='')}"
        library = {"type": "library", "name": name, "version": metadata["Version"], "purl": purl}
        components.append(library | {"bom-ref": purl, "licenses": _licences(metadata)})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "machine-learning-model", "name": model, "version": version}
        },
        "components": [python, *components],
    }


def _licences(package: PackageMetadata) -> list[dict[str, Any]]:
    """Return the licence in a package's metadata: an SPDX expression, or names."""
    metadata = package.json
    if expression := metadata.get("license_expression"):
        return [{"expression": expression}]
    classifiers = [line for line in metadata.get("classifier", ()) if line.startswith("License ::")]
    names = {line.split(" :: ")[-1] for line in classifiers} - {"OSI Approved"}
    if not names and (text := str(metadata.get("license", "")).strip()):
        names = {text.splitlines()[0]}
    return [{"license": {"name": name}} for name in sorted(names)]
