"""Settings of a training on synthetic pairs."""

import copy

import pytest
from pydantic import ValidationError

from nmt_core.base.errors import ConfigError
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all, read_settings
from stages.synthesis.composition import SynthesisConfig, compose_synthesis, leave_out
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
    assert sections["train"] == preset["train"]
    assert sections["evaluate"] == preset["evaluate"]
    assert sections["train"].model.decoder_layers == 1
    changed = {name for name in values if composed[name] != values[name]}
    assert changed == {"download", "train", "evaluate"}
    with pytest.raises(ConfigError, match="backward"):
        compose(values, student=True, backward=True)


def test_new_pairs_replace_earlier_ones(values):
    once = compose(values, kept=7)
    assert leave_out(once, SynthesisConfig()) == values
    assert compose(once, kept=9) == compose(values, kept=9)


@pytest.mark.parametrize(
    "wrong", [{"share": 1.0}, {"lowest": 1.0}, {"licence": ""}, {"beam_size": 0}, {"teachr": "x"}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        SynthesisConfig(**wrong)
