"""The software bill of materials: packages of the environment that made a model.

Its form is CycloneDX 1.6, as scanners for vulnerabilities and licences read it. It holds neither
serial number nor time, so that the same packages give the same bytes.
"""

import platform
import re
from importlib.metadata import Distribution, distributions
from typing import Any
from urllib.parse import quote

from nmt_core.base.packages import DISTRIBUTION


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
