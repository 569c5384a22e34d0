"""The model as MLflow's server has it: what it answers and refuses, and what it tells nobody."""

import logging
import os
import runpy
import shutil
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from mlflow.exceptions import MlflowException

with warnings.catch_warnings(action="ignore"):  # of types in MLflow's own code
    from stages.tracking import mlflow_run, served_model


class Echo:
    """Translates a line into itself and the beam size."""

    def translate(self, lines, *, beam_size):
        if "broken" in lines:
            raise ValueError("what is inside")
        return [f"{line} {beam_size}" for line in lines]


def test_who_logs_a_model_imports_nothing_from_its_copy(tmp_path, monkeypatch):
    """MLflow runs the file in our process, too, and removes what lies beside it after that."""
    copy = shutil.copy(served_model.__file__, tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code/nmt_core.zip").touch()
    before = sys.path
    monkeypatch.setattr(sys, "path", [*before])
    runpy.run_path(copy)

    assert sys.path == before


def test_a_long_card_is_cut_to_what_mlflow_takes(tmp_path):
    (tmp_path / "README.md").write_text("---\nlanguage: de\n---\n\n" + "a" * 6000)

    assert mlflow_run._card(tmp_path) == "a" * 5000


def test_the_library_goes_along_however_old_its_files_are(tmp_path, monkeypatch):
    """Files of 1970, as some package managers write them, are older than a zip file can say."""
    (tmp_path / "library/room").mkdir(parents=True)
    for name in ("__init__.py", "room/new.py"):
        (tmp_path / "library" / name).write_text(f"# {name}")
        os.utime(tmp_path / "library" / name, (0, 0))
    monkeypatch.setattr(mlflow_run.nmt_core, "__file__", str(tmp_path / "library/__init__.py"))

    with ZipFile(mlflow_run._pack_library(tmp_path)) as packed:
        read = {name: packed.read(name).decode() for name in packed.namelist()}
    assert read == {f"library/{name}": f"# {name}" for name in ("__init__.py", "room/new.py")}


@pytest.fixture
def model(monkeypatch):
    loaded = []
    monkeypatch.setattr(
        served_model.Translator, "load", lambda folder: loaded.append(folder) or Echo()
    )
    model = served_model.TranslationModel()
    model.load_context(SimpleNamespace(artifacts={"bundle": "models/export"}))
    assert loaded == [Path("models/export")]
    return model


def test_it_translates_as_widely_as_is_asked_or_as_it_was_exported(model):
    assert model.predict(["a", "b"], {"beam_size": 32}) == ["a 32", "b 32"]
    assert model.predict(["a"], {"beam_size": 0}) == model.predict(["a"]) == ["a None"]
    assert len(model.predict(["a"] * 1000, {"beam_size": 1})) == 1000
    assert len(model.predict(["a" * 100_000])) == 1


@pytest.mark.parametrize(
    ("lines", "beam_size", "told"),
    [
        (["a"], 33, "beam_size must be 0 (as exported) to 32, got 33"),
        (["a"], -1, "beam_size must be 0 (as exported) to 32, got -1"),
        (["a"] * 1001, 0, "at most 1000 lines, got 1001"),
        (["a" * 50_000, "b" * 50_001], 0, "at most 100000 characters, got 100001"),
        (["a", "b\ud800"], 0, "line 2 is no text"),
        (["\udfff"], 0, "line 1 is no text"),
    ],
)
def test_what_is_asked_too_much_is_refused(model, lines, beam_size, told):
    with pytest.raises(MlflowException) as refused:
        model.predict(lines, {"beam_size": beam_size})

    assert told in str(refused.value)
    assert refused.value.error_code == "INVALID_PARAMETER_VALUE"


def test_why_a_request_failed_is_told_to_the_log_alone(model, caplog):
    with caplog.at_level(logging.ERROR), pytest.raises(MlflowException) as failed:
        model.predict(["broken"])

    assert failed.value.error_code == "INTERNAL_ERROR"
    assert "what is inside" not in f"{failed.value} {failed.value.__cause__}"
    assert "ValueError: what is inside" in caplog.text
