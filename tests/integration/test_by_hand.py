"""Stages run by hand: a message about a missing or altered file names the stage that writes it."""

import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from nmt_core.text.vocabulary import SPECIALS
from stages import paths
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import write_digests
from tests.support.projects import PROJECT

READERS = ("shard", "embeddings", "train", "evaluate", "export")


@pytest.fixture
def checkout(project):
    """A checkout before any stage ran."""
    for path in (paths.PIPELINE, paths.PARAMS):
        shutil.copy2(PROJECT / path, path)
    return project


@pytest.fixture
def told(monkeypatch, capsys):
    """Run a stage as a program; return its exit code and its error output."""
    monkeypatch.setattr("stages.runtime.entry.end_with_parent", lambda: None)
    monkeypatch.setattr("stages.runtime.entry.signal.signal", lambda *_: None)
    monkeypatch.setattr("stages.runtime.entry.os._exit", sys.exit)  # threads of other tests
    monkeypatch.setattr("sys.argv", ["stage"])
    capsys.readouterr()

    def run(stage):
        with pytest.raises(SystemExit) as ended:
            run_stage(import_module(f"stages.{stage}").main)
        return ended.value.code, capsys.readouterr().err

    return run


def make(folder, **content):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        (folder / name.replace("_", ".")).write_text(text)


def make_vocabulary():
    tokens = "".join(f"{token}\n" for token in (*SPECIALS, "a", "b"))
    make(paths.VOCABULARY, source_txt=tokens, target_txt=tokens)
    write_digests(paths.VOCABULARY)


@pytest.mark.parametrize(
    ("stage", "path", "maker"),
    [
        ("tokenize", "data/corpus/train.source", "download"),
        ("vocabulary", "data/tags.json", "download"),
        *((reader, "data/vocabulary/digests.json", "vocabulary") for reader in READERS),
    ],
)
def test_missing_file_is_reported_with_its_stage(checkout, told, stage, path, maker):
    said = f"{path} is missing; the {maker} stage writes it: make repro\n"

    assert (1, said) == told(stage)


@pytest.mark.parametrize(
    ("stage", "path", "maker"),
    [
        ("shard", "data/corpus/corpus.json", "download"),
        ("evaluate", "models/trained/digests.json", "train"),
        ("export", "models/trained/digests.json", "train"),
    ],
)
def test_missing_file_after_the_vocabulary_is_reported(checkout, told, stage, path, maker):
    make_vocabulary()

    said = f"{path} is missing; the {maker} stage writes it: make repro\n"
    assert (1, said) == told(stage)


@pytest.mark.parametrize("stage", READERS)
def test_stages_reject_another_vocabulary(checkout, told, stage):
    """A vocabulary with one more token is valid; only its digest differs."""
    make_vocabulary()
    with (paths.VOCABULARY / "target.txt").open("a") as file:
        file.write("c\n")

    said = "data/vocabulary/target.txt was altered since it was written"
    assert (1, f"{said}; the vocabulary stage writes it: make repro\n") == told(stage)


@pytest.mark.parametrize("stage", ["evaluate", "export"])
def test_stages_reject_another_model(checkout, told, stage):
    make_vocabulary()
    make(paths.TRAINED, model_safetensors="weights", training_json='{"fingerprint": "f"}')
    write_digests(paths.TRAINED)
    make(paths.TRAINED, model_safetensors="Weights")

    said = "models/trained/model.safetensors was altered since it was written"
    assert (1, f"{said}; the train stage writes it: make repro\n") == told(stage)


def test_missing_user_file_names_no_stage(checkout, told, monkeypatch):
    """A missing file that no stage writes is a bug, and keeps its traceback."""
    monkeypatch.setattr(import_module("stages.shard"), "main", Path("mine.txt").read_text)

    with pytest.raises(FileNotFoundError):
        run_stage(import_module("stages.shard").main)
