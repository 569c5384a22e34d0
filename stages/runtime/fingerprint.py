"""What makes one training the same training as another: its settings, data and code."""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base import files
from stages import paths


def compute_fingerprint(
    settings: Any, stage: str, *, budget: Any, pipeline: Path = paths.PIPELINE
) -> str:
    """Return a digest of what decides the course of a training, a hyphen, and one of what ends it.

    Checkpoints are kept under it: whoever changes a setting, the data or what the code does starts
    anew, and who changes nothing of these continues. Trainings that differ in nothing but their
    budget have the part before the hyphen in common.

    Args:
        settings: all but the budget, as JSON holds them.
        stage: whatever dvc.yaml says that it depends on is the data and the code.
        budget: as JSON holds it.
        pipeline: dvc.yaml.
    """
    entry = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["stages"][stage]
    course = hash_json([settings, hash_files(entry["deps"])])
    return f"{course[:16]}-{hash_json(budget)[:8]}"


def hash_files(places: Iterable[str]) -> dict[str, str]:
    """Return a digest of every file at and below the given places, by path.

    A file of Python counts for what it does, without comments and docstrings; all others, for their
    bytes.
    """
    return {
        path.as_posix(): hash_code(path) if path.suffix == ".py" else files.sha256(path)
        for path in sorted(find_files(places))
    }


def find_files(places: Iterable[str]) -> Iterator[Path]:
    """Yield the files at and below the given places, leaving Python's caches out."""
    for place in map(Path, places):
        found = place.rglob("*") if place.is_dir() else [place]
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


def hash_code(path: Path) -> str:
    """Return a digest of what a file of Python does; of its bytes where it is not Python."""
    try:
        return hash_json(ast.dump(parse_code(path.read_bytes())))
    except (SyntaxError, ValueError):
        return files.sha256(path)


def parse_code(source: bytes) -> ast.Module:
    """Return the syntax tree without docstrings and other strings that nothing is done with."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, name, None), list) and block:
                code = [statement for statement in block if not is_bare_string(statement)]
                setattr(node, name, code or [ast.Pass()])
    return tree


def is_bare_string(statement: ast.stmt) -> bool:
    """Tell whether a statement is a string and does nothing."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def hash_json(document: Any) -> str:
    """Return a digest of what JSON holds."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
