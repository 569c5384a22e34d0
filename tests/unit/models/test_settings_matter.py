"""What the settings of a shape ask for is there: dropout, ties, layers of any depth."""

from contextlib import contextmanager

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


@contextmanager
def counted(monkeypatch, modules):
    """Count the places that drop, by probability, and let nothing be dropped."""
    places = []

    def keep(x, probability, *, training, variational=False, whole_batch=False):
        if probability:
            places.append((probability, training, variational and not whole_batch))
        return x

    with monkeypatch.context() as patched:
        for module in modules:
            patched.setattr(module, "dropout", keep)
        yield places


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
    pytest.param(transformer_config(), 1 + 2 * 3, 1 + 3 * 4, id="transformer"),
    # words and the input of each layer; and what is predicted from
    pytest.param(conv_config(), 1 + 2, 1 + 3 + 1, id="published"),
    # what each layer adds
    pytest.param(conv_config(block="article", positions="sinusoidal"), 2, 3, id="article"),
    # the input of each layer; and what is predicted from
    pytest.param(rnn_config(attention="dot", input_feeding=False), 2, 3 + 1, id="rnn_whole"),
    pytest.param(rnn_config(attention="none", input_feeding=False), 2, 3 + 1, id="rnn_plain"),
    # the words at once, the input of further layers step by step; and what is predicted from
    pytest.param(rnn_config(attention="additive"), 2, 1 + STEPS * 2 + 1, id="rnn_stepped"),
]


@pytest.mark.parametrize("variational", [True, False])
@pytest.mark.parametrize(("config", "encoding", "decoding"), PLACES)
def test_dropout_is_at_every_place(monkeypatch, config, encoding, decoding, variational):
    positioned = hasattr(config, "variational_dropout")
    settings = {"dropout": 0.25} | ({"variational_dropout": variational} if positioned else {})
    model = built(config.model_copy(update=settings)).train()
    # attention has its own probability, 0 by default
    with counted(monkeypatch, (layers,)) as places:
        memory = model.encode(SOURCE, SOURCE == PAD)
        assert encoding == len(places)
        model.decode(TARGET, memory, model.start(memory))

    assert encoding + decoding == len(places)
    assert {(0.25, True, variational and positioned)} == set(places)


def test_attention_weights_are_dropped(monkeypatch):
    """Once per layer of the encoder, twice per layer of the decoder, with their own probability."""
    model = built(transformer_config(dropout=0.0, attention_dropout=0.25)).train()
    with counted(monkeypatch, (attention,)) as places:
        model(SOURCE, SOURCE == PAD, TARGET)

    assert [(0.25, True, False)] * (2 + 3 * 2) == places


@pytest.mark.parametrize(
    ("config", "which"),
    [
        pytest.param(place.values[0], which, id=f"{place.id}-{which}")
        for place in PLACES
        for which in range(sum(place.values[1:]))
    ],
)
def test_what_is_dropped_at_any_place_matters(monkeypatch, config, which):
    """Half of one place's features are left out; another place's are not."""
    model = built(config)
    expected = model(SOURCE, SOURCE == PAD, TARGET)
    called = []

    def half(x, probability, **_):
        called.extend([x] if probability else [])
        if not probability or len(called) - 1 != which:
            return x
        return x * torch.tensor([2.0, 0.0]).repeat(x.size(-1) // 2)

    monkeypatch.setattr(layers, "dropout", half)

    assert not torch.allclose(expected, model(SOURCE, SOURCE == PAD, TARGET))


@pytest.mark.parametrize(("layers", "aligning"), [(1, 0), (2, 0), (3, 1), (4, 2)])
def test_the_last_decoder_layer_but_one_aligns(layers, aligning):
    """Other layers' questions to the source are not asked; only those before it reach it."""
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
    """Source, target and output rows."""
    tables = (
        getattr(side, "table", side) for side in (model.source_embedding, model.target_embedding)
    )
    return (*(table.weight for table in tables), model.output.weight)


@pytest.mark.parametrize("config", [transformer_config(), conv_config(), rnn_config()], ids=type)
@pytest.mark.parametrize(
    ("tie", "tables", "bias"), [("none", 3, 1), ("output", 2, 0), ("all", 1, 0)]
)
def test_ties_are_what_is_asked_for_and_no_more(config, tie, tables, bias):
    """Both vocabularies have one size, so that sharing more would go unnoticed."""
    model = built(config.model_copy(update={"tie": tie}), sizes=(9, 9))
    source, target, output = word_tables(model)

    assert tables == len({id(table) for table in (source, target, output)})
    assert (output is target) == (tie != "none")
    assert (source is target) == (tie == "all")
    assert (model.output.bias is not None) == bool(bias)


def test_where_a_convolutional_model_looked_is_the_mean_of_its_layers():
    model = built(conv_config())
    memory = model.encode(SOURCE, SOURCE == PAD)
    *_, weights = model._read(TARGET, memory, model.start(memory))

    assert 3 == len(weights)
    assert_close(sum(weights) / 3, model.attention(TARGET, memory))
    assert not torch.allclose(weights[-1], model.attention(TARGET, memory))


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
    """Yield what a JSON schema says of each number, by the path to it."""
    parts = schema.items() if isinstance(schema, dict) else enumerate(schema)
    if isinstance(schema, dict) and schema.get("type") in {"integer", "number"}:
        yield "", schema
    for name, part in parts:
        if isinstance(part, dict | list):
            yield from ((f"{name}.{path}", found) for path, found in list_numbers(part))


@pytest.mark.parametrize("shape", [TransformerConfig, ConvS2SConfig, RnnConfig])
def test_every_number_of_a_shape_has_bounds(shape):
    """A zero too many costs a sentence, not the memory of the machine."""
    numbers = dict(list_numbers(shape.model_json_schema()))

    assert len(numbers) >= 5
    for path, number in numbers.items():
        assert {"minimum", "exclusiveMinimum"} & number.keys(), path
        assert {"maximum", "exclusiveMaximum"} & number.keys(), path
