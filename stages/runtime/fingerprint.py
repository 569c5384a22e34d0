"""Fingerprints of trainings: digests of settings, data and code."""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base import files
from stages import paths

CODE = ("nmt_core", "stages")
"""Folders of code."""

STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of syntax trees that hold statements, or what holds them; expressions hold none."""


def compute_fingerprint(
    settings: Any, stage: str, *, budget: Any, pipeline: Path = paths.PIPELINE
) -> str:
    """Return a digest of a training's settings, data and code, a hyphen, and one of its budget.

    Checkpoints are kept under it: a changed setting, changed data or code start a new training; an
    unchanged one continues. Trainings that differ in their budget alone share the part before the
    hyphen.

    Args:
        settings: all but the budget, as JSON holds them.
        stage: its dependencies in dvc.yaml are the data and the code.
        budget: as JSON holds it.
        pipeline: dvc.yaml.
    """
    entry = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"][stage]
    course = hash_json([settings, hash_files(entry["deps"])])
    return f"{course[:16]}-{hash_json(budget)[:8]}"


def hash_code_of(stage: str, *, pipeline: Path = paths.PIPELINE) -> str:
    """Return a digest of the code that a stage runs; empty if there is no pipeline."""
    if not pipeline.exists():
        return ""
    deps = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"][stage]["deps"]
    return hash_json(hash_files(dep for dep in deps if Path(dep).parts[0] in CODE))


def hash_files(places: Iterable[str]) -> dict[str, str]:
    """Return a digest of every file at and below the given paths.

    Python files count without comments and docstrings; all others by their bytes.
    """
    return {
        path.as_posix(): hash_code(path) if path.suffix == ".py" else files.sha256(path)
        for path in sorted(find_files(places))
    }


def find_files(places: Iterable[str]) -> Iterator[Path]:
    """Yield the files at and below the given places, leaving Python's caches out."""
    for root in map(Path, places):
        inside = root.rglob("*") if root.is_dir() else [root]
        yield from (path for path in inside if path.is_file() and "__pycache__" not in path.parts)


def hash_code(path: Path) -> str:
    """Return a digest of Python code without its words; of the bytes of other files."""
    try:
        return hash_json(ast.dump(parse_code(path.read_bytes())))
    except (SyntaxError, ValueError):
        return files.sha256(path)


def parse_code(source: bytes) -> ast.Module:
    """Return the syntax tree without docstrings and other strings that nothing is done with."""
    tree = ast.parse(source)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for name in STATEMENTS:
            if isinstance(block := getattr(node, name, None), list) and block:
                code = [statement for statement in block if not is_bare_string(statement)]
                setattr(node, name, code or [ast.Pass()])
                waiting += code
    return tree


def is_bare_string(statement: ast.stmt) -> bool:
    """Tell whether a statement is a string and does nothing."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def hash_json(document: Any) -> str:
    """Return a digest of a JSON value."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
