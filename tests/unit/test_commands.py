"""Commands in messages and guides: each works as typed."""

import ast
import re

import pytest

from tests.support.projects import PROJECT

MAKEFILE = (PROJECT / "Makefile").read_text()
GUIDES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/your-text.md", "docs/integrate.md")
GUIDES += ("docs/operations.md", "docs/troubleshooting.md")
PACKAGES = ("flows", "infra", "nmt_core", "stages")

MAKE = re.compile(r"(?:^|: |`|\brun )make ([a-z-]+)((?: [A-Z_]+=[^\s,;:)`]*)*)", re.MULTILINE)
BARE = re.compile(r"(?<!Usage)(?<!written by): (?:python|dvc|pip|prefect|mlflow) [a-z-]")
"""A program of the virtual environment in a message, without its path."""
MODULE = re.compile(r"(?<![\w/])python -m (?:stages|flows|infra)")


def list_unknown(text):
    """Return commands of make that do not exist, and variables that they refuse."""
    unknown = []
    for target, given in MAKE.findall(text):
        [menu] = re.findall(rf"^{target}:(.*)", MAKEFILE, re.MULTILINE)[:1] or [None]
        names = {name.strip() for name in re.findall(r" [A-Z_]+=", given)}
        if menu is None or not all(name in menu for name in names - {"TORCH="}):
            unknown.append(f"make {target}{given}")
    return unknown


def read_messages():
    """Yield place and text of each string of the programs except docstrings."""
    for path in (path for name in PACKAGES for path in (PROJECT / name).rglob("*.py")):
        tree = ast.parse(path.read_text())
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in alone:
                parts = node.values if isinstance(node, ast.JoinedStr) else [node]
                texts = [part.value if isinstance(part, ast.Constant) else "X" for part in parts]
                yield f"{path.relative_to(PROJECT)}:{node.lineno}", "".join(map(str, texts))


def test_messages_name_commands_that_work():
    messages = [*read_messages()]

    assert len(messages) > 3000
    assert [] == [(place, text) for place, text in messages if list_unknown(text)]
    assert [] == [(place, text) for place, text in messages if BARE.search(text)]


@pytest.mark.parametrize("name", GUIDES)
def test_guides_name_commands_that_work(name):
    text = (PROJECT / name).read_text()

    assert [] == list_unknown(text)
    assert not MODULE.search(text)
