"""The files that export seals with a model, and the programs that serve it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from nmt_core.base import files
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.seal import read_manifest
from nmt_core.text.aligner.pieces import ShortlistConfig
from nmt_core.translation.translator import Translator
from stages import export
from stages.params import EvaluateParams, ExportParams
from stages.paths import Inputs
from tests.support.tiny import LINES, MODEL, tiny_translator

DE_EN = Languages(source="de", target="en")


def write_terms(folder, text, **settings):
    path = folder / "terms.tsv"
    path.write_text(text)
    return ExportParams(engines=(), golden_sentences=2, glossary=path, **settings)


def seal(folder, params, monkeypatch, *, told=None):
    """Return an export of an untrained model, and its metrics."""
    translator = replace(tiny_translator(), languages=DE_EN)
    monkeypatch.setattr(export, "load_trained", lambda *_: translator)

    def write_papers(written):
        (told if told is not None else []).append(written)
        return "# A tiny model\n", {"bomFormat": "CycloneDX"}, []

    for split in ("train", "test", "validation"):
        for side in ("source", "target"):
            lines = [f"{line} {split} {side}" for line in LINES if line]
            files.write_lines(folder / f"{split}.{side}", lines)
    files.write_json(folder / "model.json", MODEL.model_dump(mode="json"))
    metrics = export.run(
        params,
        EvaluateParams(),
        Inputs(trained=folder, corpus=folder),
        languages=DE_EN,
        write_papers=write_papers,
        evaluated=None,
        export=folder / "export",
    )
    return folder / "export", metrics


def test_no_shortlist_is_learnt_without_its_engine(tmp_path, monkeypatch):
    monkeypatch.setattr(export, "learn_shortlist", None)
    params = write_terms(tmp_path, "", shortlist=ShortlistConfig())

    _, metrics = seal(tmp_path, params, monkeypatch)

    assert metrics["engines"] == {}


def test_a_glossary_is_sealed_and_used(tmp_path, monkeypatch):
    params = write_terms(tmp_path, "# ours\n # too\nHaus\tmanor\tmansion\n\nTee\n")
    bundle, metrics = seal(tmp_path, params, monkeypatch)
    [glossary] = Translator.load(bundle).glossaries

    assert metrics["glossary_terms"] == 2
    assert glossary.languages == DE_EN.codes
    terms = {"Haus": ("manor", "mansion"), "Tee": ()}
    assert glossary.translations == terms
    (bundle / "glossary.tsv").write_text("Haus\thovel\n")
    with pytest.raises(BundleError, match=r"glossary\.tsv"):
        Translator.load(bundle)


def test_without_a_glossary_nothing_is_sealed(tmp_path, monkeypatch):
    bundle, metrics = seal(tmp_path, ExportParams(engines=(), golden_sentences=2), monkeypatch)
    assert metrics["glossary_terms"] == 0
    assert "glossary.tsv" not in read_manifest(bundle)["files"]


def test_the_sealed_glossary_is_the_pinned_one(tmp_path):
    plain = write_terms(tmp_path, "Haus\tmanor\n")
    params = plain.pinned()
    assert (plain.glossary_sha256, ExportParams().pins()) == ("", {})
    assert params.pins() == {str(plain.glossary): files.sha256(plain.glossary)}
    [found] = export.read_glossary(params, DE_EN)
    assert found.translations == {"Haus": ("manor",)}
    write_terms(tmp_path, "Haus\thovel\n")
    with pytest.raises(ConfigError, match=r"terms\.tsv changed since params\.yaml was written"):
        export.read_glossary(params, DE_EN)


@pytest.mark.parametrize(
    ("pairs", "read"), [(1, [0]), (3, [0, 4, 8]), (10, [*range(10)]), (99, [*range(10)])]
)
def test_a_shortlist_samples_the_whole_training_text(tmp_path, monkeypatch, pairs, read):
    translator = tiny_translator()
    for side in ("source", "target"):
        files.write_lines(tmp_path / f"train.{side}", ["a" * (n + 1) for n in range(10)])
    seen = []
    monkeypatch.setattr(export, "learn_shortlist", lambda *those: seen.append(those))
    inputs, settings = Inputs(corpus=tmp_path), ShortlistConfig(pairs=pairs, min_tokens=1)
    assert export.learn_from_training(ShortlistConfig(), inputs, translator) is None
    export.learn_from_training(settings, inputs, translator)
    [(given, tokens, known)] = seen

    wanted = [translator.source.ids("a" * (n + 1)) for n in read]
    assert [[side.tolist() for side in pair] for pair in given] == [[one, one] for one in wanted]
    assert tokens == (translator.source.vocabulary.tokens, translator.target.vocabulary.tokens)
    assert known == settings
    assert export.learn_from_training(None, inputs, translator) is None


def test_an_export_has_the_evaluations_length_penalty():
    taken = export.take_length_penalty(
        EvaluateParams(resamples=7), SimpleNamespace(length_penalty=2.5)
    )
    assert taken.beam == EvaluateParams().beam.model_copy(update={"length_penalty": 2.5})
    assert taken.resamples == 7


@pytest.mark.parametrize(
    ("reports", "extras"),
    [
        ({"a_int8": {"left_out": "it is worse"}, "a_float32": {"equal": 1.0}}, "serve"),
        ({"a_int8": {"left_out": "it is worse"}}, "serve,torch"),
        ({}, "serve,torch"),
    ],
)
def test_models_without_an_engine_need_pytorch(reports, extras):
    assert export.list_extras(reports) == extras


@pytest.mark.parametrize("count", [1, 2])
def test_golden_sentences_come_from_the_whole_test_set(tmp_path, monkeypatch, count):
    asked, drawn = [], [2, 0][:count]
    monkeypatch.setattr(export, "draw_line_numbers", lambda *given: asked.append(given) or drawn)
    params = ExportParams(engines=(), golden_sentences=count)
    bundle, metrics = seal(tmp_path, params, monkeypatch)
    sources = [*files.read_lines(tmp_path / "test.source")]
    assert asked == [(len(sources), count, EvaluateParams().seed)]
    golden = [answer["source"] for answer in files.read_json(bundle / "golden.json")]
    assert golden == [sources[number] for number in drawn]
    assert metrics["golden_sentences"] == len(golden) == count
    written = [path for path in bundle.rglob("*") if path.is_file()]
    assert metrics["files"] == len(written)
    assert metrics["bytes"] == sum(path.stat().st_size for path in written)
