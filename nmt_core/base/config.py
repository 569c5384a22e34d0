"""Turn plain mappings, such as a section of params.yaml, into frozen, typed settings.

Each room of the library defines its settings as subclasses of ``Config``; a stage composes them.
Validation is strict: only an int is accepted as a float. Errors name every unknown, missing or
mistyped key with its place.
"""

import ast
import inspect
import json
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from os import fspath
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, ValidationInfo
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from nmt_core.base.errors import ConfigError, suggest
from nmt_core.base.registry import Registry


class Config(BaseModel):
    """Base class of all settings: frozen, strict, without unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


MAX_VALUE_CHARACTERS = 200
"""Maximum length of an invalid value in an error message, in characters."""

PARSE_ATTEMPTS, PAUSE_SECONDS = 20, 0.05
"""Attempts to parse a source while other threads parse, and the pause between two attempts."""

ConfigT = TypeVar("ConfigT", bound=Config)


@dataclass(frozen=True)
class OpenUnion:
    """A tagged union of all kinds in a registry: ``Annotated[Corpus, OpenUnion(...)]``.

    Works like pydantic's tagged union, but loads a kind only when settings name it.
    """

    registry: Registry[Any]
    """Types of settings by their tag."""
    tag: str = "kind"
    """The key that names the kind of settings."""
    expand: Callable[[Any], Any] = lambda values: values
    """Returns the full settings of a short form; raises a ValueError if it is not valid."""

    def __get_pydantic_core_schema__(self, base: type[Config], _: object) -> Any:
        """Return pydantic's schema of the setting."""

        def read(values: Any, info: ValidationInfo) -> Config:
            if isinstance(values, base):
                return values
            values = self.expand(values)
            kind = self.find(values)
            if info.mode == "json":
                return kind.model_validate_json(json.dumps(values))
            return kind.model_validate(values)

        return core_schema.with_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(
        self, _: object, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the JSON schema of the setting: any of its kinds, or a short form."""
        kinds = [self.registry.load(name) for name in self.registry.builtins]
        union = handler(core_schema.union_schema([k.__pydantic_core_schema__ for k in kinds]))
        if self.expand is not OpenUnion.expand:
            union["anyOf"].append({"type": "string"})
            union["anyOf"].append({"type": "object", "not": {"required": [self.tag]}})
        return union

    def find(self, values: Any) -> type[Config]:
        """Return the kind that settings name.

        Raises:
            PydanticKnownError: if the kind is missing or unknown.
            PydanticCustomError: if the settings are not a mapping.
        """
        if not isinstance(values, Mapping):
            raise PydanticCustomError("object_type", "Input should be an object")
        context = {"discriminator": f"'{self.tag}'"}
        if self.tag not in values:
            raise PydanticKnownError("union_tag_not_found", context)
        name = str(values[self.tag])
        if name not in self.registry:
            expected = ", ".join(f"'{name}'" for name in self.registry)
            context |= {"tag": name, "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", context)
        kind: type[Config] = self.registry.load(name)
        return kind


def build(kind: type[ConfigT], values: Mapping[str, Any], *, at: str) -> ConfigT:
    """Build settings of a class from values as YAML or JSON have them, or paths.

    ``at`` is the dotted place of the values in messages, such as ``"train"``.

    Raises:
        ConfigError: naming every unknown, missing or mistyped key with its place.
    """
    try:
        return TypeAdapter(kind).validate_json(json.dumps(dict(values), default=fspath))
    except ValidationError as error:
        errors = error.errors(include_url=False)
        places = {each["loc"][:-1] for each in errors}  # an invalid item also makes a list short
        causes = [e for e in errors if e["type"] != "too_short" or e["loc"] not in places]
        raise ConfigError("\n".join(_sentence(kind, values, e, at) for e in causes)) from None
    except TypeError as error:
        raise ConfigError(f"{at} contains a value that is not valid in JSON: {error}") from None


@cache
def read_docstrings(kind: type[Config]) -> Mapping[str, str]:
    """Return the docstring of each setting by its name, including those of base classes.

    Pydantic's ``use_attribute_docstrings`` would read the source of every class at import.
    """
    docstrings = {}
    for base in reversed(kind.__mro__):
        if not issubclass(base, Config):
            continue
        [described] = parse_source(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(described, ast.ClassDef)
        for setting, text in pairwise(described.body):
            match setting, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                    value=ast.Constant(value=words)
                ):
                    docstrings[name] = str(words)
    return docstrings


def parse_source(source: str | bytes) -> ast.Module:
    """Parse Python source; retry if threads, such as Prefect's, parse at the same time.

    CPython 3.11 adds up the recursion depth of all threads and raises a SystemError
    (python/cpython#106905).
    """
    for _ in range(PARSE_ATTEMPTS - 1):
        with suppress(SystemError):
            return ast.parse(source)
        time.sleep(PAUSE_SECONDS)
    return ast.parse(source)


def shorten(value: object) -> str:
    """Return the ``repr`` of a value, shortened for an error message."""
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}..."


def _sentence(kind: type[Config], values: Mapping[str, Any], problem: Any, at: str) -> str:
    names = _locate(values, problem)
    location = ".".join([at, *names])
    value, context = problem["input"], problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            return f"{location} is not a parameter; {_suggest(kind, values, names)}"
        case "missing":
            return f"{location} is missing; it has no default"
        case "union_tag_not_found":
            return f"{location}.{context['discriminator'].strip(chr(39))} is missing"
        case "union_tag_invalid":
            place = f"{location}.{context['discriminator'].strip(chr(39))}"
            return f"{place} must be one of {context['expected_tags']}, got {context['tag']!r}"
        case "value_error":
            return f"{location}: {context['error']}"
        case _:
            rule = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
            if problem["type"] == "too_short":
                rule = f"of length {context['min_length']} or more"
            return f"{location} must be {rule}, got {shorten(value)} ({type(value).__name__})"


def _locate(values: Any, problem: Any) -> list[str]:
    """Return the keys that lead to a problem, without the tags of unions in its location."""
    names = []
    location = [part for part in problem["loc"] if part != "[key]"]  # the key itself is invalid
    for number, part in enumerate(location, start=1):
        is_missing = problem["type"] == "missing" and number == len(location)
        if isinstance(values, Mapping) and part not in values and not is_missing:
            continue
        names.append(str(part))
        values = _item(values, part)
    return names


def _item(values: Any, part: str | int) -> Any:
    try:
        return values[part]
    except (KeyError, IndexError, TypeError):
        return None


def _suggest(kind: type[Config], values: Any, names: list[str]) -> str:
    """Suggest a setting for the last of ``names``, from the kinds that match the values above."""
    kinds = [kind]
    for name in names[:-1]:
        values = _item(values, name)
        fields = [kind.model_fields[name] for kind in kinds if name in kind.model_fields]
        kinds = [kind for field in fields for kind in list_kinds(field)] or kinds
        kinds = [kind for kind in kinds if _fits(kind, values)] or kinds
    return suggest(names[-1], dict.fromkeys(name for kind in kinds for name in kind.model_fields))


def _fits(kind: type[Config], values: Any) -> bool:
    """Return whether the tags in values, if any, match a kind."""
    return not isinstance(values, Mapping) or all(
        values[name] in get_args(field.annotation)
        for name, field in kind.model_fields.items()
        if get_origin(field.annotation) is Literal and name in values
    )


def list_kinds(field: FieldInfo) -> list[type[Config]]:
    """Return all types of settings in the annotation of a field, at any depth."""
    if get_origin(field.annotation) is dict:
        return list_kinds(FieldInfo.from_annotation(get_args(field.annotation)[1]))
    unions = [union for union in field.metadata if isinstance(union, OpenUnion)]
    kinds = [union.registry.load(name) for union in unions for name in union.registry]
    return kinds or [*_configs(field.annotation)]


def _configs(annotation: Any) -> Iterator[type[Config]]:
    if isinstance(annotation, type) and issubclass(annotation, Config):
        yield annotation
    for option in get_args(annotation):
        yield from _configs(option)
