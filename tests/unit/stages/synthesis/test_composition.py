"""Settings of a training on synthetic pairs."""

import copy

import pytest
from pydantic import ValidationError

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import read_languages, summarize_directions
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import MixtureConfig
from stages import paths
from stages.configure.request import compose_settings
from stages.configure.sections import build_all, read_settings
from stages.params import DownloadParams
from stages.synthesis.composition import (
    SynthesisConfig,
    compose_synthesis,
    count_weighted_pairs,
    find_weight,
    read_temperature,
    remove_corpora,
)
from tests.support.projects import PROJECT


@pytest.fixture
def values():
    return read_settings(path=PROJECT / "params.yaml")


def compose(values, *, student=False, kept=500, pairs=20000.0, **settings):
    config = SynthesisConfig(**settings)
    corpora = config.plan_corpora(build(DownloadParams, values["download"], at="download"))
    counts = dict.fromkeys(corpora, kept)
    return compose_synthesis(values, config, corpora, kept=counts, pairs=pairs, student=student)


def name_several(values, *directions, monolingual=()):
    """Return settings of several directions, with monolingual text of some languages."""
    files = {"kind": "files", "licence": "own", "train": {"source": "a.tsv"}}
    text = {"kind": "text", "licence": "own", "path": "a.txt"}
    corpora = {each.lower(): files | {"languages": each} for each in directions}
    corpora |= {f"only-{code}": text | {"language": code} for code in monolingual}
    pairs = summarize_directions([*map(read_languages, directions)]).model_dump()
    download = {"languages": pairs, "directions": [*directions], "corpora": corpora}
    return copy.deepcopy(values) | {"download": download}


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


SEVERAL = ("de-en", "en-de", "fr-en")


@pytest.mark.parametrize(
    ("learned", "texts", "settings", "planned"),
    [
        (["de-en"], "", {}, "distilled"),
        (["de-en"], "", {"backward": True, "direction": "de-en"}, "backtranslated"),
        (SEVERAL, "", {}, "distilled-de-en distilled-en-de distilled-fr-en"),
        (SEVERAL, "", {"direction": "en-de", "text": ("a",)}, "distilled-en-de"),
        (SEVERAL, ["de"], {"backward": True}, "backtranslated-en-de"),
        (SEVERAL, ["fr", "en"], {"backward": True}, "backtranslated-de-en backtranslated-fr-en"),
        (["de-pt-BR", "pt-BR-de"], "", {"direction": "de-pt-BR"}, "distilled-de-pt-br"),
    ],
)
def test_each_direction_has_its_corpus(values, learned, texts, settings, planned):
    present = name_several(values, *learned, monolingual=texts)
    download = build(DownloadParams, present["download"], at="download")
    found = SynthesisConfig(**settings).plan_corpora(download)
    assert " ".join(found) == planned
    several = len(learned) > 1
    assert all(not several or name.endswith(f"-{own}".lower()) for name, own in found.items())


@pytest.mark.parametrize(
    ("learned", "settings", "message"),
    [
        (["de-en"], {"direction": "en-de"}, "the model learns de-en; en-de is not one of"),
        (SEVERAL, {"text": ("a",)}, "name the direction .* whose source language"),
        (SEVERAL, {"backward": True}, "no monolingual text in a target language of de-en, en-de,"),
    ],
)
def test_unclear_directions_are_refused(values, learned, settings, message):
    with pytest.raises(ConfigError, match=message):
        compose(name_several(values, *learned), **settings)


def test_corpora_serve_only_their_direction(values):
    composed = compose(name_several(values, "de-en", "en-de", monolingual=["en"]), backward=True)
    download = build(DownloadParams, composed["download"], at="download")
    both = compose(composed, share=0.2)["download"]["corpora"]

    assert [(use.name, str(use.languages), use.swapped) for use in download.uses] == [
        ("de-en", "de-en", False), ("de-en en-de", "en-de", True),
        ("en-de", "en-de", False), ("en-de de-en", "de-en", True),
        ("backtranslated-de-en", "de-en", False),
    ]  # fmt: skip
    assert composed["download"]["corpora"]["backtranslated-de-en"]["tag"] == "backtranslated"
    weights = {name: corpus.get("weight") for name, corpus in both.items()}
    assert weights["distilled-de-en"] == weights["distilled-en-de"] == 5.0  # 5 x 1,000 of 25,000
    assert both["backtranslated-de-en"]["weight"] == 40.0


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
    assert remove_corpora(once, ["distilled"]) == values
    assert compose(once, kept=9) == compose(values, kept=9)


@pytest.mark.parametrize(
    "wrong", [{"share": 1.0}, {"licence": ""}, {"beam_size": 0}, {"teachr": "x"}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        SynthesisConfig(**wrong)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.15, 0.5])
@pytest.mark.parametrize("made", [{"made": 300}, {"a": 300, "b": 7000}])
def test_weights_yield_the_share_at_any_temperature(project, temperature, share, made):
    sizes, weights = {"web": 50_000, "own": 1000}, {"web": 1.0, "own": 3.0}
    common = {"kind": "files", "licence": "", "removed": {}}
    corpora = {
        name: common | {"weight": weight, "pairs": {"train": sizes[name]}}
        for name, weight in weights.items()
    }
    report = {"pairs": {}, "removed": {}, "corpora": corpora}
    files.write_json(paths.REPORTS / "download.json", report)
    others = count_weighted_pairs(temperature)
    weight = find_weight(share, [*made.values()], others=others, temperature=temperature)
    sizes, weights = sizes | made, weights | dict.fromkeys(made, weight)
    config = MixtureConfig(temperature=temperature)
    ranges = {name: range(size) for name, size in sizes.items()}
    shares = Mixture(ranges, weights, config, seed=1).compute_shares()
    assert sum(shares[name] for name in made) == pytest.approx(share)


def test_weight_and_temperature_have_limits():
    assert find_weight(0.99, [1], others=1e9) == 1_000_000
    assert read_temperature({"train": {}}) == 1
    assert read_temperature({"train": {"mixture": {"temperature": 2.5}}}) == 2.5
