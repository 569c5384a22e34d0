"""``--set NAME=VALUE``: settings of a command that has too many for options."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from nmt_core.base.errors import ConfigError

if TYPE_CHECKING:
    from nmt_core.base.config import Config

Settings = TypeVar("Settings", bound="Config")


def change_settings(default: Settings, settings: Sequence[str], *, at: str) -> Settings:
    """Return settings with ``name=value`` for all that is not as by default.

    Raises:
        ConfigError: naming what is unknown or of the wrong type.
    """
    from nmt_core.base import config  # noqa: PLC0415 - takes seconds

    changed = merge_settings(default.model_dump(mode="json"), parse_setting(settings))
    return config.build(type(default), changed, at=at)


def parse_setting(settings: Sequence[str]) -> dict[str, Any]:
    """Turn ``model.order=3`` into nested values; what is no JSON is a word.

    Raises:
        ConfigError: if a setting has no value, or its place is a value already.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {setting} has no value; write --set name=value")
        *way, last = name.split(".")
        place = values
        for step in way:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {setting} is at odds with a setting before it")
        try:
            place[last] = json.loads(value)
        except ValueError:
            place[last] = value
    return values


def merge_settings(default: Any, changes: Any) -> Any:
    """Return settings with some changed; those of another kind share nothing with the default."""
    if not (isinstance(default, dict) and isinstance(changes, dict)):
        return changes
    if changes.get("kind", default.get("kind")) != default.get("kind"):
        return changes
    return default | {
        name: merge_settings(default.get(name), value) for name, value in changes.items()
    }
