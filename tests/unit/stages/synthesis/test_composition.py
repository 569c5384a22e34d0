"""Settings of a training on synthetic pairs."""

import copy

import pytest
from pydantic import ValidationError

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import MixtureConfig
from stages.configure.request import compose_settings
from stages.configure.sections import build_all, read_settings
from stages.synthesis.composition import (
    SynthesisConfig,
    compose_synthesis,
    count_weighted_pairs,
    find_weight,
    read_temperature,
    remove_corpus,
)
from tests.support.projects import PROJECT


@pytest.fixture
def values():
    return read_settings(path=PROJECT / "params.yaml")


def compose(values, *, student=False, kept=500, pairs=20000.0, **settings):
    config = SynthesisConfig(**settings)
    return compose_synthesis(values, config, kept=kept, pairs=pairs, student=student)


@pytest.mark.parametrize(("backward", "name"), [(False, "distilled"), (True, "backtranslated")])
def test_only_the_corpus_is_added(values, backward, name):
    before = copy.deepcopy(values)
    composed = compose(values, backward=backward, licence="cc0-1.0", share=0.2)
    assert build_all(composed, source="test")
    folder = f"downloads/synthetic/{name}/pairs"
    assert composed["download"]["corpora"].pop(name) == {
        "kind": "files",
        "train": {side: f"{folder}/train.{side}" for side in ("source", "target")},
        "licence": "cc0-1.0",
        "train_only": True,
        "weight": 10.0,  # 10 x 500 pairs are a fifth of 25,000
        "tag": "backtranslated" if backward else "",
        "filter": None,
    }
    assert composed == before == values


def test_student_takes_its_preset(values):
    composed = compose(values, student=True)
    sections = build_all(composed, source="test")
    chosen = compose_settings(["data=demo", "model=student"], conf=PROJECT / "conf")
    preset = build_all(chosen, source="test")
    model = preset["train"].model.model_copy(update={"dropout": sections["train"].model.dropout})
    assert sections["train"] == preset["train"].model_copy(update={"model": model})
    assert sections["evaluate"] == preset["evaluate"]
    assert sections["train"].model.decoder_layers == 1
    changed = {name for name in values if composed[name] != values[name]}
    assert changed == {"download", "train", "evaluate"}
    with pytest.raises(ConfigError, match="backward"):
        compose(values, student=True, backward=True)


def test_new_pairs_replace_earlier_ones(values):
    once = compose(values, kept=7)
    assert remove_corpus(once, SynthesisConfig()) == values
    assert compose(once, kept=9) == compose(values, kept=9)


@pytest.mark.parametrize(
    "wrong", [{"share": 1.0}, {"licence": ""}, {"beam_size": 0}, {"teachr": "x"}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        SynthesisConfig(**wrong)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_weights_yield_the_share_at_any_temperature(tmp_path, temperature, share):
    sizes, weights = {"web": 50_000, "own": 1000, "made": 300}, {"web": 1.0, "own": 3.0}
    common = {"kind": "files", "licence": "", "removed": {}}
    corpora = {
        name: common | {"weight": weight, "pairs": {"train": sizes[name]}}
        for name, weight in weights.items()
    }
    report = {"pairs": {}, "removed": {}, "corpora": corpora}
    files.write_json(tmp_path / "download.json", report)
    others = count_weighted_pairs(temperature, reports=tmp_path)
    weights["made"] = find_weight(share, pairs=300, others=others, temperature=temperature)
    config = MixtureConfig(temperature=temperature)
    ranges = {name: range(size) for name, size in sizes.items()}
    shares = Mixture(ranges, weights, config, seed=1).compute_shares()
    assert shares["made"] == pytest.approx(share)


def test_weight_and_temperature_have_limits():
    assert find_weight(0.99, pairs=1, others=1e9) == 1_000_000
    assert read_temperature({"train": {}}) == 1
    assert read_temperature({"train": {"mixture": {"temperature": 2.5}}}) == 2.5
