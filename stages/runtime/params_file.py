"""Read params.yaml as DVC does: YAML 1.2, each key once, and no more of it than anybody means."""

import re
from collections import Counter
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base.errors import ConfigError
from nmt_core.base.utf8 import decode_utf8


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
"""Values that params.yaml may come to, each as often as an alias repeats it."""

SOME_VALUES = "write it anew: make repro DATA=demo"


def _check(root: yaml.Node | None, path: Path) -> None:
    """Refuse YAML that is valid but never meant."""
    waiting = [] if root is None else [root]
    met = 0
    while waiting:
        node = waiting.pop()
        line = f"{path} line {node.start_mark.line + 1}"
        met += 1
        if met > MAX_VALUES:
            raise ConfigError(f"{path} comes to more than {MAX_VALUES} values; {SOME_VALUES}")
        if isinstance(node, yaml.MappingNode):
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            twice = [key for key, count in keys.items() if count > 1]
            if twice:
                raise ConfigError(f"{line} and after gives {twice[0]!r} twice; keep one of the two")
            waiting += [inner for pair in node.value for inner in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif "\0" in node.value:
            raise ConfigError(f"{line} holds a NUL character; take it out")


@lru_cache(maxsize=2)
def _parse(text: str, path: Path) -> Any:
    """Return what YAML holds; a stage reads its file several times, and PyYAML takes its time."""
    if match := re.search("[\x85\u2028\u2029]", text):
        raise ConfigError(
            f"{path} line {text.count(chr(10), 0, match.start()) + 1} holds the line end "
            f"U+{ord(match[0]):04X}, which editors do not show; save it with ordinary line ends"
        )
    loader = ParamsLoader(text)
    root = loader.get_single_node()
    _check(root, path)
    return None if root is None else loader.construct_document(root)


def read(path: Path) -> dict[str, Any]:
    """Read a parameter file without interpreting it.

    Raises:
        ConfigError: if it cannot be read, is not YAML in UTF-8, gives a key twice, holds NUL, or
            comes to too many values.
    """
    try:
        document = deepcopy(_parse(decode_utf8(path.read_bytes(), path, error=ConfigError), path))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; run from the top of the project") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise ConfigError(f"{path} nests too deep; {SOME_VALUES}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must hold one mapping per stage, got {type(document).__name__}")
    return document


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
