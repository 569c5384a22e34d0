"""Read and write params.yaml as DVC does: YAML 1.2, each key once."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base.errors import ConfigError
from nmt_core.base.files import decode_utf8


class ParamsLoader(yaml.SafeLoader):
    """Reads the scalars of YAML 1.2's core schema, as DVC does, and no aliases.

    So ``no`` and 2024-11-01 are strings, and 1e-9 is a number.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Reject aliases, which can repeat a value millions of times."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias; write the value in its place")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - as PyYAML calls it
        """Reject duplicate keys."""
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        [(key, times)] = keys.most_common(1) or [("", 0)]
        if times > 1:
            problem = f"{key!r} is given twice; keep one"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


_FLOAT = (
    r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
    r"|\.(nan|NaN|NAN)"
)
ParamsLoader.yaml_implicit_resolvers = {}
for _tag, _first, _scalar in (
    ("null", ["~", "n", "N", ""], "(~|null|Null|NULL|)"),
    ("bool", "tTfF", "(true|True|TRUE|false|False|FALSE)"),
    ("int", "-+0123456789", "[-+]?(0|[1-9][0-9]*)"),
    ("float", "-+.0123456789", f"({_FLOAT})"),
):
    ParamsLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"\A{_scalar}$"), [*_first]
    )


def read(path: Path) -> dict[str, Any]:
    """Return the content of a parameter file, without checking its settings.

    Raises:
        ConfigError: if it cannot be read, is not YAML in UTF-8, or has a duplicate key.
    """
    try:
        text = decode_utf8(path.read_bytes(), path, error=ConfigError)
        document = ParamsLoader(text).get_single_data()
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist; change to the top folder of the project"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must have one mapping per stage, got {type(document).__name__}")
    return document


class ParamsDumper(yaml.SafeDumper):
    """Writes what ``ParamsLoader`` reads."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Return True: equal values are repeated instead of using aliases."""
        return True


ParamsDumper.yaml_implicit_resolvers = ParamsLoader.yaml_implicit_resolvers


def dump_yaml(values: dict[str, Any]) -> str:
    """Return the text of a parameter file, with one line per innermost mapping or list."""
    text: str = yaml.dump(
        values,
        Dumper=ParamsDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
    return text
