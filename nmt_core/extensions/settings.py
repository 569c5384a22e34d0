"""``--set NAME=VALUE``: settings of a command that has too many for options, and their help."""

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic_core import to_json

from nmt_core.base import config
from nmt_core.base.config import Config, list_kinds, read_docstrings
from nmt_core.base.errors import ConfigError

ConfigT = TypeVar("ConfigT", bound=Config)
CommandT = TypeVar("CommandT", bound=Callable[..., None])


def change_settings(default: ConfigT, settings: Sequence[str], *, at: str) -> ConfigT:
    """Return settings that differ from the default by ``name=value``.

    Raises:
        ConfigError: naming what is unknown or of the wrong type.
    """
    changed = merge_settings(default.model_dump(mode="json"), parse_setting(settings))
    return config.build(type(default), changed, at=at)


def parse_setting(settings: Sequence[str]) -> dict[str, Any]:
    """Turn ``model.order=3`` into nested values; a value that is not JSON is a string.

    Raises:
        ConfigError: if a setting has no value, or its place is a value already.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {setting} has no value; write --set name=value")
        *parents, last = name.split(".")
        node = values
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise ConfigError(f"--set {setting} contradicts a setting before it")
        try:
            node[last] = json.loads(value)
        except ValueError:
            node[last] = value
    return values


def merge_settings(default: Any, changes: Any) -> Any:
    """Return settings with some changed; another ``kind`` replaces all settings beside it."""
    if not (isinstance(default, dict) and isinstance(changes, dict)):
        return changes
    if changes.get("kind", default.get("kind")) != default.get("kind"):
        return changes
    return default | {
        name: merge_settings(default.get(name), value) for name, value in changes.items()
    }


def explain_settings(title: str, default: Config) -> Callable[[CommandT], CommandT]:
    """Add settings, with their defaults and docstrings, to the help of a command."""

    def explain(command: CommandT) -> CommandT:
        settings = "\n".join(list_settings(default))
        command.__doc__ = f"{inspect.getdoc(command)}\n\n{title}\n\n{settings}"
        return command

    return explain


def list_settings(default: Config, *, at: str = "", indent: str = "") -> Iterator[str]:
    """Yield a line of Markdown for every setting; settings of a kind are indented below it."""
    docstrings = read_docstrings(type(default))
    for name, field in type(default).model_fields.items():
        value, kinds = getattr(default, name), list_kinds(field)
        if len(kinds) > 1:
            for kind in sorted(kinds, key=lambda kind: type(value) is not kind):
                tag = kind.model_fields["kind"].default
                yield f"{indent}- `{at}{name}.kind={tag}`: {_join(inspect.getdoc(kind))}"
                chosen = value if type(value) is kind else kind()
                yield from list_settings(chosen, at=f"{at}{name}.", indent=f"{indent}  ")
        elif kinds:
            yield from list_settings(value, at=f"{at}{name}.", indent=indent)
        elif name != "kind":
            text = value if isinstance(value, str) else to_json(value).decode()
            choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
            others = " or ".join(f"`{choice}`" for choice in choices if choice != value)
            more = f" Or {others}." if others else ""
            yield f"{indent}- `{at}{name}={text}`: {_join(docstrings[name])}{more}"


def _join(docstring: str | None) -> str:
    return " ".join((docstring or "").split()).replace("``", "`")
