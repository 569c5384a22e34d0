"""``--set NAME=VALUE``: settings of a command that has too many for options, and their help."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic_core import to_json

from nmt_core.base import config
from nmt_core.base.config import Config, list_kinds, read_docstrings
from nmt_core.base.errors import ConfigError

ConfigT = TypeVar("ConfigT", bound=Config)
CommandT = TypeVar("CommandT", bound=Callable[..., None])


def change_settings(default: ConfigT, settings: Sequence[str], *, at: str) -> ConfigT:
    """Return settings with ``name=value`` for all that is not as by default.

    Raises:
        ConfigError: naming what is unknown or of the wrong type.
    """
    changed = merge_settings(default.model_dump(mode="json"), parse_setting(settings))
    return config.build(type(default), changed, at=at)


def parse_setting(settings: Sequence[str]) -> dict[str, Any]:
    """Turn ``model.order=3`` into nested values; a value that is no JSON is a word.

    Raises:
        ConfigError: if a setting has no value, or its place is a value already.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {setting} has no value; write --set name=value")
        *way, last = name.split(".")
        node = values
        for step in way:
            node = node.setdefault(step, {})
            if not isinstance(node, dict):
                raise ConfigError(f"--set {setting} is at odds with a setting before it")
        try:
            node[last] = json.loads(value)
        except ValueError:
            node[last] = value
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


class Setting(NamedTuple):
    """A setting with its default, or a kind with its ``inner`` settings."""

    name: str
    value: Any
    words: str
    inner: "tuple[Setting, ...]" = ()


def explain_settings(
    title: str, default: Config, *, beside: Config | None = None
) -> Callable[[CommandT], CommandT]:
    """Add settings, with their docstrings, to the help of a command.

    Args:
        title: what they are.
        default: what is learnt where nothing is set.
        beside: settings that have been explained; only others are.
    """
    known = [*list_settings(beside)] if beside else []
    settings = [setting for setting in list_settings(default) if setting not in known]

    def explain(command: CommandT) -> CommandT:
        command.__doc__ = f"{inspect.getdoc(command)}\n\n{title}\n\n{render_settings(settings)}"
        return command

    return explain


def list_settings(default: Config, *, at: str = "") -> Iterator[Setting]:
    """Yield every setting with its default and its docstring; the default kind first."""
    words = read_docstrings(type(default))
    for name, field in type(default).model_fields.items():
        value, kinds = getattr(default, name), list_kinds(field)
        if len(kinds) > 1:
            for kind in sorted(kinds, key=lambda kind: type(value) is not kind):
                chosen = value if type(value) is kind else kind()
                inner = tuple(list_settings(chosen, at=f"{at}{name}."))
                tag = kind.model_fields["kind"].default
                yield Setting(f"{at}{name}.kind", tag, inspect.getdoc(kind) or "", inner)
        elif kinds:
            yield from list_settings(value, at=f"{at}{name}.")
        elif name != "kind":
            choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
            others = " or ".join(f"`{choice}`" for choice in choices if choice != value)
            yield Setting(f"{at}{name}", value, words[name] + (f" Or {others}." if others else ""))


def render_settings(settings: Iterable[Setting], *, indent: str = "") -> str:
    """Return settings as a list in Markdown."""
    lines = []
    for name, value, words, inner in settings:
        text = value if isinstance(value, str) else to_json(value).decode()
        told = " ".join(words.split()).replace("``", "`")
        lines.append(f"{indent}- `{name}={text}`: {told}")
        if inner:
            lines.append(render_settings(inner, indent=f"{indent}  "))
    return "\n".join(lines)
