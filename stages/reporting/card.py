"""The model card: description, origin and scores of a model.

It begins with the metadata that Hugging Face reads (https://huggingface.co/docs/hub/model-cards).
"""

import platform
import re
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

from nmt_core.base.packages import DISTRIBUTION
from nmt_core.evaluation.registered import find_label
from nmt_core.translation.confidence import FEWEST_UNKNOWN
from stages.params import DownloadParams
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import Evaluation
from stages.reporting.pages import render_template, write_scores


class StageResults(NamedTuple):
    """Results of the stages that the card describes."""

    report: DownloadReport
    shards: Mapping[str, int]
    """Pairs to train and to validate, as the shard stage counts them."""
    evaluation: Evaluation
    exported: Mapping[str, Any] = MappingProxyType({})
    """Reports of the exported ``engines``, and the number of ``glossary_terms``."""


def render_card(
    download: DownloadParams,
    record: Mapping[str, Any],
    results: StageResults,
    *,
    commit: str,
    date: str,
    packages: str,
    extras: str = "serve",
) -> str:
    """Return the card in Markdown; it does not depend on the time or place of writing.

    Args:
        download: settings of the text.
        record: ``training.json``.
        results: results of the stages.
        commit: the code of the model.
        date: of that commit.
        packages: the most important ones and their versions.
        extras: of the distribution, to install for translating with the model.
    """
    report, evaluation, exported = results.report, results.evaluation, results.exported
    initial = record.get("initial_model", {})
    return render_template(
        "card.md",
        fewest_unknown=FEWEST_UNKNOWN,
        metadata=_write_metadata(download, record, report, evaluation),
        source=download.languages.source,
        target=download.languages.target,
        record=record,
        report=report,
        shards=results.shards,
        evaluation=evaluation,
        epochs=describe_epochs(record["epochs"]),
        initial_models={"": initial} if "bundle_sha256" in initial else initial,
        tags=sorted({corpus.tag for corpus in report.corpora.values()} - {""}),
        glossary_terms=exported.get("glossary_terms", 0),
        near=describe_near(download, report, evaluation),
        commit=commit,
        date=date,
        packages=packages,
        extras=extras,
    )


def describe_epochs(number: int) -> str:
    """Describe the number of epochs."""
    if number == 0:
        return "less than an epoch"
    return "1 epoch" if number == 1 else f"{number} epochs"


def describe_novel(evaluation: Evaluation) -> str:
    """Describe the scores of test sentences near no training sentence; empty without any."""
    if (novel := evaluation.novel) is None:
        return ""
    sentences = f"{novel.sentences:,} test sentences"
    return f"{write_scores(novel.scores)} on the {sentences} that are near no training sentence"


def describe_near(download: DownloadParams, report: DownloadReport, evaluation: Evaluation) -> str:
    """Describe near duplicates of the test set in train, and the scores without them."""
    if report.near_duplicates is None:
        return "not searched for"
    removed = "removed from train" if download.near_duplicates.remove else "left in train"
    found = (
        f"{report.near_duplicates.pairs:,} pairs, of which a side differs from one of test or "
        f"validation in at most {download.near_duplicates.distance:.0%} of its words, were "
        f"{removed}"
    )
    return "; ".join(filter(None, [found, describe_novel(evaluation)]))


def _write_metadata(
    download: DownloadParams,
    record: Mapping[str, Any],
    report: DownloadReport,
    evaluation: Evaluation,
) -> str:
    assert report.corpus is not None
    languages, corpus = download.languages, report.corpus
    pair = f"{languages.source}-{languages.target}"
    result = {
        "task": {"type": "translation", "name": f"Translation {pair}"},
        "dataset": {
            "type": corpus.name.split()[0],
            "name": f"{corpus.name} {pair}",
            "split": "test",
        },
        "metrics": [
            {
                "type": name,
                "name": find_label(name),
                "value": round(score.value, 2),
                "args": score.signature,
            }
            for name, score in evaluation.scores.items()
        ],
    }
    values = {
        "language": [*languages.codes],
        **corpus.licence,
        "pipeline_tag": "translation",
        "tags": ["translation", record["params"]["model"]["architecture"]],
        "metrics": [*evaluation.scores],
        "model-index": [{"name": f"nmt-{pair}", "results": [result]}],
    }
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)


def list_materials(*, model: str, version: str) -> dict[str, Any]:
    """Return the packages of this environment as CycloneDX.

    Args:
        model: the name of the model.
        version: its version.
    """
    installed = {normalize_name(each.name): each for each in reversed([*distributions()])}
    installed.pop(DISTRIBUTION, None)
    python = {
        "type": "platform",
        "name": platform.python_implementation(),
        "version": platform.python_version(),
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "machine-learning-model", "name": model, "version": version}
        },
        "components": [python, *(_component(name, installed[name]) for name in sorted(installed))],
    }


def normalize_name(name: str) -> str:
    """Return the name of a package as PyPI compares names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _component(name: str, package: Distribution) -> dict[str, Any]:
    version = package.version
    purl = f"pkg:pypi/{name}@{quote(version, safe='')}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": _licences(package),
        "purl": purl,
    }


def _licences(package: Distribution) -> list[dict[str, Any]]:
    """Return the licence in the package's metadata: an SPDX expression, or names."""
    known = package.metadata.json
    if expression := known.get("license_expression"):
        return [{"expression": expression}]
    named = [line for line in known.get("classifier", ()) if line.startswith("License ::")]
    names = {line.split(" :: ")[-1] for line in named} - {"OSI Approved"}
    if not names and (text := str(known.get("license", "")).strip()):
        names = {text.splitlines()[0]}
    return [{"license": {"name": name}} for name in sorted(names)]
