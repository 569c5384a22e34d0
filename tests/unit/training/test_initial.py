"""A model that starts from another equals it, as far as both know the same tokens."""

from itertools import product

import pytest
import torch

from nmt_core.base.errors import ConfigError
from nmt_core.models.settings import build_model
from nmt_core.models.weights import untied_state_dict
from nmt_core.text.vocabulary import EOS, SPECIALS, Vocabulary
from nmt_core.training.initial import (
    InitialModel,
    average_weights,
    copy_weights,
    find_part,
    has_token_rows,
)
from tests.support.presets import SHAPES, tiny_config

ALL = ["embeddings", "encoder", "decoder"]
WORDS = ["a", "b", "c", "d", "e"]
KNOWN = Vocabulary([*SPECIALS, *WORDS])
NAMES = sorted(SHAPES)


def fresh(name, size=None, seed=1):
    torch.manual_seed(seed)
    size = size or len(KNOWN)
    return build_model(tiny_config(name), source_size=size, target_size=size).eval()


def finished(name, seed=2):
    """A model trained elsewhere, and its settings as initial model."""
    model = fresh(name, seed=seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape) / 10)
    tensors = {key: tensor.clone() for key, tensor in untied_state_dict(model).items()}
    return model, InitialModel(tiny_config(name), tensors, KNOWN, KNOWN)


def predict(model, source, target, of):
    """Return the logits of some tokens after every position of a target."""
    padding = torch.zeros(1, len(source), dtype=torch.bool)
    memory = model.encode(torch.tensor([source]), padding)
    hidden, _ = model.decode(torch.tensor([target]), memory, model.start(memory))
    return model.project(hidden)[..., of]


def start(initial, model, name, vocabulary=KNOWN, parts=ALL):
    return copy_weights(initial, model, tiny_config(name), (vocabulary, vocabulary), parts)


@pytest.mark.parametrize("name", NAMES)
def test_with_the_same_tokens_models_are_equal(name):
    model, initial = finished(name)
    new = fresh(name)

    notes = start(initial, new, name)

    assert all(
        torch.equal(new.state_dict()[key], value) for key, value in model.state_dict().items()
    )
    assert notes == ["starting from decoder, embeddings, encoder of the initial model"]


@pytest.mark.parametrize(("name", "share"), [*product(NAMES, [0.3]), *product(NAMES[:1], [0, 1])])
def test_averages_mix_both_models_for_shared_tokens(name, share):
    """New tokens, and parts that were not taken, stay as trained."""
    _, initial = finished(name)
    vocabulary = Vocabulary([*SPECIALS, "new", *reversed(WORDS)])
    model = fresh(name, len(vocabulary), seed=7)
    trained = {key: tensor.clone() for key, tensor in untied_state_dict(model).items()}
    old = [*range(len(SPECIALS)), *range(len(KNOWN) - 1, len(SPECIALS) - 1, -1)]
    known = [number for number in range(len(vocabulary)) if number != len(SPECIALS)]
    parts = ["embeddings", "encoder"]

    average_weights(initial, model, (vocabulary, vocabulary), parts, share)

    for key, tensor in untied_state_dict(model).items():
        expected = trained[key].clone()
        if tensor.is_floating_point() and find_part(key) in parts:
            if has_token_rows(key):
                mixed = share * initial.tensors[key][old] + (1 - share) * expected[known]
                expected[known] = mixed
            else:
                expected = share * initial.tensors[key] + (1 - share) * expected
        torch.testing.assert_close(tensor, expected)


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_matched_by_text_not_number(name):
    """Tokens in another order, two of them new, one missing."""
    model, initial = finished(name)
    words = ["new", "e", "b", "a", "newer", "d"]
    vocabulary = Vocabulary([*SPECIALS, *words])
    new = fresh(name, len(vocabulary))

    notes = start(initial, new, name, vocabulary)

    kept = [word for word in words if word in WORDS]
    here = [EOS, *(vocabulary.encode(kept))]
    there = [EOS, *(KNOWN.encode(kept))]
    text = ["a", "d", "b", "a", "e"]
    got = predict(new, vocabulary.encode(text), vocabulary.encode(text), here)
    wanted = predict(model, KNOWN.encode(text), KNOWN.encode(text), there)
    torch.testing.assert_close(got, wanted)
    assert "2 source and 2 target tokens are not in" in notes[1]


@pytest.mark.parametrize("part", ALL)
@pytest.mark.parametrize("name", ["transformer", "convs2s", "rnn_bahdanau", "rnn_additive_fed"])
def test_one_part_is_taken_the_rest_random(name, part):
    _, initial = finished(name)
    new, untouched = fresh(name), fresh(name)

    start(initial, new, name, parts=[part])

    parts = set()
    for key, tensor in untied_state_dict(new).items():
        origin = initial.tensors if find_part(key) == part else untied_state_dict(untouched)
        assert torch.equal(tensor, origin[key]), key
        parts.add(find_part(key))
    assert parts == {*ALL}


UNTIED = [name for name in NAMES if tiny_config(name).tie != "all"]


@pytest.mark.parametrize("name", UNTIED)
def test_tokens_are_matched_on_their_side(name):
    source, target = (Vocabulary([*SPECIALS, *words]) for words in ("ea", "dbc"))
    torch.manual_seed(3)
    new = build_model(tiny_config(name), source_size=len(source), target_size=len(target)).eval()
    _, initial = finished(name)
    copy_weights(initial, new, tiny_config(name), (source, target), ALL)
    of_words = {key: w for key, w in untied_state_dict(new).items() if has_token_rows(key)}
    for key, weight in of_words.items():
        side = source if key.startswith("source") else target
        rows = [KNOWN.tokens.index(token) for token in side.tokens]
        assert torch.equal(weight, initial.tensors[key][rows])
    assert {len(weight) for weight in of_words.values()} == {len(source), len(target)}


def test_another_shape_is_refused_with_a_remedy():
    _, initial = finished("transformer")
    wider = tiny_config("transformer").model_copy(update={"feed_forward_width": 48, "norm": "post"})
    model = build_model(wider, source_size=len(KNOWN), target_size=len(KNOWN))

    with pytest.raises(ConfigError) as error:
        copy_weights(initial, model, wider, (KNOWN, KNOWN), ALL)

    assert "train.model.feed_forward_width=24" in str(error.value)
    assert 'train.model.norm="pre"' in str(error.value)


def test_parts_not_taken_may_have_other_layers():
    _, initial = finished("transformer")
    shallow = tiny_config("transformer").model_copy(update={"decoder_layers": 1, "dropout": 0.4})
    model = build_model(shallow, source_size=len(KNOWN), target_size=len(KNOWN))

    copy_weights(initial, model, shallow, (KNOWN, KNOWN), ["embeddings", "encoder"])

    with pytest.raises(ConfigError, match="decoder_layers=2"):
        copy_weights(initial, model, shallow, (KNOWN, KNOWN), ALL)


def test_another_architecture_is_refused():
    _, initial = finished("transformer")

    with pytest.raises(ConfigError, match="initial model has architecture transformer"):
        start(initial, fresh("convs2s"), "convs2s")
