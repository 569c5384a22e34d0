"""Installed packages, and the commands that install missing ones."""

import json
import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from nmt_core.base.errors import NmtError

DISTRIBUTION = "nmt-pipeline"
"""The name of this project as an installed package."""


def is_installed(module: str) -> bool:
    """Tell whether a module of another project is installed, without importing it."""
    return find_spec(module) is not None


def require(module: str, purpose: str, error: type[NmtError]) -> Any:
    """Import a module of another project; ``purpose`` says what is impossible without it.

    Raises:
        NmtError: with the command that installs it, if it is missing.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise error(
            f"{purpose} without {package}, which is not installed; run: "
            f"{advise_installing(package)}"
        ) from None


def advise_installing(module: str) -> str:
    """Return the command that installs a module of another project, such as ``uvicorn``."""
    return f"{name_program('pip')} install '{_find_origin()}[{_find_extra(module)}]'"


def name_program(name: str) -> str:
    """Return a program of this environment as a person types it here: ``.venv/bin/dvc``."""
    if sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV")):
        return name
    return _shorten(Path(sys.prefix, "bin", name))


def read_version() -> str | None:
    """Return the version of this project, or None where it is not installed."""
    from importlib import metadata  # slow, and seldom needed

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def _shorten(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _find_origin() -> str:
    """Return where this project was installed from: a folder or file, or the name in an index."""
    from importlib import metadata  # slow, and seldom needed

    try:
        origin = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # the code lies in a folder, as in an image
        return _shorten(Path(__file__).parents[2])
    if origin is None:
        return DISTRIBUTION
    url = json.loads(origin)["url"]
    parts = urlsplit(url)
    return _shorten(Path(unquote(parts.path))) if parts.scheme == "file" else url


def _find_extra(module: str) -> str:
    """Return the first extra that asks for a module; ``train`` if none does."""
    from importlib import metadata  # slow, and seldom needed

    requirements: list[str] = []
    with suppress(metadata.PackageNotFoundError):  # the code lies in a folder, as in an image
        requirements = metadata.requires(DISTRIBUTION) or []
    pattern = rf"(?i){module.replace('_', '-')}\b.*extra == .([\w-]+)"  # markdown-it[-py]
    extras = (match[1] for line in requirements if (match := re.match(pattern, line)))
    return next(extras, "train")
