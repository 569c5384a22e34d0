"""The software bill of materials, judged by the makers of its form."""

import ast
import functools
import json
import sys
from email.message import Message
from importlib.metadata import distribution

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from stages.reporting.bill import LIBRARIES, list_materials, resolve_requirements
from tests.support.projects import PROJECT

LIBRARY = PROJECT / "nmt_core"
OPTIONAL = {"distributed"}
OTHERWISE = {
    "backports": "backports-zstd",
    "fasttext": "fasttext-numpy2",
    "pydantic_core": "pydantic",
}
"""Modules that their package does not have its name from."""


@functools.cache
def bill():
    return list_materials(model="nmt-de-en", version="0123")


SERVING = {"cli", "documents", "server"}
"""Rooms that decide no byte of a model: they bring text to it, as commands do."""


def imported():
    for path in LIBRARY.rglob("*.py"):
        if path.relative_to(LIBRARY).parts[0] in SERVING or path.name == "commands.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (name.name.split(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0]


def test_a_bill_is_cyclonedx():
    validator = JsonStrictValidator(SchemaVersion.V1_6)

    assert validator.validate_str(json.dumps(bill())) is None
    assert validator.validate_str(json.dumps(bill() | {"serialNumber": 3})) is not None


def test_a_bill_says_what_is_installed():
    components = {component["name"]: component for component in bill()["components"]}
    torch = components["torch"]

    assert torch["version"] == distribution("torch").version
    assert torch["purl"] == f"pkg:pypi/torch@{torch['version'].replace('+', '%2B')}"
    assert "BSD-3-Clause" in torch["licenses"][0]["expression"]
    assert [{"license": {"name": "MIT License"}}] == components["spacy"]["licenses"]
    assert components["CPython"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert {"nmt-de-en", "0123"} <= set(bill()["metadata"]["component"].values())


def test_every_package_has_a_licence():
    unknown = [one["name"] for one in bill()["components"][1:] if not one["licenses"]]

    assert [] == unknown


def test_a_bill_depends_on_the_packages_alone():
    again = list_materials(model="nmt-de-en", version="0123")

    assert json.dumps(bill()) == json.dumps(again)
    names = [component["name"] for component in bill()["components"][1:]]
    assert sorted(set(names)) == names


def test_all_that_the_library_imports_is_on_the_bill():
    third_parties = set(imported()) - set(sys.stdlib_module_names)
    third_parties -= {"nmt_core", "compression"}  # the latter comes with Python 3.14
    packages = {OTHERWISE.get(module, module.replace("_", "-")) for module in third_parties}

    assert set(LIBRARIES) == packages - OPTIONAL


def test_what_a_package_needs_is_on_the_bill_too():
    """Jinja2 is needed by spaCy and torch, MarkupSafe by Jinja2, pytest by none of them."""
    names = {package.name.lower() for package in resolve_requirements(["torch"])}

    assert {"torch", "jinja2", "markupsafe", "sympy", "mpmath"} <= names
    assert not {"pytest", "spacy", "nmt"} & names


def test_packages_that_need_each_other_are_listed_once(monkeypatch):
    def find(name):
        found = Message()
        found["Requires-Dist"] = {"a": "b", "b": "a"}[name]
        return found

    monkeypatch.setattr("stages.reporting.bill.metadata", find)
    assert [package.name for package in resolve_requirements(["a"])] == ["a", "b"]


def test_what_an_extra_brings_is_on_the_bill_too():
    """Prefect asks for httpx with its second version of HTTP, the library for httpx alone."""
    assert "h2" in {package.name for package in resolve_requirements(["prefect"])}
    assert "h2" not in {package.name for package in resolve_requirements(["httpx"])}


def test_what_is_not_installed_or_named_twice_adds_nothing_and_ends_nothing():
    names = ["numpy", "jinja2", "no-such-package-of-ours", "jinja2"]

    assert ["jinja2", "markupsafe", "numpy"] == [
        package.name.lower() for package in resolve_requirements(names)
    ]
