"""Checkpoints are whole or not there, and damage is noticed."""

import pytest
import torch

from nmt_core.errors import CheckpointError
from nmt_core.training.checkpoint import Checkpoint, CheckpointStore


def checkpoint(value):
    return Checkpoint({"model.w": torch.tensor([float(value)])}, {"step": value, "loss": 0.1})


@pytest.fixture
def store(tmp_path):
    store = CheckpointStore(tmp_path, keep=2)
    for step in (1, 2, 10):
        store.save(checkpoint(step), step=step)
    return store


def damage(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_the_newest_comes_back(store):
    newest = store.newest()

    assert checkpoint(10).progress == newest.progress
    assert [10.0] == newest.tensors["model.w"].tolist()


def test_only_the_newest_are_kept(store):
    names = ["step-00000002", "step-00000010"]

    assert names == sorted(path.stem for path in store.folder.glob("*.json"))
    assert names == sorted(path.stem for path in store.folder.glob("*.safetensors"))


def test_there_may_be_none(tmp_path):
    assert CheckpointStore(tmp_path / "new").newest() is None


@pytest.mark.parametrize("how", ["altered", "empty", "missing"])
def test_a_damaged_one_is_passed_over_and_told(store, how):
    path = store.folder / "step-00000010.safetensors"
    {"altered": lambda: damage(path), "empty": lambda: path.write_bytes(b"")}.get(
        how, path.unlink
    )()

    assert store.newest().progress["step"] == 2
    assert len(store.rejected) == 1
    assert "step-00000010" in store.rejected[0]


def test_tensors_without_their_json_file_were_never_finished(store):
    (store.folder / "step-00000010.json").unlink()

    assert store.newest().progress["step"] == 2
    assert not store.rejected


def test_training_never_starts_afresh_silently(store):
    """If all are damaged, that is an error and not a beginning."""
    for path in store.folder.glob("*.safetensors"):
        damage(path)

    with pytest.raises(CheckpointError, match=r"all checkpoints in .* are damaged") as error:
        store.newest()

    assert "delete the folder to train from the beginning" in str(error.value)


def test_a_full_disk_leaves_the_old_one(store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nmt_core.training.checkpoint.save_file", full)
    with pytest.raises(CheckpointError, match=r"could not be written \(No space left on device\)"):
        store.save(checkpoint(11), step=11)

    assert store.newest().progress["step"] == 10


def test_the_best_is_kept_apart(store):
    store.save_best(checkpoint(2), step=2)
    store.save_best(checkpoint(10), step=10)

    assert store.best().progress["step"] == 10
    assert store.best(at_most=9) is None


def test_another_format_is_told(store):
    for path in store.folder.glob("*.json"):
        path.write_text(path.read_text().replace('"format": 1', '"format": 0'))

    with pytest.raises(CheckpointError, match="is of format 0, this program reads 1"):
        store.newest()
