"""Read and write params.yaml as DVC does: YAML 1.2, each key once."""

import re
from collections import Counter
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base.errors import ConfigError
from nmt_core.base.raw_lines import decode_utf8


class ParamsLoader(yaml.SafeLoader):
    """Reads the scalars of YAML 1.2's core schema, as DVC does; of 1.1 only merges (``<<``).

    So ``no`` is a language, 2024-11-01 a session, and 1e-9 a number.
    """


_FLOAT = (
    r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
    r"|\.(nan|NaN|NAN)"
)
ParamsLoader.yaml_implicit_resolvers = {}
for _tag, _first, _scalar in (
    ("merge", "<", "<<"),
    ("null", ["~", "n", "N", ""], "(~|null|Null|NULL|)"),
    ("bool", "tTfF", "(true|True|TRUE|false|False|FALSE)"),
    ("int", "-+0123456789", "[-+]?(0|[1-9][0-9]*)"),
    ("float", "-+.0123456789", f"({_FLOAT})"),
):
    ParamsLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"\A{_scalar}$"), [*_first]
    )


MAX_VALUES = 100_000
"""Maximum number of values, each as often as an alias repeats it."""


def read(path: Path) -> dict[str, Any]:
    """Read a parameter file without interpreting it.

    Raises:
        ConfigError: if it cannot be read, is not YAML in UTF-8, or gives a key twice.
    """
    try:
        document = deepcopy(_parse(decode_utf8(path.read_bytes(), path, error=ConfigError), path))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; run from the top of the project") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must hold one mapping per stage, got {type(document).__name__}")
    return document


@lru_cache(maxsize=2)
def _parse(text: str, path: Path) -> Any:
    """Return the content of YAML; a stage reads its file several times, and PyYAML is slow."""
    loader = ParamsLoader(text)
    root = loader.get_single_node()
    waiting = [] if root is None else [root]
    count = 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > MAX_VALUES:
            raise ConfigError(f"{path} comes to more than {MAX_VALUES} values; remove aliases")
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            [(key, times)] = keys.most_common(1) or [("", 0)]
            if times > 1:
                line = node.start_mark.line + 1
                raise ConfigError(f"{path} line {line} and after gives {key!r} twice; keep one")
            waiting += [value for _, value in node.value]
    return None if root is None else loader.construct_document(root)


class ParamsDumper(yaml.SafeDumper):
    """Writes what :class:`ParamsLoader` reads."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Repeat equal values instead of referring to the first of them."""
        return True


ParamsDumper.yaml_implicit_resolvers = ParamsLoader.yaml_implicit_resolvers


def dump_yaml(values: dict[str, Any]) -> str:
    """Return the text of a parameter file; the innermost mappings and lists take a line each."""
    text: str = yaml.dump(
        values,
        Dumper=ParamsDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
    return text
