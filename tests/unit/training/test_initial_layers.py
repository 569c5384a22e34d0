"""A translator that starts from language models reads and writes as they do."""

import pytest
import torch
from torch.testing import assert_close

from nmt_core.base.config import build
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.corpora.fetch.initial_model import LanguageModels, copy_language_models
from nmt_core.extensions.language_models.bundle import build_language_model, write_language_model
from nmt_core.extensions.language_models.transformer import MaskedConfig, TransformerLanguageConfig
from nmt_core.extensions.language_models.units import SubwordUnit, Units
from nmt_core.models.settings import TransformerConfig
from nmt_core.models.transformer import Transformer
from nmt_core.text.vocabulary import BOS, PAD, SPECIALS, Vocabulary
from nmt_core.training.initial import load_initial_model, start_from
from tests.support.tiny import tiny_translator

SHAPE = {"width": 16, "heads": 2, "feed_forward_width": 24, "context": 32}
TOKENS = tiny_translator().target
SIZE = len(TOKENS.vocabulary)
TEXT = torch.tensor([[BOS, 9, 14, 5, 30]])


def learnt(folder, config, *, units=None):
    torch.manual_seed(3)
    units = units or Units(SubwordUnit(), TOKENS.tokenizer, TOKENS.vocabulary)
    model = build_language_model(config, len(units.vocabulary))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) / 10)
    write_language_model(folder, model, units, model_config=config, learning={})
    return model.eval()


@pytest.fixture(scope="module", params=["sinusoidal", "rotary"])
def both(request, tmp_path_factory):
    shape = SHAPE | {"positions": request.param}
    folder = tmp_path_factory.mktemp("language_models")
    return folder, {
        "encoder": learnt(folder / "encoder", MaskedConfig(layers=2, **shape)),
        "decoder": learnt(folder / "decoder", TransformerLanguageConfig(layers=3, **shape)),
    }


def bring(folder, halves, into):
    into.mkdir()
    given = {half: str(folder / half) for half in halves}
    models = build(LanguageModels, {"kind": "language_models", **given}, at="initial_model")
    origin = copy_language_models(models.pinned(), into)
    return load_initial_model(into), origin


def fresh(**changes):
    torch.manual_seed(1)
    shape = {name: SHAPE[name] for name in ("width", "heads", "feed_forward_width")}
    config = TransformerConfig(**shape, encoder_layers=2, decoder_layers=3, **changes)
    return config, Transformer(config, source_size=SIZE, target_size=SIZE).eval()


def started(initial, parts, **changes):
    config, model = fresh(positions=initial.config.positions, **changes)
    taken = start_from(initial, model, config, (TOKENS.vocabulary,) * 2, parts)
    return model, taken


def encode(model, text):
    seen = []
    handle = model.encoder_norm.register_forward_hook(lambda _, __, out: seen.append(out))
    memory = model.encode(text, text == PAD)
    handle.remove()
    return seen[0], memory


def decode(model, text):
    """What the decoder makes of a text, where nothing that it sees of the source reaches it."""
    with torch.no_grad():
        for layer in model.decoder:
            layer.cross_attention.output.weight.zero_()
            layer.cross_attention.output.bias.zero_()
    _, memory = encode(model, text)
    hidden, _ = model.decode(text, memory, model.start(memory))
    return hidden


@pytest.mark.parametrize("tied", ["all", "none"])
def test_the_encoder_reads_as_the_masked_language_model(both, tmp_path, tied):
    folder, models = both
    initial, _ = bring(folder, ["encoder"], tmp_path / "initial")
    model, taken = started(initial, ["embeddings", "encoder"], tie=tied, dropout=0.3)

    assert_close(encode(model, TEXT)[0], models["encoder"].read(TEXT))
    assert len(taken) == 1
    given = models["encoder"].encoder.embedding.table.weight[:SIZE]
    assert torch.equal(model.target_embedding.table.weight, given)


def test_the_decoder_writes_as_the_language_model(both, tmp_path):
    folder, models = both
    initial, _ = bring(folder, ["decoder"], tmp_path / "initial")
    model, _ = started(initial, ["embeddings", "decoder"])
    language_model = models["decoder"]

    assert_close(decode(model, TEXT), language_model.decode(TEXT, language_model.start(1))[0])


