"""Fingerprints of trainings, and digests of code and files."""

import ast
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base import files
from nmt_core.base.config import parse_source
from nmt_core.base.errors import NmtError
from stages import paths


def compute_fingerprint(settings: Any, stage: str, *, budget: Any) -> str:
    """Return the fingerprint of a training, as ``DIGEST-BUDGET``.

    DIGEST covers settings, code and data; data are the stage's dependencies in dvc.yaml. The folder
    of checkpoints has this name: changed settings, code or data start a new training; unchanged
    ones continue it. Trainings that differ only in their budget share DIGEST.
    """
    entry = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"][stage]
    data = [place for place in entry["deps"] if paths.CODE not in Path(place).parents]
    contents = {path.as_posix(): files.sha256(path) for path in sorted(find_files(data))}
    digest = hash_json([settings, contents, digest_code([stage])])
    return f"{digest[:16]}-{hash_json(budget)[:8]}"


def find_files(places: Iterable[str]) -> Iterator[Path]:
    """Yield the files at and below paths."""
    for root in map(Path, places):
        inside = root.rglob("*") if root.is_dir() else [root]
        yield from filter(Path.is_file, inside)


def hash_json(document: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


DIGESTS = "digests.json"


def write_digests(folder: Path) -> None:
    """Write the digest of each file of a folder into it, as the last file."""
    digests = {path.name: files.sha256(path) for path in sorted(folder.iterdir())}
    files.write_json(folder / DIGESTS, digests)


def check_digests(folder: Path, *, stage: str) -> None:
    """Raise a ``NmtError`` for the first file of a folder that is missing or was altered."""
    for name, digest in files.read_json(folder / DIGESTS).items():
        path = folder / name
        if not path.is_file() or files.sha256(path) != digest:
            reason = "was altered since it was written" if path.is_file() else "is missing"
            raise NmtError(f"{path} {reason}; the {stage} stage writes it: make repro")


PACKAGES = ("nmt_core", "stages")
"""Packages whose imports are followed."""

REGISTERED = re.compile(r"(\w+(?:\.\w+)+):\w+")
"""A name in a registry, ``module:thing``."""

NEUTRAL = (
    "nmt_core/__init__.py",
    "nmt_core/base/config.py",
    "nmt_core/base/errors.py",
    "nmt_core/base/files.py",
    "nmt_core/base/packages.py",
    "nmt_core/base/interrupt.py",
    "nmt_core/base/jobs.py",
    "nmt_core/base/progress.py",
    "nmt_core/base/registry.py",
    "nmt_core/evaluation/registry.py",
    "nmt_core/search/engine.py",
    "nmt_core/translation/translation.py",
    "stages/__init__.py",
    "stages/params.py",
    "stages/paths.py",
    "stages/registry/",
    "stages/runtime/entry.py",
    "stages/runtime/fingerprint.py",
    "stages/runtime/git.py",
    "stages/runtime/launch.py",
    "stages/tracking/",
)
"""Files and folders that do not affect results: they read settings, write files, report progress or
start stages. A change of them reruns nothing, and their imports are not followed."""

TEMPLATES = "stages/reporting/templates"

CHOSEN_BY_SETTINGS = {
    "download": [
        "nmt_core/corpora/fetch/vectors.py",
        "stages/*/corpus.py",
        *(f"{TEMPLATES}/{name}" for name in ("base.html", "data.html", "parts.html", "style.css")),
    ],
    "train": ["nmt_core/evaluation/metrics.py"],
    "evaluate": [
        "nmt_core/evaluation/metrics.py",
        *(f"{TEMPLATES}/{name}" for name in ("base.html", "parts.html", "run.html", "style.css")),
    ],
    "export": ["nmt_core/search/engine.py", f"{TEMPLATES}/card.md"],
}
"""Code that neutral code loads for a stage, and templates that it reads, as glob patterns."""

Module = tuple[str, list[Path]]
"""SHA-256 of a file of code or data, and the files that it imports or reads."""


def digest_code(stages: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the SHA-256 of each file that a stage runs, by stage and path.

    Paths are relative to the working directory, which must be the top of a checkout.
    """
    read = cache(read_module)
    return {
        stage: {path.as_posix(): read(path)[0] for path in list_code(stage, read)}
        for stage in stages
    }


def list_code(stage: str, read: Callable[[Path], Module]) -> list[Path]:
    """Return the files that a stage runs, sorted; imports inside functions count."""
    patterns = [f"stages/{stage}.py", *CHOSEN_BY_SETTINGS.get(stage, ())]
    pending = [path for pattern in patterns for path in Path().glob(pattern)]
    code: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in code:
            code.add(path)
            _, imports = read(path)
            pending += [file for file in imports if not file.as_posix().startswith(NEUTRAL)]
    return sorted(code)


def read_module(path: Path) -> Module:
    """Return the digest of a file, and the files that it imports or reads."""
    source = path.read_bytes()
    if path.suffix != ".py":
        return hashlib.sha256(source).hexdigest(), []
    digest, modules, data = read_code(source)
    code = (next(filter(None, map(find_file, names)), None) for names in modules)
    inside = find_files(str(path.with_name(name)) for name in data)
    return digest, [*filter(None, code), *(file for file in inside if file.suffix != ".pyc")]


@lru_cache(maxsize=1000)
def read_code(source: bytes) -> tuple[str, list[tuple[str, ...]], list[str]]:
    """Return the digest of code, or of bytes if it is invalid, its modules and its data files."""
    try:
        nodes = parse_code(source)
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).hexdigest(), [], []
    return hashlib.sha256(repr(describe(nodes[0])).encode()).hexdigest(), *find_names(nodes)


def parse_code(source: bytes) -> list[ast.AST]:
    """Return all nodes of the syntax tree, tree first, without docstrings and unused strings."""
    nodes: list[ast.AST] = [parse_source(source)]
    for node in nodes:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                if any(map(is_bare_string, value)):
                    value = [each for each in value if not is_bare_string(each)] or [ast.Pass()]
                    setattr(node, name, value)
                nodes += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def is_bare_string(node: object) -> bool:
    """Tell whether a node is a statement that consists of a string."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def describe(node: Any) -> Any:
    """Return a syntax tree as nested tuples that are the same in all versions of Python.

    Newer versions add fields; these are empty for older code, and left out.
    """
    if isinstance(node, ast.AST):
        described: list[Any] = [type(node).__name__]
        for name in node._fields:
            value = describe(getattr(node, name, None))
            if value not in (None, ()):
                described.append((name, value))
        return tuple(described)
    if isinstance(node, list):
        return tuple(map(describe, node))
    return None if node is None else repr(node)


def find_names(nodes: Iterable[ast.AST]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the imported or registered modules, by their possible names, and the data files."""
    modules, data = list[tuple[str, ...]](), list[str]()
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                modules += [(f"{module}.{name.name}", module) for name in names]
            case ast.Import(names=names):
                modules += [(name.name,) for name in names]
            case ast.Constant(value=str(text)) if match := REGISTERED.fullmatch(text):
                modules.append((match[1],))
            case ast.Call(func=ast.Attribute(attr="with_name"), args=[ast.Constant(str(name))]):
                data.append(name)
    return modules, data


def find_file(module: str) -> Path | None:
    """Return the file of a module in ``PACKAGES``; None for any other module."""
    path = Path(*module.split("."))
    if path.parts[0] not in PACKAGES:
        return None
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)
