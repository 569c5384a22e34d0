"""Find installed packages, and the commands that install missing ones."""

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
    """Return whether a third-party module is installed, without importing it."""
    return find_spec(module) is not None


def import_optional(module: str, consequence: str, error: type[NmtError]) -> Any:
    """Return a third-party module; ``consequence`` says what is impossible without it.

    Raises:
        NmtError: if the module is missing, with the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise error(
            f"{consequence} without {package}, which is not installed; run: "
            f"{format_install_command(package)}"
        ) from None


def format_install_command(module: str) -> str:
    """Return the command that installs a third-party module, such as ``uvicorn``."""
    return f"{name_program('pip')} install '{_find_origin()}[{_find_extra(module)}]'"


def name_program(name: str) -> str:
    """Return the shortest path to run a program of this environment, such as ``.venv/bin/dvc``."""
    if sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV")):
        return name
    return _shorten(Path(sys.prefix, "bin", name))


def read_version() -> str | None:
    """Return the version of this project, or None if it is not installed."""
    from importlib import metadata  # slow, and seldom needed

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def _shorten(path: Path) -> str:
    cwd = Path.cwd()
    return str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)


def _find_origin() -> str:
    """Return the origin of this installation for pip: a folder, file, URL or package name."""
    from importlib import metadata  # slow, and seldom needed

    try:
        origin = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # not installed: only the folder exists, as in an image
        return _shorten(Path(__file__).parents[2])
    if origin is None:
        return DISTRIBUTION
    url = json.loads(origin)["url"]
    parts = urlsplit(url)
    return _shorten(Path(unquote(parts.path))) if parts.scheme == "file" else url


def _find_extra(module: str) -> str:
    """Return the first extra of this project that requires a module, or else ``train``."""
    from importlib import metadata  # slow, and seldom needed

    requirements: list[str] = []
    with suppress(metadata.PackageNotFoundError):  # not installed: only the folder exists
        requirements = metadata.requires(DISTRIBUTION) or []
    pattern = rf"(?i){module.replace('_', '-')}\b.*extra == .([\w-]+)"  # markdown-it[-py]
    extras = (match[1] for line in requirements if (match := re.match(pattern, line)))
    return next(extras, "train")
