"""Settings of a shape take effect: dropout, ties, layers of any depth."""

import pytest
import torch
from torch.testing import assert_close

from nmt_core.models import attention, layers
from nmt_core.models.settings import ConvS2SConfig, RnnConfig, TransformerConfig, build_model
from nmt_core.text.vocabulary import BOS, PAD

SOURCE = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0]])
TARGET = torch.tensor([[BOS, 4, 5, 6], [BOS, 6, 4, 3]])
STEPS = TARGET.size(1)


def built(config, *, sizes=(9, 9), seed=0):
    torch.manual_seed(seed)
    model = build_model(config, source_size=sizes[0], target_size=sizes[1])
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.eval()


def transformer_config(**more):
    return TransformerConfig(
        width=8, heads=2, feed_forward_width=16, encoder_layers=2, decoder_layers=3, **more
    )


def rnn_config(**more):
    return RnnConfig(width=8, hidden_width=8, encoder_layers=2, decoder_layers=3, **more)


def conv_config(**more):
    return ConvS2SConfig(width=8, encoder_layers=2, decoder_layers=3, **more)


PLACES = [
    # words, then per layer: after attention, inside the dense block, after it
    (transformer_config(), 1 + 2 * 3 + 1 + 3 * 4),
    # words and the input of each layer; and the input of the output layer
    (conv_config(), 1 + 2 + 1 + 3 + 1),
    # the output that each layer adds
    (conv_config(block="article", positions="sinusoidal"), 2 + 3),
    # the input of each layer; and the input of the output layer
    (rnn_config(attention="dot", input_feeding=False), 2 + 3 + 1),
    (rnn_config(attention="none", input_feeding=False), 2 + 3 + 1),
    # all words, the input of further layers step by step; and the input of the output layer
    (rnn_config(attention="additive"), 2 + 1 + STEPS * 2 + 1),
]


def read(model, monkeypatch, module, *, halve=None):
    """Return logits and the mask of each place; half of one place's features are dropped."""
    places = []

    def half(x, probability, *, training, variational=False, whole_batch=False):
        if probability:
            places.append((probability, training, variational and not whole_batch))
        if not probability or len(places) - 1 != halve:
            return x
        return x * torch.tensor([2.0, 0.0]).repeat(x.size(-1) // 2 + 1)[: x.size(-1)]

    monkeypatch.setattr(module, "dropout", half)
    return model(SOURCE, SOURCE == PAD, TARGET), places


@pytest.mark.parametrize(
    ("module", "setting", "config", "count"),
    [
        *((layers, "dropout", *place) for place in PLACES),
        # once per layer of the encoder, twice per layer of the decoder
        (attention, "attention_dropout", transformer_config(dropout=0.0), 2 + 3 * 2),
    ],
)
@pytest.mark.parametrize("variational", [True, False])
def test_dropout_is_at_every_place(monkeypatch, module, setting, config, count, variational):
    changes = {setting: 0.25}
    if hasattr(config, "variational_dropout"):
        changes["variational_dropout"] = variational
    model = built(config.model_copy(update=changes)).train()
    expected, places = read(model, monkeypatch, module)
    by_sentence = setting == "dropout" and changes.get("variational_dropout", False)

    assert places == [(0.25, True, by_sentence)] * count
    for which in range(count) if variational else ():
        halved, _ = read(model, monkeypatch, module, halve=which)
        assert not torch.allclose(expected, halved)


@pytest.mark.parametrize(("layers", "aligning"), [(1, 0), (2, 0), (3, 1), (4, 2)])
def test_the_last_decoder_layer_but_one_aligns(layers, aligning):
    """Other layers' attention is not computed; only earlier layers change the alignment."""
    model = built(transformer_config().model_copy(update={"decoder_layers": layers}))
    memory = model.encode(SOURCE, SOURCE == PAD)
    expected = model.attention(TARGET, memory)
    for number, layer in enumerate(model.decoder):
        with torch.no_grad():
            kept = layer.cross_attention.query.weight.clone()
            layer.cross_attention.query.weight.mul_(-3)
        same = torch.allclose(expected, model.attention(TARGET, memory))
        with torch.no_grad():
            layer.cross_attention.query.weight.copy_(kept)

        assert same == (number > aligning)


def word_tables(model):
    """Return source, target and output rows."""
    tables = (
        getattr(side, "table", side) for side in (model.source_embedding, model.target_embedding)
    )
    return (*(table.weight for table in tables), model.output.weight)


@pytest.mark.parametrize("config", [transformer_config(), conv_config(), rnn_config()], ids=type)
@pytest.mark.parametrize(
    ("tie", "tables", "bias"), [("none", 3, 1), ("output", 2, 0), ("all", 1, 0)]
)
def test_tied_weights_are_those_of_the_setting(config, tie, tables, bias):
    """Both vocabularies have one size, so that additional ties would give no error."""
    model = built(config.model_copy(update={"tie": tie}), sizes=(9, 9))
    source, target, output = word_tables(model)

    assert tables == len({id(table) for table in (source, target, output)})
    assert (output is target) == (tie != "none")
    assert (source is target) == (tie == "all")
    assert (model.output.bias is not None) == bool(bias)


@pytest.mark.parametrize(
    ("scaled", "plain", "factor"),
    [
        (transformer_config(tie="none"), {"scale_embeddings": False}, 8**0.5),
        (rnn_config(tie="none"), {"scale_embeddings": False}, 8**0.5),
        (conv_config(tie="none", word_scale=4.0), {"word_scale": 1.0}, 4.0),
    ],
    ids=["transformer", "rnn", "convs2s"],
)
def test_words_of_both_languages_are_scaled(scaled, plain, factor):
    model, other = built(scaled), built(scaled.model_copy(update=plain))
    with torch.no_grad():
        for table in word_tables(other)[:2]:
            table.mul_(factor)

    assert_close(model(SOURCE, SOURCE == PAD, TARGET), other(SOURCE, SOURCE == PAD, TARGET))


def list_numbers(schema):
    """Yield the JSON schema of each number, by its path."""
    parts = schema.items() if isinstance(schema, dict) else enumerate(schema)
    if isinstance(schema, dict) and schema.get("type") in {"integer", "number"}:
        yield "", schema
    for name, part in parts:
        if isinstance(part, dict | list):
            yield from ((f"{name}.{path}", found) for path, found in list_numbers(part))


@pytest.mark.parametrize("shape", [TransformerConfig, ConvS2SConfig, RnnConfig])
def test_every_number_of_a_shape_has_bounds(shape):
    """An additional zero costs an error message, not the memory of the machine."""
    numbers = dict(list_numbers(shape.model_json_schema()))

    assert len(numbers) >= 5
    for path, number in numbers.items():
        assert {"minimum", "exclusiveMinimum"} & number.keys(), path
        assert {"maximum", "exclusiveMaximum"} & number.keys(), path
