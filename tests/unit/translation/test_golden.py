"""What is to serve is sealed, and translates as it did."""

import json

import pytest

from nmt_core.base import files
from nmt_core.base.errors import BundleError
from nmt_core.translation import trial
from nmt_core.translation.trial import FEW, load_verified
from tests.support.sealing import reseal
from tests.support.tiny import LINES, export, tiny_translator


@pytest.fixture
def folder(tmp_path):
    return export(tmp_path / "export")


def change_golden(folder, number):
    """Seal other translations of so many golden sentences."""
    kept = files.read_json(folder / "golden.json")
    for answer in kept[:number]:
        answer["text"] += " and more"
    reseal(folder, "golden.json", json.dumps(kept).encode())


def test_what_was_exported_is_loaded(folder):
    loaded = load_verified(folder, threads=1)

    assert loaded.translate(LINES) == tiny_translator().translate(LINES)


def test_what_translates_otherwise_is_refused(folder):
    change_golden(folder, FEW + 1)

    with pytest.raises(BundleError, match="translates 3 of its golden sentences otherwise"):
        load_verified(folder)


def test_what_rounds_otherwise_is_loaded(folder):
    change_golden(folder, FEW)

    assert load_verified(folder)


def test_model_replaced_after_its_trial_is_refused(folder, monkeypatch):
    monkeypatch.setattr(trial, "run_trial", lambda *_: change_golden(folder, FEW) or "")

    with pytest.raises(BundleError, match="was replaced while it was loaded"):
        trial.load_tried(folder)
