"""Load packages that read formats and may be missing."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from nmt_core.base.errors import CorpusError
from nmt_core.base.packages import advise_installing


def require_package(name: str, path: Path) -> ModuleType:
    """Import a package that reads a file.

    Raises:
        CorpusError: with the command that installs it, if it is missing.
    """
    try:
        return import_module(name)
    except ImportError:
        command = advise_installing(name)
        raise CorpusError(f"{path} cannot be read without {name}; run: {command}") from None
