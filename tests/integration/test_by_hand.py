"""Stages that are run by hand: what is missing or altered is told with the stage that makes it."""

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
    """A checkout in which nothing is made yet."""
    for path in (paths.PIPELINE, paths.PARAMS):
        shutil.copy2(PROJECT / path, path)
    return project


@pytest.fixture
def told(monkeypatch, capsys):
    """Run a stage as a program does, and return its exit code and what it says of errors."""
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
def test_what_is_missing_is_told_with_its_maker(checkout, told, stage, path, maker):
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
def test_what_is_missing_behind_the_vocabulary(checkout, told, stage, path, maker):
    make_vocabulary()

    said = f"{path} is missing; the {maker} stage writes it: make repro\n"
    assert (1, said) == told(stage)


@pytest.mark.parametrize("stage", READERS)
def test_no_stage_believes_another_vocabulary(checkout, told, stage):
    """One more token is a sound vocabulary; only its digest tells."""
    make_vocabulary()
    with (paths.VOCABULARY / "target.txt").open("a") as file:
        file.write("c\n")

    said = "data/vocabulary/target.txt was altered since it was written"
    assert (1, f"{said}; the vocabulary stage writes it: make repro\n") == told(stage)


@pytest.mark.parametrize("stage", ["evaluate", "export"])
def test_no_stage_believes_another_model(checkout, told, stage):
    make_vocabulary()
    make(paths.TRAINED, model_safetensors="weights", training_json='{"fingerprint": "f"}')
    write_digests(paths.TRAINED)
    make(paths.TRAINED, model_safetensors="Weights")

    said = "models/trained/model.safetensors was altered since it was written"
    assert (1, f"{said}; the train stage writes it: make repro\n") == told(stage)


def test_a_file_of_ones_own_is_no_stages(checkout, told, monkeypatch):
    """What no stage makes is a mistake of ours, and keeps its traceback."""
    monkeypatch.setattr(import_module("stages.shard"), "main", Path("mine.txt").read_text)

    with pytest.raises(FileNotFoundError):
        run_stage(import_module("stages.shard").main)
