"""Rules of dvc.yaml, and of its folder."""

from functools import cache
from typing import get_args

import pytest

from nmt_core.corpora.fetch.vectors import VectorsConfig
from nmt_core.corpora.formats import tables, translations
from nmt_core.corpora.named import CORPORA
from nmt_core.evaluation.registry import DEFAULT_METRICS, METRICS
from nmt_core.models.settings import ARCHITECTURES
from nmt_core.search.engine import PROGRAMS
from stages.params import SECTIONS
from stages.runtime.fingerprint import NEUTRAL, digest_code
from tests.support.pipeline import CODE, STAGES
from tests.support.projects import PROJECT

PACKAGES = {
    "configure",
    "demo",
    "learning",
    "planning",
    "registry",
    "reporting",
    "runtime",
    "synthesis",
    "tracking",
}
"""Contents of ``stages`` beside the pipeline, each with one subject."""


def test_the_folder_is_the_pipeline():
    modules = {path.stem for path in (PROJECT / "stages").glob("*.py")}
    packages = {path.parent.name for path in (PROJECT / "stages").glob("*/__init__.py")}

    assert modules == {*STAGES, "__init__", "code", "params", "paths"}
    assert packages == PACKAGES


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_its_code_and_section(stage):
    entry = STAGES[stage]

    assert entry["cmd"] == f"exec python -m stages.{stage}"  # a shell would hide the exit of dvc
    assert [dep for dep in entry["deps"] if dep.startswith("code/")] == [f"code/{stage}.json"]
    assert not [dep for dep in entry["deps"] if dep.startswith(("nmt_core", "stages"))]
    assert stage in entry["params"][0]["code/settings.json"]


def test_the_code_is_always_checked():
    assert CODE["always_changed"]
    assert CODE["outs"] == ["code"]
    assert CODE["cmd"] == "exec python -m stages.code"


def test_every_section_but_two_belongs_to_a_stage():
    """Placement of work and serving of results change no byte of a result."""
    *of_stages, workers, promotion = SECTIONS
    params = [params for stage in STAGES.values() for params in stage["params"]]
    read = {name.split(".")[0] for names in params for name in names["code/settings.json"]}

    assert of_stages == list(STAGES)
    assert not {workers, promotion} & read


@cache
def list_modules(stage):
    """Return the modules that a stage runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        paths = digest_code([stage])[stage]
    return {path.removesuffix(".py").replace("/", ".") for path in paths}


@pytest.mark.parametrize(
    ("stage", "places"),
    [
        ("download", CORPORA.builtins.values()),
        ("download", [tables.__name__, translations.__name__]),
        ("download", [kind.__module__ for kind in get_args(get_args(VectorsConfig)[0])]),
        ("train", [place for name, place in METRICS.builtins.items() if name in DEFAULT_METRICS]),
        ("train", [kind.builds for kind in ARCHITECTURES.builtins.values()]),
        ("evaluate", METRICS.builtins.values()),
        ("export", [program.loader for program in PROGRAMS.builtins.values()]),
        ("export", [program.writer for program in PROGRAMS.builtins.values() if program.writer]),
    ],
)
def test_a_stage_depends_on_modules_its_settings_name(stage, places):
    modules = {place.partition(":")[0] for place in places}

    assert modules
    assert modules <= list_modules(stage)


@pytest.mark.parametrize("place", NEUTRAL)
def test_neutral_code_exists(place):
    assert (PROJECT / place).exists()
    assert (PROJECT / place).is_dir() is place.endswith("/")
