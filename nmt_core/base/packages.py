"""What is installed, and which extra of this project brings what is not."""

import re
from importlib.util import find_spec

DISTRIBUTION = "nmt-pipeline"
"""What this project is called where packages are installed."""

EXTRAS = ("translate", "onnx", "docx", "serve", "cluster", "train")
"""The extras that bring what the program imports, the smallest first."""


def is_installed(module: str) -> bool:
    """Tell whether a module of another project is there, without importing it."""
    return find_spec(module) is not None


def advise_installing(module: str) -> str:
    """Return what to type to get a module of another project, such as ``uvicorn``."""
    return f"pip install '{DISTRIBUTION}[{_find_extra(module)}]'"


def read_version() -> str | None:
    """Return the version of this project, or None where it is not installed."""
    from importlib import metadata  # noqa: PLC0415 - slow, and seldom needed

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def _find_extra(module: str) -> str:
    """Return the smallest extra that names a module; the largest one if none does."""
    from importlib import metadata  # noqa: PLC0415 - slow, and seldom needed

    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # the code lies in a folder, as in an image
        requirements = []
    name = re.compile(rf"{module.replace('_', '-')}\b", re.IGNORECASE)  # markdown-it[-py]
    asked = [one for one in requirements if name.match(one)]
    named = {extra for extra in EXTRAS for one in asked if re.search(f"extra == .{extra}\\b", one)}
    return next((extra for extra in EXTRAS if extra in named), EXTRAS[-1])
