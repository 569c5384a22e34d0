"""Test sealed language models."""

import json
import shutil
from pathlib import Path

import pytest

from nmt_core.base import seal
from nmt_core.base.errors import BundleError, NmtError
from nmt_core.extensions.language_models.training import load_language_model
from tests.support.language_models import LSTM, TRANSFORMER, learnt
from tests.support.language_models import seal as seal_model
from tests.support.sealing import reseal


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sealed")
    _, model, _ = learnt(folder)
    seal_model(folder / "lm", model)
    return folder / "lm"


@pytest.fixture
def folder(sealed, tmp_path):
    """A copy that a test may damage."""
    return Path(shutil.copytree(sealed, tmp_path / "lm"))


@pytest.mark.parametrize("unit", ["character", "word"])
@pytest.mark.parametrize(
    "model", [LSTM, {"kind": "ngram"}, TRANSFORMER], ids=["lstm", "ngram", "transformer"]
)
def test_a_sealed_model_is_the_same(tmp_path, model, unit):
    _, model, points = learnt(tmp_path, model, unit=unit)
    learning = {"points": [point.model_dump() for point in points]}
    for name in ("one", "two"):
        seal_model(tmp_path / name, model, **learning)
    again = load_language_model(tmp_path / "one", device="cpu")

    assert seal.list_contents(tmp_path / "one") == seal.list_contents(tmp_path / "two")
    assert model.score(["the cat"]) == again.score(["the cat"])
    assert again.units.config == model.units.config


@pytest.mark.parametrize("shape", [{"layers": 2}, {"layers": 1000, "width": 65_536}])
def test_oversized_settings_are_refused_before_allocation(folder, shape):
    """An LSTM of a thousand layers of the largest width has 10^13 weights."""
    settings = json.loads((folder / "model.json").read_text()) | shape
    reseal(folder, "model.json", json.dumps(settings).encode())

    with pytest.raises(BundleError, match="is missing"):
        load_language_model(folder, device="cpu")


NESTED = b"[" * 100_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.json", b"[]"),
        ("model.json", NESTED),
        ("model.json", b"\xff"),
        ("units.json", b"3"),
        ("vocabulary.json", b"{}"),
        ("vocabulary.json", b'["<pad>", "<s>", "</s>", "<unk>", 5]'),
        ("vocabulary.json", NESTED),
        ("model.safetensors", b""),
        ("model.safetensors", None),
        ("vocabulary.json", None),
    ],
)
def test_malformed_files_give_an_error_of_one_sentence(folder, name, content):
    reseal(folder, name, content)

    with pytest.raises(NmtError) as told:
        load_language_model(folder, device="cpu")
    assert "\n" not in str(told.value)


def test_damage_is_reported(folder):
    (folder / "model.safetensors").write_bytes(b"rubbish")

    with pytest.raises(BundleError, match=r"model.safetensors was altered"):
        load_language_model(folder, device="cpu")
