"""One interface, the fastest engine: what is loaded, what it refuses, and when torch is needed."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace

import pytest
import torch

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.languages import Languages
from nmt_core.models.settings import RnnConfig, TransformerConfig
from nmt_core.search.engine import Engine
from nmt_core.search.settings import BeamConfig
from nmt_core.text.aligner.learning import Shortlist
from nmt_core.text.vocabulary import UNK
from nmt_core.translation import engine_export, loading
from nmt_core.translation.engine_export import (
    HeldOutText,
    Parity,
    explain_disparity,
    measure_parity,
    prepare_engines,
    search_text,
)
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import check_golden
from tests.support.sealing import reseal
from tests.support.tiny import LINES, MODEL, export, tiny_translator

BOTH = ("int8", "float32")
NAMES = ("ctranslate2_int8", "ctranslate2_float32")
RNN = RnnConfig(width=16, hidden_width=16)
ARTICLE = TransformerConfig(**MODEL.model_dump() | {"norm": "article"})


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    return export(
        folder / "export",
        translator=replace(tiny_translator(), languages=Languages(source="de", target="en")),
        engines=prepare(folder / "scratch")[0],
    )


def prepare(folder, precisions=BOTH, *, model=MODEL, translator=None, shortlist=None):
    return prepare_engines(
        precisions,
        translator=translator or tiny_translator(),
        model_config=model,
        folder=folder,
        text=HeldOutText(LINES * 3, LINES * 3),
        threads=1,
        shortlist=shortlist,
    )


@pytest.mark.parametrize("name", [*NAMES, "torch"])
def test_a_loaded_engine_translates_as_exported(bundle, name):
    translator = Translator.load(bundle, engine=name, threads=1)

    assert translator.engine.name == name
    assert check_golden(translator, bundle) == []
    assert translator.languages == Languages(source="de", target="en")


ALL = [*NAMES]


@pytest.mark.parametrize(
    ("name", "held", "device", "missing", "chosen"),
    [
        ("auto", ALL, "cpu", "", NAMES[0]),
        ("auto", [], "cpu", "", "torch"),
        ("auto", ALL, "cuda", "", "torch"),
        ("auto", ALL, "cuda", "torch", NAMES[0]),
        ("auto", ALL, "auto", "ctranslate2", "torch"),
        ("ctranslate2", ALL, "cuda", "", NAMES[0]),
        (NAMES[1], ALL, "cpu", "", NAMES[1]),
        ("torch", ALL, "cpu", "ctranslate2", "torch"),
        ("auto", [], "cpu", "torch", r"^this model requires torch, .* '.*\[torch\]'$"),
        ("ctranslate2", ALL, "cpu", "ctranslate2", r"^the \w+ engine requires .*\[translate\]'"),
        ("ctranslate2", [], "cpu", "", "no engine 'ctranslate2', only torch"),
        ("marian", ALL, "cpu", "", "no engine 'marian'; choose one of auto, ctranslate2, "),
        ("onnx_int8", ALL, "cpu", "", "no engine 'onnx_int8'; choose one of auto"),
    ],
)
def test_engine_depends_on_bundle_device_and_packages(
    monkeypatch, name, held, device, missing, chosen
):
    monkeypatch.setattr(loading, "find_spec", lambda package: package != missing)
    if chosen in {*NAMES, "torch"}:
        assert loading.choose_engine(name, held, device) == chosen
        return
    with pytest.raises(ConfigError, match=chosen):
        loading.choose_engine(name, held, device)


@pytest.mark.parametrize(("missing", "usable"), [("ctranslate2", ["torch"]), ("torch", ALL)])
def test_engines_without_their_package_are_not_used(bundle, monkeypatch, missing, usable):
    monkeypatch.setattr(loading, "find_spec", lambda package: package != missing)
    assert loading.list_usable_engines(bundle) == usable
    if missing == "torch":
        with pytest.raises(ConfigError, match=r"\[torch\]'"):
            Translator.load(bundle, engine="torch")


def test_unknown_engines_of_earlier_exports_are_ignored(tmp_path):
    earlier = export(tmp_path / "export")
    graph = earlier / "engines/onnx_int8/encoder.onnx"
    graph.parent.mkdir(parents=True)
    graph.touch()
    reseal(earlier, graph.relative_to(earlier), b"graph")

    translator = Translator.load(earlier)
    assert (translator.engine.name, translator.languages) == ("torch", None)
    assert check_golden(translator, earlier) == []


def test_refused_searches_use_pytorch_with_one_notice(bundle, caplog):
    fast, full = (Translator.load(bundle, engine=name, threads=1) for name in ("auto", "torch"))
    prefixes = ["the"] * len(LINES)

    for _ in range(2):
        assert fast.translate_sentences(LINES, prefixes=prefixes) == full.translate_sentences(
            LINES, prefixes=prefixes
        )
    assert [record.getMessage() for record in caplog.records] == [
        "ctranslate2_int8 does not support a prefix; using torch, which is slower"
    ]
    assert fast.sample(LINES) == full.sample(LINES)
    assert fast.search(LINES, diversity=1.0) == full.search(LINES, diversity=1.0)
    assert fast.next_tokens("Hund") == full.next_tokens("Hund")


def test_requested_details_are_returned(bundle):
    for name in ("auto", "torch"):
        translator = Translator.load(bundle, engine=name, threads=1)
        [[best], *_] = translator.search(LINES, n_best=1, attention=True)
        source = len(translator.source.tokens(LINES[0])) + 1

        assert len(best.token_probabilities) == len(best.tokens) + 1
        assert best.attention.shape == (len(best.tokens) + 1, source)
        assert best.attention.sum(axis=1) == pytest.approx(1, abs=1e-5)
    [[plain], *_] = Translator.load(bundle).search(LINES, n_best=1, probabilities=False)
    assert plain.attention is None
    assert plain.token_probabilities == ()


@pytest.mark.parametrize("name", NAMES)
def test_an_altered_engine_is_refused_by_name(bundle, tmp_path, name):
    copy = shutil.copytree(bundle, tmp_path / "copy")
    file = copy / f"engines/{name}/model.bin"
    file.write_bytes(file.read_bytes()[:-1] + b"x")

    with pytest.raises(BundleError, match=f"engines/{name}/model.bin was altered"):
        Translator.load(copy, engine="torch")


@pytest.mark.parametrize("name", [*NAMES, "torch"])
def test_golden_sentences_are_the_engines_own(bundle, tmp_path, name):
    """Each engine stores its own translations of them."""
    copy = shutil.copytree(bundle, tmp_path / "copy")
    path = copy / ("golden.json" if name == "torch" else f"engines/{name}.json")
    path.write_text(path.read_text().replace("Wir essen heute Brot.", ""))
    changed = {
        engine: [
            source for source, _, _ in check_golden(Translator.load(bundle, engine=engine), copy)
        ]
        for engine in (*NAMES, "torch")
    }

    assert changed == {engine: [""] * (engine == name) for engine in changed}


@pytest.mark.parametrize(
    ("precision", "equal", "lost", "said"),
    [
        ("float32", 0.995, 0.0, None),
        ("float32", 0.994, 0.0, "99.4% of 9 sentences"),
        ("int8", 0.5, -0.5, None),
        ("int8", 0.5, 0.25, None),
        ("int8", 0.5, 0.375, "0.38 below PyTorch's 30.0"),
        ("float32", 1.0, 5.0, "5.00 below"),
    ],
)
def test_engine_that_loses_too_much_is_omitted(precision, equal, lost, said):
    measured = Parity(sentences=9, equal_greedy=equal, bleu=30 - lost, bleu_torch=30.0)
    reason = explain_disparity(precision, measured)

    assert (reason is None) == (said is None)
    assert (said or "") in (reason or "")


def test_a_shortlist_lifts_no_score_of_an_export(tmp_path, monkeypatch):
    monkeypatch.setattr(
        engine_export,
        "measure_parity",
        lambda *those: measure_parity(*those).model_copy(update={"score_shift": 0.125}),
    )
    translator = tiny_translator()
    shortlist = Shortlist([UNK + 1, UNK + 2], {})
    engines, reports = prepare(tmp_path / "scratch", BOTH[1:], shortlist=shortlist)
    folder = export(tmp_path / "export", translator=translator, engines=engines)

    assert reports[NAMES[1]]["shortlist"]
    assert Translator.load(folder).engine.score_shift == 0.125
    assert engines[0].engine.score_shift == 0.125


@pytest.mark.parametrize(
    ("judgements", "name", "short"),
    [
        ([None], NAMES[0], True),
        (["it is bad", None], NAMES[0], False),
        (["it is bad", "worse", None], NAMES[1], False),
        (["it is bad", "worse", "worst"], None, False),
    ],
)
def test_next_simpler_engine_replaces_a_bad_one(tmp_path, monkeypatch, judgements, name, short):
    judged = iter(judgements)
    monkeypatch.setattr(engine_export, "explain_disparity", lambda *_: next(judged))
    engines, reports = prepare(tmp_path, ("int8",), shortlist=Shortlist([UNK + 1], {}))

    assert [(each.name, each.engine.has_shortlist) for each in engines] == [(name, short)] * (
        name is not None
    )
    assert ("left_out" in reports[NAMES[0]]) is (name != NAMES[0])


@pytest.mark.parametrize(("gain", "patience"), [(-1.0, 1.4), (200.0, 1.0)])
def test_patience_without_gain_is_omitted(tmp_path, monkeypatch, gain, patience):
    monkeypatch.setattr(engine_export, "MIN_PATIENCE_GAIN", gain)
    engines, _ = prepare(tmp_path / "scratch", BOTH[1:])
    folder = export(tmp_path / "export", translator=tiny_translator(), engines=engines)

    assert engines[0].engine.patience == patience
    assert Translator.load(folder).engine.patience == patience


@pytest.mark.parametrize("model", [RNN, ARTICLE], ids=["recurrent", "article"])
def test_models_without_an_engine_are_exported(tmp_path, caplog, model):
    engines, reports = prepare(tmp_path, model=model, translator=tiny_translator(model=model))

    assert engines == []
    for name in NAMES:
        assert "ctranslate2 does not support it" in reports[name]["left_out"]
        assert f"{name} is left out: ctranslate2 does not support it" in caplog.text


def test_engines_without_the_configured_search_are_omitted(tmp_path, caplog):
    beam = BeamConfig(beam_size=3, max_length=12, diversity=1.0)
    engines, _ = prepare(tmp_path, ("int8",), translator=tiny_translator(beam=beam))

    assert engines == []
    assert f"{NAMES[0]} is left out: it does not support diversity" in caplog.text


def test_unknown_words_are_copied_like_pytorchs(tmp_path):
    """Without PyTorch, because the engine returns attention."""
    model = MODEL.model_copy(update={"tie": "none"})
    beam = BeamConfig(beam_size=1, max_length=12, unknown="copy")
    slow = tiny_translator(model=model, beam=beam)
    with torch.no_grad():
        slow.engine.model.output.bias[UNK] += 2
    [engine], _ = prepare(tmp_path, ("float32",), model=model, translator=slow)
    fast = replace(slow, engine=engine.engine, load_full=pytest.fail)
    mine, its = (one.search(LINES) for one in (fast, slow))

    assert [best.tokens for [best] in mine] == [best.tokens for [best] in its]
    assert 1 < sum(best.ids.count(UNK) for [best] in mine) < 36
    assert not any("<unk>" in best.tokens for [best] in mine)


@dataclass
class Misled:
    """Searches like another engine with higher scores, except the first line with several beams."""

    engine: Engine
    name = "misled"
    asked: list[BeamConfig] = field(default_factory=list)

    def explain_refusal(self, search, *, prefixes):
        return None

    def search(self, requests, search, **options):
        self.asked.append(search)
        found = self.engine.search(requests, search, **options)
        raised = [[one._replace(score=one.score + 0.5) for one in several] for several in found]
        if search.beam_size > 1:
            raised[0] = [one._replace(score=9.0, tokens=(UNK, *one.tokens)) for one in raised[0]]
        return raised


def test_parity_is_measured_greedily_and_as_configured():
    translator = tiny_translator(beam=BeamConfig(beam_size=4, n_best=3, max_length=12))
    misled = Misled(translator.engine)
    text = HeldOutText(LINES, LINES)
    own = [search_text(translator, translator.engine, text, greedily=g) for g in (True, False)]
    measured = measure_parity(translator, misled, text, own)
    greedy, configured = misled.asked

    assert (measured.sentences, measured.equal_greedy) == (len(LINES), 1.0)
    assert measured.score_shift == pytest.approx(0.5)  # over lines that are translated alike
    assert measure_parity(translator, translator.engine, text, own).score_shift == 0
    assert (greedy.beam_size, greedy.n_best, greedy.stopping) == (1, 1, "fast")
    assert configured.beam_size == translator.config.beam.beam_size > 1


def test_bundles_with_a_changed_engine_are_not_written(tmp_path):
    [wrong], _ = prepare(tmp_path / "a", BOTH[1:], translator=tiny_translator(seed=3))
    [right], _ = prepare(tmp_path / "b", BOTH[1:])
    mixed = right._replace(folder=wrong.folder)

    with pytest.raises(BundleError, match="the exported model translates"):
        export(tmp_path / "export", engines=[mixed])
    assert not (tmp_path / "export").exists()


def test_weights_of_another_model_are_never_mixed_in(bundle, tmp_path):
    """Also if the folder was replaced before PyTorch's weights were needed."""
    folder = shutil.copytree(bundle, tmp_path / "export")
    translator = Translator.load(folder, threads=1)
    before = translator.translate_sentences(LINES)
    shutil.rmtree(folder)
    export(folder, translator=tiny_translator(seed=3))

    assert translator.translate_sentences(LINES) == before
    with pytest.raises(BundleError, match="was replaced by another model"):
        translator.sample(LINES)
    shutil.rmtree(folder)
    with pytest.raises(BundleError, match="is not an exported model"):
        translator.sample(LINES)


WITHOUT_TORCH = """
import sys
for name in ("torch", "numpy", "pandas", "jaxtyping", "spacy", "mlflow"):
    sys.modules[name] = None
from nmt_core.cli import app
app(["translate", "--model", sys.argv[1], "Der Hund."], standalone_mode=False)
app(["translate", "--model", sys.argv[1], "--whole-lines", "Der Hund."], standalone_mode=False)
del sys.modules["numpy"]  # for the aligner
app(["verify", "--model", sys.argv[1]], standalone_mode=False)
"""


@pytest.mark.slow
def test_no_torch_is_needed(bundle):
    command = [sys.executable, "-c", WITHOUT_TORCH, bundle]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "ctranslate2_int8: all golden sentences are translated" in done.stdout
