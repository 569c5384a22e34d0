"""The extras of the package: what each can do, and the content of the wheel."""

import json
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import mlflow
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from nmt_core.base import packages, seal
from nmt_core.base.languages import Languages
from nmt_core.translation.engine_export import HeldOutText, prepare_engines
from nmt_core.translation.translator import Translator
from stages.tracking.journal import BUNDLE_DIGEST, Journal
from stages.tracking.mlflow_run import list_requirements
from stages.tracking.tracker import open_tracker, send
from tests.support.projects import PROJECT
from tests.support.tiny import LINES, MODEL, export, tiny_translator

TOLD = (PROJECT / "docs/integrate.md").read_text()

HIDE = """
import sys
from importlib.machinery import PathFinder
hidden = set(sys.argv.pop(1).split(","))
class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in hidden else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
from nmt_core.cli import app
app()
"""
"""Run the program without some installed modules."""


def list_installed(*extras):
    """Return the distributions that pip would install for extras of this project."""
    seen, waiting = set(), [(packages.DISTRIBUTION, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            needs = map(Requirement, distribution(name).requires or [])
        except PackageNotFoundError:  # for another platform
            continue
        for need in needs:
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(need.name), one) for one in ("", *need.extras)]
    return {name for name, _ in seen}


def run_with(extras, *arguments, stdin=""):
    """Run the program as if the package had been installed with only these extras."""
    there = list_installed(*extras)
    hidden = [
        module
        for module, names in packages_distributions().items()
        if not there & {canonicalize_name(name) for name in names}
    ]
    assert "torch" in hidden
    assert "numpy" not in hidden
    return subprocess.run(
        [sys.executable, "-c", HIDE, ",".join(hidden), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def export_with_engine(folder, model):
    translator = replace(
        tiny_translator(model=model), languages=Languages(source="de", target="en")
    )
    engines, _ = prepare_engines(
        ("float32",),
        translator=translator,
        model_config=model,
        folder=folder / "scratch",
        text=HeldOutText(LINES, LINES),
        threads=1,
    )
    return export(folder / "export", translator=translator, model=model, engines=engines)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    return export_with_engine(tmp_path_factory.mktemp("transformer"), MODEL)


def test_smallest_extra_translates_lines_and_documents(transformer, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<p>Hund <b>Haus</b></p>")

    for command, *arguments in (
        ["translate", "Hund"],
        ["translate-file", page],
        ["translate-file"],
    ):
        words = (command, "--model", transformer, *arguments)
        done = run_with(["translate"], *words, stdin="Hund")
        assert done.returncode == 0
        assert "not installed" not in done.stderr
    assert "<b>" in (tmp_path / "page.en.html").read_text()


@pytest.mark.parametrize(
    ("extras", "arguments", "needed", "extra"),
    [
        (["translate"], ["serve"], "", "serve"),
        (["translate"], ["evaluate", "--source", "a.txt", "--reference", "a.txt"], "", "torch"),
        (["translate"], ["learn", "--text", "a.txt", "--out", "b"], "torch", "torch"),
        (["translate"], ["sample", "Hund"], "torch", "torch"),
        (["translate"], ["explain", "--attention", "new", "Hund"], "", "torch"),
        ([], ["translate", "Hund"], "", "translate"),
        ([], ["verify"], "", "translate"),
    ],
)
def test_missing_package_is_reported_with_its_extra(
    transformer, tmp_path, extras, arguments, needed, extra
):
    (tmp_path / "a.txt").write_text("Hund\n")
    given = [tmp_path / one if (tmp_path / one).exists() else one for one in arguments]
    model = [] if arguments[0] == "learn" else ["--model", transformer]
    done = run_with(extras, given[0], *model, *given[1:])

    assert done.returncode == 1
    missing = rf"nmt: ({arguments[0]}|the \w+ engine) requires {needed or '[a-z0-9]+'}, which"
    assert re.match(missing, done.stderr)
    assert done.stderr.endswith(f"[{extra}]'\n")
    assert len(done.stderr.splitlines()) == 1


def test_glossary_requires_its_extra(transformer, tmp_path):
    terms = tmp_path / "terms.tsv"
    terms.write_text("Hund\thound\n")
    asked = ("translate", "--model", transformer, "--glossary", terms, "Hund")
    refused, translated = (
        run_with(extras, *asked) for extras in (["translate"], ["glossary", "translate"])
    )

    assert "[glossary]'" in refused.stderr
    assert (1, 0) == (refused.returncode, translated.returncode)


def test_pytorch_models_report_the_missing_package(tmp_path):
    refused = run_with(["translate"], "translate", "--model", export(tmp_path / "plain"), "Hund")

    told = r"nmt: this model requires torch, which is not installed; run: .* '.*\[torch\]'\n"
    assert re.fullmatch(told, refused.stderr)
    assert refused.returncode == 1


def test_server_requires_only_its_extra(transformer):
    done = run_with(["serve"], "serve", "--model", transformer, "--host", "no.such.host.invalid")

    assert "which is not installed" not in done.stderr
    assert "Traceback" not in done.stderr


def test_installed_size_is_at_most_the_documented():
    sizes = {name: measure(name) for name in list_installed("translate")}
    told = re.search(r"installs (\d+) MB", TOLD)

    assert sum(sizes.values()) < min(1e6 * int(told[1]), 295e6), sizes


def measure(name):
    """Return the size of a distribution in bytes, including compiled bytecode."""
    try:
        listed = distribution(name).files or []
    except PackageNotFoundError:  # for another platform
        return 0
    files = {Path(file.locate()) for file in listed}
    files |= {
        found
        for file in files
        if file.suffix == ".py"
        for found in file.parent.glob(f"__pycache__/{file.stem}.{sys.implementation.cache_tag}.pyc")
    }
    return sum(file.stat().st_size for file in files if file.is_file())


def test_wheel_contains_only_the_typed_library(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*command, "--no-build-isolation", "--wheel-dir", tmp_path, PROJECT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    [about] = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    code = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "nmt_core").rglob("*.py")}

    assert {name.split("/")[0].split("-")[0] for name in names} == {"nmt_core", "nmt_pipeline"}
    assert code <= set(names)
    assert {"nmt_core/py.typed", "nmt_core/server/page/index.html"} <= set(names)
    for field in ("Author", "License-Expression", "License-File", "Keywords", "Classifier"):
        assert f"\n{field}: " in about


def test_pytorch_is_required_without_other_engines(tmp_path, transformer):
    required = [
        {Requirement(line).name for line in list_requirements(folder)}
        for folder in (transformer, export(tmp_path / "plain"))
    ]

    assert [names & {"ctranslate2", "torch"} for names in required] == [
        {"ctranslate2"},
        {"ctranslate2", "torch"},
    ]


@pytest.mark.usefixtures("mlflow_here", "database")
def test_registered_model_predicts_in_mlflows_environment(project, monkeypatch, transformer):
    asked = ["uv", "pip", "install", "--dry-run", "--no-cache", "--target", project, "regex"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("the package index cannot be reached")
    monkeypatch.setenv("MLFLOW_ENV_ROOT", str(project / "environments"))
    with open_tracker("f", enabled=False) as tracker:
        tracker.model(
            transformer, name="nmt", tags={BUNDLE_DIGEST: seal.digest_bundle(transformer)}
        )
    send(Journal("f"))

    mlflow.models.predict(
        "models:/nmt/1", LINES, env_manager="uv", output_path=str(project / "answer.json")
    )

    expected = Translator.load(transformer).translate(LINES)
    assert json.loads((project / "answer.json").read_text()) == {"predictions": expected}
