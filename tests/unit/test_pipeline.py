"""dvc.yaml names the code that each stage runs, so that a change runs again what it can change."""

import ast
from pathlib import Path

import pytest
import yaml

from stages.params import SECTIONS

TOP = Path(__file__).parents[2]
STAGES = yaml.safe_load((TOP / "dvc.yaml").read_text())["stages"]

PLUMBING = {
    "nmt_core/__init__.py",
    "nmt_core/config.py",
    "nmt_core/errors.py",
    "nmt_core/files.py",
    "nmt_core/parallel/__init__.py",
    "nmt_core/parallel/pool.py",
    "nmt_core/parallel/spans.py",
    "nmt_core/parent.py",
    "nmt_core/progress.py",
    "nmt_core/tracking.py",
    "nmt_core/data/__init__.py",
    "nmt_core/decoding/__init__.py",
    "nmt_core/evaluation/__init__.py",
    "nmt_core/training/__init__.py",
}
"""Code that reads, writes and reports, but decides no byte of a result."""

BESIDE = {
    "__init__",
    "commit",
    "description",
    "entry",
    "exported",
    "fingerprint",
    "journal",
    "machine",
    "mlflow_run",
    "params",
    "paths",
    "provenance",
    "torchrun",
    "tracking",
}
"""Files of ``stages`` that settle how a stage runs, not what it makes."""


def file_of(module):
    path = TOP / module.replace(".", "/")
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] in ("nmt_core", "stages") and (found := file_of(name)):
                yield found


def reached(path, seen):
    """All code of ours that a file imports, directly or not, but through no plumbing of stages."""
    name = path.relative_to(TOP).as_posix()
    if path in seen or (path.parent.name == "stages" and path.stem in BESIDE):
        return seen
    if name in PLUMBING:
        return seen
    seen.add(path)
    for found in imported(path):
        reached(found, seen)
    return seen


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_code_it_runs(stage):
    listed = [TOP / dep for dep in STAGES[stage]["deps"]]
    missing = {
        path.relative_to(TOP).as_posix()
        for path in reached(TOP / "stages" / f"{stage}.py", set())
        if not any(path == dep or dep in path.parents for dep in listed)
    }

    assert set() == missing


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_its_own_section(stage):
    assert stage in STAGES[stage]["params"]


def test_every_stage_has_a_section_and_every_section_a_stage():
    """But for the last, which decides who does the work and not what comes of it."""
    *of_stages, workers = SECTIONS
    depended_on = {param.split(".")[0] for stage in STAGES.values() for param in stage["params"]}

    assert of_stages == list(STAGES)
    assert workers not in depended_on


def test_stages_stand_in_an_order_in_which_they_can_run():
    made = set()
    for stage in STAGES.values():
        own = [dep for dep in stage["deps"] if dep.split("/")[0] in ("data", "models", "metrics")]
        assert made.issuperset(own)
        made.update(stage["outs"], stage["metrics"])


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_takes_the_place_of_its_shell(stage):
    """Or it would not notice when dvc is killed: some shells stay between the two."""
    assert STAGES[stage]["cmd"] == f"exec python -m stages.{stage}"
