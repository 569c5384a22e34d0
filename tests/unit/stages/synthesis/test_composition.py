"""Settings of a training on a teacher's pairs: theirs, and nothing else, change."""

import copy

import pytest
from pydantic import ValidationError

from nmt_core.base.errors import ConfigError
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all, read_settings
from stages.configure.text_size import find_weight
from stages.synthesis.composition import compose_synthesis, leave_out
from stages.synthesis.settings import SynthesisConfig
from tests.support.projects import PROJECT


@pytest.fixture
def values():
    return read_settings(path=PROJECT / "params.yaml")


def compose(values, *, student=False, kept=500, pairs=20000.0, **settings):
    config = SynthesisConfig(**settings)
    return compose_synthesis(values, config, kept=kept, pairs=pairs, student=student)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kept", [10, 500, 40000])
def test_a_share_of_what_is_read_are_these_pairs(values, share, kept):
    made = compose(values, share=share, kept=kept)["download"]["corpora"]["distilled"]
    read = made["weight"] * kept
    assert read / (read + 20000) == pytest.approx(share)
    assert find_weight(share, pairs=kept, others=20000) == made["weight"]


def test_no_weight_is_more_than_a_corpus_may_have():
    assert find_weight(0.99, pairs=1, others=1e9) == 1_000_000


@pytest.mark.parametrize("backward", [False, True])
def test_all_else_stays_and_settings_hold(values, backward):
    before = copy.deepcopy(values)
    composed = compose(values, backward=backward)
    name = "backtranslated" if backward else "distilled"
    corpus = composed["download"]["corpora"].pop(name)
    assert composed == before == values
    assert corpus["tag"] == ("backtranslated" if backward else "")
    assert corpus["train_only"]
    assert corpus["train"]["source"].endswith(f"synthetic/{name}/pairs/train.source")
    composed["download"]["corpora"][name] = corpus
    download = build_all(composed, source="test")["download"]
    assert download.corpora[name].choose_filter(download.filter) == download.filter
    assert download.filter.look


def test_a_student_reads_deeply_and_writes_by_one_layer(values):
    composed = compose(values, student=True)
    sections = build_all(composed, source="test")
    model = sections["train"].model
    assert model.architecture == "transformer"
    assert model.encoder_layers > 3 > model.decoder_layers == 1
    assert sections["evaluate"].beam.beam_size == 1
    changed = {name for name in values if composed[name] != values[name]}
    assert changed == {"download", "train", "evaluate"}
    chosen = compose_settings(["data=demo", "model=student"], conf=PROJECT / "conf")
    preset = build_all(chosen, source="test")
    assert sections["train"] == preset["train"]
    assert sections["evaluate"] == preset["evaluate"]
    assert composed["train"]["budget"] == values["train"]["budget"]
    with pytest.raises(ConfigError, match="leave out backward"):
        compose(values, student=True, backward=True)


def test_a_corpus_made_before_gives_way(values):
    config = SynthesisConfig(name="mine")
    once = compose(values, name="mine", kept=7)
    assert leave_out(once, config) == values
    assert compose(once, name="mine", kept=9) == compose(values, name="mine", kept=9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"part": "3/2"},
        {"part": "0/2"},
        {"part": "half"},
        {"name": "Mine!"},
        {"share": 1.0},
        {"lowest": 1.0},
        {"licence": ""},
        {"sampling": True, "teacher": "https://teacher.example"},
    ],
)
def test_what_is_no_setting_is_refused(wrong):
    with pytest.raises(ValidationError):
        SynthesisConfig(**wrong)
