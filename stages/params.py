"""The sections of params.yaml as types, one per stage, each composed of the library's own."""

from pathlib import Path
from typing import Any, TypeVar

import yaml

from nmt_core import config
from nmt_core.config import Config
from nmt_core.errors import ConfigError
from stages import paths

SECTIONS: dict[str, type[Config]] = {}
"""The type of every section, in the order of the stages."""

Section = TypeVar("Section", bound=Config)


def load(kind: type[Section], section: str, *, path: Path = paths.PARAMS) -> Section:
    """Read one section of params.yaml.

    Raises:
        ConfigError: if the section is missing or holds anything that ``kind`` does not allow.
    """
    document = read(path)
    if section not in document:
        raise ConfigError(f"{path}: section {section!r} is missing")
    return build(kind, document[section], at=section, path=path)


def check_all(*, path: Path = paths.PARAMS) -> dict[str, Config]:
    """Build every section, so that a typo costs a second and not a night.

    Raises:
        ConfigError: naming every wrong key of the whole file.
    """
    document = read(path)
    problems = [
        f"{path}: {name} is not a section; known: {', '.join(SECTIONS)}"
        for name in document
        if name not in SECTIONS
    ]
    sections: dict[str, Config] = {}
    for name, kind in SECTIONS.items():
        try:
            sections[name] = load(kind, name, path=path)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return sections


def build(kind: type[Section], values: Any, *, at: str, path: Path) -> Section:
    """Build one section, with the file's name before each problem."""
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: {at} must be a mapping, got {values!r}")
    try:
        return config.build(kind, values, at=at)
    except ConfigError as error:
        raise ConfigError("\n".join(f"{path}: {line}" for line in str(error).split("\n"))) from None


def read(path: Path) -> dict[str, Any]:
    """Read a parameter file without interpreting it."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; run from the top of the project") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must hold one mapping per stage, got {type(document).__name__}")
    return document
