"""Checkpoints are whole or absent, and damage is found."""

from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.errors import BundleError
from nmt_core.training.checkpoint import Checkpoint, CheckpointStore
from tests.support.trainings import PowerCut


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


def test_newest_is_restored_and_others_removed(store):
    newest, names = store.newest(), ["step-00000002", "step-00000010"]

    assert (newest.progress, newest.tensors["model.w"].tolist()) == (checkpoint(10).progress, [10])
    for suffix in ("json", "safetensors"):
        assert names == sorted(path.stem for path in store.folder.glob(f"*.{suffix}"))
    assert CheckpointStore(store.folder / "new").newest() is None


def empty(path):
    path.write_bytes(b"")


def record(text):
    """Return a function that writes another record."""
    return lambda path: path.write_text(text, errors="surrogatepass")


@pytest.mark.parametrize(
    ("suffix", "change", "rejected"),
    [
        (".safetensors", damage, 1),
        (".safetensors", empty, 1),
        (".safetensors", Path.unlink, 1),
        (".json", Path.unlink, 0),  # it was never finished
        (".json", record("{}"), 1),
        (".json", record("[]"), 1),
        (".json", record("3"), 1),
        (".json", record('{"format": 3}'), 1),
        (".json", record("[" * 10**5), 1),
        (".json", record('{"format": 3, "sha256": "", "record": {}}'), 1),
        (".json", record("\ud800"), 1),
    ],
)
def test_checkpoint_before_a_damaged_one_is_loaded(store, suffix, change, rejected):
    change(store.folder / f"step-00000010{suffix}")

    assert store.newest().progress["step"] == 2
    assert ["step-00000010" in reason for reason in store.rejected] == [True] * rejected


def test_training_never_starts_anew_silently(store):
    """If all are damaged, training stops with an error instead of starting again."""
    for path in store.folder.glob("*.safetensors"):
        damage(path)

    with pytest.raises(BundleError, match=r"all checkpoints in .* are damaged") as error:
        store.newest()

    assert "delete the folder to train from the beginning" in str(error.value)


