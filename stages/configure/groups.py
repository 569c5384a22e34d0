"""Groups of conf/ and changes of settings, read by Hydra, whose import takes half a second."""

import copy
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from nmt_core.base.errors import ConfigError
from nmt_core.corpora.fetch.address import redact

QUOTED = """and what is not of letters, digits and ./:_- in quotes within quotes: "a.b='c (1)'\""""
"""Advice on values of which Hydra, or the shell before it, reads a sign in its own way."""


def apply_overrides(values: dict[str, Any], settings: list[str]) -> dict[str, Any]:
    """Return values with some set (``a.b=1``), added (``+a.b=1``) or removed (``~a.b``).

    Raises:
        ConfigError: if a setting cannot be understood.
    """
    fresh = copy.deepcopy(values)
    try:
        overrides = OverridesParser.create().parse_overrides(settings)
    except HydraException as error:
        reason = redact(str(error)).split("\n")[0]
        raise ConfigError(f"{reason}; write settings as section.key=value, {QUOTED}") from None
    named = set[str]()
    for override in overrides:
        if override.is_sweep_override():
            raise ConfigError(
                f"{override.input_line} is several values; write a list as "
                f"{override.key_or_group}=[a,b], {QUOTED}"
            )
        *parents, last = override.key_or_group.split(".")
        if parents == ["download", "corpora"]:
            if last in named:  # or the first of them would vanish
                raise ConfigError(
                    f"{override.key_or_group} is set twice; give one of the two another name"
                )
            named.add(last)
        node = fresh
        for name in parents:
            inner = node.get(name)
            node[name] = node = inner if isinstance(inner, dict) else {}
        if override.is_delete():
            node.pop(last, None)
        else:
            node[last] = override.value()
    return fresh


def compose_config(overrides: list[str], conf: Path) -> dict[str, Any]:
    """Compose the groups in a folder.

    Raises:
        ConfigError: if a group or an override is unknown.
    """
    try:
        with initialize_config_dir(str(conf.resolve()), version_base=None):
            composition = compose("config", overrides=overrides)
        values = OmegaConf.to_container(composition, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        groups = ", ".join(
            f"{folder.name}={'|'.join(sorted(file.stem for file in folder.glob('*.yaml')))}"
            for folder in sorted(conf.iterdir())
            if folder.is_dir()
        )
        reason = " ".join(redact(str(error)).split("\n")[0].split()).rstrip(".")
        raise ConfigError(f"conf/: {reason}; groups are {groups}") from None
    assert isinstance(values, dict)
    return {str(name): value for name, value in values.items()}
