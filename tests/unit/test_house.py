"""Rules of the project that no linter checks."""

import ast
import re
from collections import defaultdict
from graphlib import TopologicalSorter

import grimp

from tests.support.projects import PROJECT

SHARED_NAMES = {"main"}
"""Public names that several files define: each module that runs as a program has a ``main``."""

BUDGETS = {
    "nmt_core/base": 1991,
    "nmt_core/cli": 1740,
    "nmt_core/corpora": 5201,
    "nmt_core/data": 1707,
    "nmt_core/documents": 4151,
    "nmt_core/evaluation": 1576,
    "nmt_core/extensions": 2462,
    "nmt_core/literals": 1629,
    "nmt_core/models": 2326,
    "nmt_core/search": 1785,
    "nmt_core/server": 2633,
    "nmt_core/text": 2815,
    "nmt_core/training": 2110,
    "nmt_core/translation": 3805,
    "stages": 10464,
    "flows": 2436,
    "infra": 758,
    "benchmarks": 835,
    "tests/unit/base": 1069,
    "tests/unit/benchmarks": 138,
    "tests/unit/cli": 1433,
    "tests/unit/corpora": 4144,
    "tests/unit/data": 364,
    "tests/unit/documents": 2626,
    "tests/unit/evaluation": 1419,
    "tests/unit/extensions": 1585,
    "tests/unit/flows": 2145,
    "tests/unit/infra": 954,
    "tests/unit/literals": 578,
    "tests/unit/models": 1483,
    "tests/unit/search": 619,
    "tests/unit/server": 3150,
    "tests/unit/stages": 6915,
    "tests/unit/text": 1351,
    "tests/unit/training": 1250,
    "tests/unit/translation": 3098,
    "tests/e2e": 572,
    "tests/integration": 2293,
    "tests/laws": 5479,
    "tests/orchestration": 3681,
    "tests/support": 3464,
    "tests/unit": 1136,
}
"""Lines of Python that a room may have, blank lines included; `tests/unit` counts its own files."""


def find_public_names(path):
    """Yield the name of each class, function, alias and constant of a module."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name, True
            case ast.AsyncFunctionDef(name=name):
                yield name, True
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name, False
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, False


def test_public_names_of_the_library_are_unique():
    """A reader who finds or searches a name then finds one meaning."""
    files, callables = defaultdict(set), set()
    for path in (PROJECT / "nmt_core").rglob("*.py"):
        for name, is_callable in find_public_names(path):
            if not name.startswith("_"):
                files[name].add(str(path.relative_to(PROJECT)))
                callables |= {name} if is_callable else set()

    shared = {name: files[name] for name in callables - SHARED_NAMES if len(files[name]) > 1}
    assert {} == shared
    assert len(callables) > 300


def test_no_file_grows_long():
    """A longer file has two subjects, and nobody reads it before changing it."""
    most = dict.fromkeys(("nmt_core", "stages", "flows", "infra"), 400) | {"tests": 700}
    lengths = {
        str(path.relative_to(PROJECT)): len(path.read_text().splitlines())
        for room in most
        for path in (PROJECT / room).rglob("*.py")
    }

    assert [] == [name for name, lines in lengths.items() if lines >= most[name.split("/")[0]]]


def test_rooms_keep_their_budgets():
    """To exceed a budget, remove something from that room in the same commit."""
    lines = dict.fromkeys(BUDGETS, 0)
    for top in ("nmt_core", "stages", "flows", "infra", "benchmarks", "tests"):
        for path in (PROJECT / top).rglob("*.py"):
            name = path.relative_to(PROJECT)
            room = next((r.as_posix() for r in name.parents if r.as_posix() in BUDGETS), None)
            if room:
                lines[room] += len(path.read_text().splitlines())

    over = {room: (lines[room], most) for room, most in BUDGETS.items() if lines[room] > most}
    assert {} == over


def test_no_file_imports_itself_through_others():
    """Imports for types count, too: two files that need each other have no reading order."""
    graph = grimp.build_graph("nmt_core", "stages", "flows", "infra", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    assert len(imports) > 200
    TopologicalSorter(imports).prepare()  # raises an error that names the files of a cycle


def find_named_files(document):
    """Yield the files and folders that a document names, except those of an earlier commit."""
    rooms = "benchmarks|conf|docs|flows|infra|nmt_core|requirements|stages|tests"
    path = re.compile(rf"(?:{rooms})/[a-z0-9_./-]+|test_\w+\.py")
    for code in re.finditer(r"`([^`\n]+)`(?!\s+at\s+commit)", document):
        yield from filter(path.fullmatch, code[1].split())


def test_files_named_in_documents_exist():
    """A document can name a test file without its folder."""
    tests = {path.name for path in (PROJECT / "tests").rglob("test_*.py")}
    named = [
        (document.name, name)
        for folder in (PROJECT, PROJECT / "docs", PROJECT / "infra")
        for document in folder.glob("*.md")
        for name in find_named_files(document.read_text())
    ]

    assert [] == [one for one in named if one[1] not in tests and not (PROJECT / one[1]).exists()]
    assert len(named) > 100
