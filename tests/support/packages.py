"""Packages of third parties, installed for a test: a module, and its entry points."""

import re
import sys
from inspect import cleandoc
from itertools import count
from textwrap import dedent

_numbers = count()


def example_of(kind):
    """Return the code in a docstring."""
    text = cleandoc(kind.__doc__)
    return dedent(re.search(r"::\n\n((?:    .*\n|\n)+)", f"{text}\n")[1])


def install(folder, monkeypatch, code, *, name=None, **points):
    """Install a module with entry points, and return its name.

    Args: folder: folder of the package. monkeypatch: uninstalls it after the test. code: code of
    the module. name: name of the module; None for a unique one. points: names in the module, by
    group without ``nmt.``: ``metrics={"ter": "Ter"}``.
    """
    name = name or f"their_package_{next(_numbers)}"
    place = folder / name
    place.mkdir()
    (place / f"{name}.py").write_text(dedent(code), encoding="utf-8")
    described = place / f"{name}-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, things in points.items()
        for line in (
            f"[nmt.{group}]",
            *(f"{called} = {name}:{thing}" for called, thing in things.items()),
        )
    ]
    (described / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name
