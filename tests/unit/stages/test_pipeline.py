"""dvc.yaml names the code that each stage runs, so that a change runs again what it can change."""

import ast
import functools
import py_compile
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from dvc.repo import Repo

from nmt_core.corpora.fetch.vectors import VectorsConfig
from nmt_core.corpora.registered import CORPORA
from nmt_core.evaluation.registered import DEFAULT_METRICS, METRICS
from nmt_core.search.registered import PROGRAMS
from stages.params import SECTIONS
from tests.support.pipeline import STAGES
from tests.support.projects import PROJECT

PLUMBING = {
    "nmt_core/__init__.py",
    "nmt_core/base/config.py",
    "nmt_core/base/errors.py",
    "nmt_core/evaluation/registered.py",
    "nmt_core/base/files.py",
    "nmt_core/base/packages.py",
    "nmt_core/base/parallel/jobs.py",
    "nmt_core/base/parallel/pool.py",
    "nmt_core/base/parallel/spans.py",
    "nmt_core/base/parallel/parent.py",
    "nmt_core/base/progress.py",
    "nmt_core/base/registry.py",
    "nmt_core/base/tracking.py",
    "nmt_core/translation/texts.py",
}
"""Code that reads, writes and reports, but decides no byte of a result: stages translate sentences,
and no texts."""

PLACE = re.compile(r"(nmt_core|stages)[\w.]*:\w+")
"""Where a registry finds a thing."""

BESIDE = {
    "stages/__init__.py",
    "stages/params.py",
    "stages/paths.py",
    "stages/registry",
    "stages/runtime/entry.py",
    "stages/runtime/fingerprint.py",
    "stages/runtime/git.py",
    "stages/runtime/launch.py",
    "stages/runtime/usage.py",
    "stages/tracking",
}
"""Code of ``stages`` that settles how a stage runs, not what it makes."""

PACKAGES = {
    "comparison",
    "configure",
    "dates",
    "demo",
    "learning",
    "planning",
    "registry",
    "reporting",
    "runtime",
    "synthesis",
    "tracking",
}
"""What stands in ``stages`` beside the pipeline, each of one subject."""


def file_of(module):
    path = PROJECT / module.replace(".", "/")
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def find_imports(path):
    """The files that a file names in its imports, or as ``module:thing`` for a registry.

    Of a package, its own only for what is in it. What writes engines is for export alone.
    """
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    writers = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg == "writer"]
    for node in nodes:
        if node in writers:
            continue
        if isinstance(node, ast.Constant) and PLACE.fullmatch(str(node.value)):
            names = [(node.value.partition(":")[0],)]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name,) for alias in node.names]
        else:
            continue
        for ways in names:
            if ways[0].split(".")[0] in ("nmt_core", "stages"):
                yield from [found for way in ways if (found := file_of(way))][:1]


@functools.cache
def imported(path):
    return list(find_imports(path))


@functools.cache
def is_face(path):
    """Return whether a file is a package's ``__init__`` and holds nothing but its docstring."""
    return path.name == "__init__.py" and len(ast.parse(path.read_text()).body) <= 1


def reached(path, seen):
    """All code of ours that a file imports, directly or not, but through no plumbing of stages."""
    name = path.relative_to(PROJECT).as_posix()
    if (
        path in seen
        or is_face(path)
        or name in PLUMBING | BESIDE
        or path.parent.relative_to(PROJECT).as_posix() in BESIDE
    ):
        return seen
    seen.add(path)
    for found in imported(path):
        reached(found, seen)
    return seen


def loaded_by_name(names):
    """The code of metrics, which no import names."""
    seen = set()
    for name in names:
        reached(PROJECT / f"nmt_core/evaluation/metrics/{name}.py", seen)
    return seen


def test_the_folder_is_the_pipeline():
    """Whoever opens it sees the eight stages, their settings, their paths, and packages."""
    found = {path.stem for path in (PROJECT / "stages").glob("*.py")}
    packages = {path.parent.name for path in (PROJECT / "stages").glob("*/__init__.py")}

    assert found == {*STAGES, "__init__", "params", "paths"}
    assert packages == PACKAGES


def modules_of(union):
    return [file_of(kind.__module__) for kind in get_args(get_args(union)[0])]


@functools.cache
def run_by(stage):
    """All code that a stage runs; settings bring some."""
    code = reached(PROJECT / "stages" / f"{stage}.py", set())
    if stage == "download":
        for path in [PROJECT / "nmt_core/corpora/registered.py", *modules_of(VectorsConfig)]:
            reached(path, code)
    if PROJECT / "nmt_core/corpora/registered.py" in code:
        for place in CORPORA.ours.values():
            reached(file_of(place.partition(":")[0]), code)
    if PROJECT / "nmt_core/translation/prepared.py" in code:
        for program in PROGRAMS.ours.values():
            if program.writer:
                reached(file_of(program.writer.partition(":")[0]), code)
    return code


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_code_it_runs(stage):
    listed = [PROJECT / dep for dep in STAGES[stage]["deps"]]
    missing = {
        path.relative_to(PROJECT).as_posix()
        for path in run_by(stage)
        if not any(path == dep or dep in path.parents for dep in listed)
    }

    assert set() == missing


@pytest.mark.parametrize(
    ("stage", "names"), [("train", DEFAULT_METRICS), ("evaluate", METRICS.ours)]
)
def test_a_stage_depends_on_metrics_that_it_loads_by_name(stage, names):
    """Training on those that it uses by itself: a new one must not begin a training anew."""
    listed = [PROJECT / dep for dep in STAGES[stage]["deps"]]
    code = loaded_by_name(names)

    assert {path for path in code if path in listed or {*path.parents} & {*listed}} == code


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_no_code_that_it_never_runs(stage):
    """Or a change of it would run the stage again, and begin a training anew, for nothing."""
    used = run_by(stage) | loaded_by_name(METRICS.ours)
    listed = [PROJECT / dep for dep in STAGES[stage]["deps"]]
    code = {path for dep in listed for path in (dep, *dep.rglob("*.py")) if path.suffix == ".py"}
    never = {path.relative_to(PROJECT).as_posix() for path in code - used if not is_face(path)}

    assert set() == never - PLUMBING


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_its_own_section(stage):
    assert stage in STAGES[stage]["params"]


def test_every_stage_has_a_section_and_every_section_a_stage():
    """But for the last: who does the work, and whether what comes of it is served."""
    *of_stages, workers, promotion = SECTIONS
    depended_on = {param.split(".")[0] for stage in STAGES.values() for param in stage["params"]}

    assert of_stages == list(STAGES)
    assert not {workers, promotion} & depended_on


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_takes_the_place_of_its_shell(stage):
    """Or it would not notice when dvc is killed: some shells stay between the two."""
    assert STAGES[stage]["cmd"] == f"exec python -m stages.{stage}"


@pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")  # within DVC
def test_what_python_writes_beside_code_changes_no_stage(project):
    """Else the second run would repeat what the first one has just finished."""
    shutil.copy(PROJECT / ".dvcignore", ".dvcignore")
    Path("code").mkdir()
    Path("code/a.py").write_text("A = 1")
    Path("dvc.yaml").write_text("stages: {first: {cmd: 'true', deps: [code]}}")
    repo = Repo.init(no_scm=True)
    repo.reproduce()
    py_compile.compile("code/a.py")

    assert [*Path("code").glob("__pycache__/*.pyc")]
    assert repo.status() == {}
    Path("code/a.py").write_text("A = 2")
    assert [*repo.status()] == ["first"]
