"""The software bill of materials."""

import functools
import json
import sys
from importlib.metadata import distribution

from stages.reporting.card import list_materials


@functools.cache
def bill():
    return list_materials(model="nmt-de-en", version="0123")


def test_bill_is_reproducible_cyclonedx():
    assert ("CycloneDX", "1.6", 1) == tuple(
        bill()[key] for key in ("bomFormat", "specVersion", "version")
    )
    assert json.dumps(bill()) == json.dumps(list_materials(model="nmt-de-en", version="0123"))


def test_bill_lists_installed_packages_once():
    python, *libraries = bill()["components"]
    names = [component["name"] for component in libraries]
    torch = libraries[names.index("torch")]

    assert python["version"] == ".".join(map(str, sys.version_info[:3]))
    assert torch["version"] == distribution("torch").version
    assert torch["purl"] == f"pkg:pypi/torch@{torch['version'].replace('+', '%2B')}"
    assert "BSD-3-Clause" in torch["licenses"][0]["expression"]
    assert libraries[names.index("spacy")]["licenses"] == [{"license": {"name": "MIT License"}}]
    assert names == sorted({*names})
    assert "nmt-pipeline" not in names
    assert {"nmt-de-en", "0123"} <= set(bill()["metadata"]["component"].values())
