"""The images of infra/docker, built and started once by Docker or buildah."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from infra import images
from nmt_core.base.languages import Languages
from nmt_core.translation.engine_export import HeldOutText, prepare_engines
from tests.support.projects import PROJECT
from tests.support.tiny import LINES, MODEL, export, tiny_translator

TOOL = next((tool for tool in ("docker", "buildah") if images.succeeds(tool, "info")), "")


@pytest.fixture(scope="module")
def tool():
    """Skip without a tool or base images; NMT_IMAGES=1 makes the base images."""
    if not TOOL:
        pytest.skip("Docker and buildah are missing: apt-get install buildah podman debootstrap")
    bases = images.list_bases(PROJECT / "infra/docker/Dockerfile.translate")
    if not all(images.succeeds(TOOL, "inspect", "--type=image", base) for base in bases):
        if os.environ.get("NMT_IMAGES") != "1":
            pytest.skip(f"{bases} are missing: make images BASE=FOLDER makes them")
        images.make_bases(TOOL, PROJECT / "servers/base")
    return TOOL


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    translator = replace(tiny_translator(), languages=Languages(source="de", target="en"))
    engines, _ = prepare_engines(
        ["int8"],
        translator=translator,
        model_config=MODEL,
        folder=folder / "scratch",
        text=HeldOutText(LINES, LINES),
        threads=1,
    )
    return export(folder / "export", translator=translator, engines=engines)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", images.COMMANDS)
def test_image_is_built_and_answers(tool, model, name, monkeypatch):
    monkeypatch.chdir(PROJECT)
    wheels = os.environ.get("PIP_FIND_LINKS")
    answer = images.check(tool, name, model, Path(wheels) if wheels else None)

    if answer.startswith("skipped"):
        pytest.skip(answer)
    assert "to start: " in answer
