"""Commands that install packages and start programs, as a person types them."""

import json
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError

import pytest

from nmt_core.base.packages import format_install_command, name_program


class Installed:
    requires = ("uvicorn; extra == 'serve'",)

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, _):
        return self.origin and json.dumps({"url": self.origin})


def missing(_):
    raise PackageNotFoundError


@pytest.mark.parametrize(
    ("origin", "installed"),
    [
        ("file:///clones/my%20nmt", "/clones/my nmt[serve]"),
        ("https://example.org/a.whl", "https://example.org/a.whl[serve]"),
        (None, "nmt-pipeline[serve]"),
    ],
)
def test_advice_installs_from_the_original_source(monkeypatch, origin, installed):
    """An unregistered name would install a stranger's package."""
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(origin))
    assert format_install_command("uvicorn").endswith(f"pip install '{installed}'")


def test_advice_names_the_folder_of_the_code(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", missing)
    assert format_install_command("uvicorn").endswith("pip install '.[train]'")


@pytest.mark.parametrize(
    ("prefix", "activated", "typed"),
    [
        (".venv", "", ".venv/bin/dvc"),
        (".venv", ".venv", "dvc"),
        ("/usr", "", "dvc"),
        ("/opt/nmt", "", "/opt/nmt/bin/dvc"),
    ],
)
def test_programs_are_named_as_typed(tmp_path, monkeypatch, prefix, activated, typed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / prefix))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setenv("VIRTUAL_ENV", activated and str(tmp_path / activated))

    assert name_program("dvc") == typed
