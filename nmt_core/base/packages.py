"""Installed packages, and the extras of this project that bring missing ones."""

import re
from importlib import import_module
from importlib.util import find_spec

DISTRIBUTION = "nmt-pipeline"
"""The name of this project as an installed package."""

EXTRAS = ("translate", "onnx", "glossary", "memory", "docx", "formats", "serve", "cluster", "train")
"""The extras that bring imported packages, the smallest first."""


def is_installed(module: str) -> bool:
    """Tell whether a module of another project is installed, without importing it."""
    return find_spec(module) is not None


def advise_installing(module: str) -> str:
    """Return the command that installs a module of another project, such as ``uvicorn``."""
    return f"pip install '{DISTRIBUTION}[{_find_extra(module)}]'"


def read_version() -> str | None:
    """Return the version of this project, or None where it is not installed."""
    metadata = import_module("importlib.metadata")  # slow, and seldom needed
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def _find_extra(module: str) -> str:
    """Return the smallest extra that names a module; the largest one if none does."""
    metadata = import_module("importlib.metadata")  # slow, and seldom needed
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # the code lies in a folder, as in an image
        requirements = []
    name = re.compile(rf"{module.replace('_', '-')}\b", re.IGNORECASE)  # markdown-it[-py]
    asked = [line for line in requirements if name.match(line)]
    named = {
        extra for extra in EXTRAS for line in asked if re.search(f"extra == .{extra}\\b", line)
    }
    return next((extra for extra in EXTRAS if extra in named), EXTRAS[-1])
