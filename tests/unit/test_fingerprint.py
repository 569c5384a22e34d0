"""What makes a training another one: settings, data, code, and nothing else."""

import signal
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from nmt_core.config import Config
from nmt_core.training.distributed import ALONE
from nmt_core.training.interrupt import Interrupted
from stages import train
from stages.runtime.fingerprint import fingerprint


class Settings(Config):
    seed: int = 1


class Languages(Config):
    target: str = "en"


DEPENDENCIES = ("code/trainer.py", "code/inner/model.py", "data/shards/0.npy", "stage.py")


@pytest.fixture
def key(tmp_path, monkeypatch):
    """The fingerprint of a stage that depends on two folders and a file."""
    monkeypatch.chdir(tmp_path)
    for name in (*DEPENDENCIES, "other.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    pipeline = tmp_path / "dvc.yaml"
    pipeline.write_text(
        "stages:\n"
        "  train: {deps: [stage.py, code, data/shards]}\n"
        "  other: {deps: [other.py, code]}\n"
    )
    return lambda stage="train", seed=1, target="en": fingerprint(
        [Settings(seed=seed), Languages(target=target)], stage, pipeline=pipeline
    )


@pytest.mark.parametrize("name", DEPENDENCIES)
def test_whatever_a_stage_depends_on_makes_another_training(key, tmp_path, name):
    before = key()
    path = tmp_path / name
    path.write_text(f"{name} ")
    changed = key()
    path.rename(path.with_name("renamed"))

    assert len({before, changed, key()} if name != "stage.py" else {before, changed, ""}) == 3


def test_settings_and_stages_make_another_training(key):
    assert len({key(), key(seed=2), key(target="fr"), key("other")}) == 4


def test_a_new_file_of_code_makes_another_training(key, tmp_path):
    before = key()
    (tmp_path / "code/inner/new.py").touch()

    assert before != key()


def test_nothing_else_does(key, tmp_path):
    before = key()
    (tmp_path / "other.py").write_text("changed")
    (tmp_path / "code/__pycache__").mkdir()
    (tmp_path / "code/__pycache__/trainer.cpython-311.pyc").touch()
    (tmp_path / "stage.py").touch()

    assert before == key()


def test_another_target_language_is_another_training(monkeypatch):
    """Its BLEU is counted in other words, so that another validation may be the best."""
    languages = Languages(target="ja")
    told = []

    def fingerprint(settings, stage):
        told.append((stage, languages in settings))
        return "f"

    def run(*_, language, **__):
        told.append(language)
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(train, "load", lambda *_: SimpleNamespace(languages=languages))
    monkeypatch.setattr(train, "fingerprint", fingerprint)
    monkeypatch.setattr(train, "tracked", lambda *_: nullcontext())
    monkeypatch.setattr(train, "run", run)
    with pytest.raises(SystemExit):
        train.train(SimpleNamespace(), ALONE)

    assert told == [("train", True), "ja"]