def test_full_disk_keeps_the_old_checkpoint(store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nmt_core.training.checkpoint.save_file", full)
    with pytest.raises(BundleError, match=r"could not be written \(No space left on device\)"):
        store.save(checkpoint(11), step=11)

    assert store.newest().progress["step"] == 10


def test_best_is_stored_apart(store):
    store.save_best(checkpoint(11), step=11)
    store.save(checkpoint(11), step=11)
    store.save(checkpoint(12), step=12)

    assert store.best().progress["step"] == 11
    again = CheckpointStore(store.folder)
    again.newest()
    assert [11.0] == again.best().tensors["model.w"].tolist()


def test_only_outdated_own_files_are_removed(store):
    """Old checkpoints and bests, tensors without a record, parts of a killed process."""
    for step in (11, 12, 13):
        store.save_best(checkpoint(step), step=step)
        store.save(checkpoint(step), step=step)
    for name in ("step-00000003.safetensors", ".best-00000004.json.abcdefgh.part", "notes.txt"):
        (store.folder / name).touch()
    store.save(checkpoint(14), step=14)

    kept = [
        f"{name}.{kind}"
        for name in ("best-00000013", "step-00000013", "step-00000014")
        for kind in ("json", "safetensors")
    ]
    assert sorted([*kept, "notes.txt"]) == sorted(path.name for path in store.folder.iterdir())


@pytest.mark.parametrize("removed", range(5))
def test_half_removed_checkpoint_is_not_damaged(tmp_path, monkeypatch, removed):
    """A checkpoint is invalid before any of its files, or its best model, is removed."""
    store = CheckpointStore(tmp_path, keep=1)
    store.save_best(checkpoint(1), step=1)
    store.save(checkpoint(1), step=1)
    store.save_best(checkpoint(2), step=2)
    unlink, left = Path.unlink, iter(range(removed))

    def crashes(path, **options):
        if path.suffix != ".part" and next(left, None) is None:
            raise KeyboardInterrupt
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", crashes)
    with suppress(KeyboardInterrupt):
        store.save(checkpoint(2), step=2)
    damage(tmp_path / "step-00000002.safetensors")
    after = CheckpointStore(tmp_path)
    with suppress(BundleError):
        after.newest()

    assert after.rejected == ["step-00000002.safetensors was altered since it was written"]


def test_best_of_a_lost_future_is_ignored(tmp_path):
    """A power cut between a best model and its checkpoint, and a budget of seconds after it."""
    store = CheckpointStore(tmp_path)
    store.save_best(checkpoint(1000), step=1000)
    store.save(checkpoint(1000), step=1000)
    store.save_best(checkpoint(2000), step=2000)
    store = CheckpointStore(tmp_path)
    assert store.newest().progress["step"] == 1000
    assert store.best().progress["step"] == 1000
    store.save_best(checkpoint(1900), step=1900)
    store.save(checkpoint(1900), step=1900)

    assert store.best().progress["step"] == 1900


@contextmanager
def power_for(changes):
    """Allow a store a number of changes of its folder, and then fail."""
    left = iter(range(changes))

    def cut(change):
        def change_or_cut(*arguments):
            if next(left, None) is None:
                raise PowerCut
            return change(*arguments)

        return change_or_cut

    with (
        mock.patch.object(files, "whole_file", cut(files.whole_file)),
        mock.patch.object(CheckpointStore, "_remove", cut(CheckpointStore._remove)),
        suppress(PowerCut),
    ):
        yield


def train(store, scores, *, until):
    """Continue from the store with a number of validations; return the best."""
    found = store.newest()
    step, best, value = (0, None, -1) if found is None else found.progress["at"]
    for number in range(step + 1, until + 1):
        if scores[number - 1] > value:
            best, value = number, scores[number - 1]
            store.save_best(checkpoint(number), step=number)
        at = Checkpoint({"model.w": torch.zeros(1)}, {"at": [number, best, value]})
        store.save(at, step=number)
    return best


scores = st.lists(st.integers(0, 9), min_size=8, max_size=8)


@pytest.mark.slow
@given(scores, scores, st.integers(0, 40), st.integers(4, 8), st.booleans())
def test_best_belongs_to_its_own_past(
    tmp_path_factory, first, second, changes, until, newest_is_damaged
):
    """Scores after the cut differ from those before, as on another machine."""
    folder = tmp_path_factory.mktemp("checkpoints")
    with power_for(changes):
        train(CheckpointStore(folder), first, until=8)
    complete = sorted(folder.glob("step-*.json"))
    if newest_is_damaged and len(complete) > 1:
        complete[-1].write_text("{")
    store = CheckpointStore(folder)
    best = train(store, second, until=until)

    assert best is None or store.best().progress["step"] == best
    again = CheckpointStore(folder)
    again.newest()
    assert best is None or again.best().progress["step"] == best


def test_every_changed_character_is_found(store):
    """Above all digits: a changed position of the data would train other weights."""
    path = store.folder / "step-00000010.json"
    text = path.read_text()
    whole = store.newest().progress
    for place, character in enumerate(text):
        path.write_text(text[:place] + ("7" if character != "7" else "3") + text[place + 1 :])
        again = CheckpointStore(store.folder)
        newest = again.newest().progress
        assert newest == whole or (newest["step"] == 2 and len(again.rejected) == 1)


def test_damaged_best_is_found_before_training_continues(store):
    """The checkpoint before it, which names another best, makes it again."""
    store.save_best(checkpoint(11), step=11)
    store.save(checkpoint(11), step=11)
    damage(store.folder / "best-00000011.safetensors")
    again = CheckpointStore(store.folder)

    assert again.newest().progress["step"] == 10
    assert again.rejected == ["best-00000011.safetensors was altered since it was written"]
