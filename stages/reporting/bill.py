"""The software bill of materials: packages, versions and licences that made a model.

Its form is CycloneDX 1.6, as scanners for vulnerabilities and licences read it. It holds neither
serial number nor time, so that the same packages give the same bytes.
"""

import platform
from collections.abc import Iterable
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from typing import Any, NamedTuple
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LIBRARIES = (
    "ahocorasick-rs",
    "babel",
    "backports-zstd",
    "ctranslate2",
    "fasttext-numpy2",
    "httpx2",
    "jaxtyping",
    "lxml",
    "matplotlib",
    "numpy",
    "py3langid",
    "pydantic",
    "rapidfuzz",
    "regex",
    "rich",
    "sacrebleu",
    "safetensors",
    "scipy",
    "sentencepiece",
    "sentencex",
    "spacy",
    "tenacity",
    "torch",
    "typing-extensions",
    "unicode-rbnf",
)
"""Packages imported to make a model; together with their requirements they decide its bytes."""


def list_materials(*, model: str, version: str) -> dict[str, Any]:
    """Return the packages of this environment that make and run a model, as CycloneDX.

    Args:
        model: the name of the model.
        version: its version.
    """
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
        "components": [python, *map(_component, resolve_requirements(LIBRARIES))],
    }


class Package(NamedTuple):
    """An installed package."""

    name: str
    """Canonical."""
    metadata: PackageMetadata
    """Read once, as it is parsed at each access to that of a ``Distribution``."""


def resolve_requirements(names: Iterable[str]) -> list[Package]:
    """Return the installed packages of these names and all that they need, by name."""
    distributions: dict[str, Package] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(name), "") for name in names]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if name not in distributions:
            try:
                distributions[name] = Package(name, metadata(name))
            except PackageNotFoundError:  # an extra that is not installed, or built into another
                continue
        needs = distributions[name].metadata.get_all("Requires-Dist") or []
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(need.name), wanted) for wanted in ("", *need.extras)]
    return [distributions[name] for name in sorted(distributions)]


def _component(package: Package) -> dict[str, Any]:
    name, version = package.name, package.metadata["Version"]
    purl = f"pkg:pypi/{name}@{quote(version, safe='')}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": _licences(package),
        "purl": purl,
    }


def _licences(package: Package) -> list[dict[str, Any]]:
    """Return the licence in the package's metadata: an SPDX expression, or names."""
    known = package.metadata.json
    if expression := known.get("license_expression"):
        return [{"expression": expression}]
    named = [line for line in known.get("classifier", ()) if line.startswith("License ::")]
    names = {line.split(" :: ")[-1] for line in named} - {"OSI Approved"}
    if not names and (text := str(known.get("license", "")).strip()):
        names = {text.splitlines()[0]}
    return [{"license": {"name": name}} for name in sorted(names)]