def test_both_halves_are_taken_each_with_its_embeddings(both, tmp_path):
    folder, models = both
    initial, _ = bring(folder, ["encoder", "decoder"], tmp_path / "initial")
    model, _ = started(initial, ["embeddings", "encoder", "decoder"], tie="output")
    language_model = models["decoder"]

    assert_close(encode(model, TEXT)[0], models["encoder"].read(TEXT))
    assert_close(decode(model, TEXT), language_model.decode(TEXT, language_model.start(1))[0])


def test_what_looks_at_the_source_and_what_was_not_asked_for_is_left_to_chance(both, tmp_path):
    initial, _ = bring(both[0], ["encoder", "decoder"], tmp_path / "initial")
    model, _ = started(initial, ["decoder"])
    _, drawn = fresh()

    same = {
        name for name, w in model.state_dict().items() if torch.equal(w, drawn.state_dict()[name])
    }
    matrices = {name for name, w in model.state_dict().items() if w.dim() > 1}
    assert {name for name in same & matrices if name.startswith("decoder.")} == {
        name for name in matrices if ".cross_attention." in name
    }
    assert {name for name in matrices if not name.startswith("decoder")} <= same


def test_tokens_are_known_by_what_they_are(both, tmp_path):
    initial, _ = bring(both[0], ["encoder"], tmp_path / "initial")
    tokens = [*SPECIALS, *reversed(TOKENS.vocabulary.tokens[len(SPECIALS) :]), "new"]
    config, _ = fresh(positions=initial.config.positions)
    model = Transformer(config, source_size=SIZE + 1, target_size=SIZE + 1).eval()
    taken = start_from(initial, model, config, (Vocabulary(tokens),) * 2, ["embeddings", "encoder"])
    turned = torch.tensor([[tokens.index(TOKENS.vocabulary.tokens[n]) for n in TEXT[0].tolist()]])

    assert_close(encode(model, turned)[0], both[1]["encoder"].read(TEXT))
    assert taken[1].startswith("1 source and 1 target")


def test_what_is_not_there_or_of_another_shape_is_told(both, tmp_path):
    initial, _ = bring(both[0], ["encoder"], tmp_path / "initial")

    with pytest.raises(ConfigError, match=r'no decoder; set train.initial_parts to \["encoder"\]'):
        started(initial, ["encoder", "decoder"])
    with pytest.raises(ConfigError, match=r"set train.model.activation=\"relu\""):
        started(initial, ["encoder"], activation="gelu")


def test_other_language_models_are_refused(both, tmp_path):
    folder, models = both
    shorter = Units(SubwordUnit(), TOKENS.tokenizer, Vocabulary(TOKENS.vocabulary.tokens[:-1]))
    learnt(tmp_path / "decoder", TransformerLanguageConfig(layers=3, **SHAPE), units=shorter)
    kind = models["encoder"].config.positions
    learnt(tmp_path / "wide", TransformerLanguageConfig(**SHAPE | {"width": 32}))
    other_kind = "sinusoidal" if kind == "rotary" else "rotary"
    learnt(tmp_path / "turned", TransformerLanguageConfig(**SHAPE, positions=other_kind))

    def told(kind, **given):
        into = tmp_path / f"into_{len(list(tmp_path.iterdir()))}"
        into.mkdir()
        with pytest.raises(kind) as error:
            models = build(LanguageModels, {"kind": "language_models", **given}, at="initial_model")
            copy_language_models(models, into)
            load_initial_model(into)
        return str(error.value)

    encoder, decoder = (str(folder / half) for half in ("encoder", "decoder"))
    other = str(tmp_path / "decoder")
    assert "learn it by nmt learn --kind masked" in told(BundleError, encoder=decoder)
    assert "other tokens" in told(BundleError, encoder=encoder, decoder=other)
    assert "another model" in told(BundleError, encoder=encoder, encoder_sha256="0" * 64)
    assert "encoder, decoder or both" in told(ConfigError)
    wide, turned = str(tmp_path / "wide"), str(tmp_path / "turned")
    assert "different width, 16 and 32" in told(ConfigError, encoder=encoder, decoder=wide)
    assert f"different positions, {kind}" in told(ConfigError, encoder=encoder, decoder=turned)
