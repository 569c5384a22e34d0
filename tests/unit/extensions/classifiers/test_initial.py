"""Classifiers that start from a masked language model."""

from contextlib import nullcontext

import pytest
import torch
from torch.testing import assert_close

from nmt_core.base import seal
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.extensions.classifiers.labelled import hold_out
from nmt_core.extensions.classifiers.model import (
    EncoderClassifier,
    describe_encoder,
    pool,
    start_from_language_model,
)
from nmt_core.extensions.classifiers.settings import EncoderClassifierConfig, FineTuneConfig
from nmt_core.extensions.classifiers.text_classifier import load_classifier, write_classifier
from nmt_core.extensions.classifiers.training import (
    Start,
    train_classifier,
)
from nmt_core.extensions.classifiers.words import InitialTokens
from nmt_core.extensions.language_models.transformer import MaskedConfig, MaskedLanguageModel
from nmt_core.extensions.language_models.units import WordUnit, learn_units
from nmt_core.text.vocabulary import BOS, EOS
from tests.support.language_models import Log
from tests.unit.extensions.classifiers.test_classifiers import FILLERS, separable

SHAPE = {"layers": 1, "width": 8, "heads": 2, "feed_forward_width": 16, "context": 8}
UNITS = learn_units(WordUnit(min_count=1), " ".join([*FILLERS, "awful", "superb"]))
TOKENS = InitialTokens(UNITS, 8)


def language_model(seed=0, **changes):
    torch.manual_seed(seed)
    model = MaskedLanguageModel(MaskedConfig(**SHAPE | changes), len(UNITS.vocabulary))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


def fresh(initial, **encoder):
    torch.manual_seed(1)
    shape = describe_encoder(initial.config).model_copy(update=encoder)
    return EncoderClassifier(EncoderClassifierConfig(encoder=shape), TOKENS.size, 2)


def learn(folder, initial, *, log=None, parts=("embeddings", "layers"), epochs=1, patience=None):
    values = {
        "model": {"encoder": describe_encoder(initial.config).model_dump()},
        "initial_parts": [*parts],
        "training": {
            "epochs": epochs,
            "patience": patience,
            "rows": 8,
            "schedule": {"kind": "warmup_decay", "learning_rate": 0.01},
            "compute": {"precision": "float32", "threads": 1},
        },
    }
    config = build(FineTuneConfig, values, at="test")
    training, validation = hold_out(separable(96), 0.2, seed=1)
    return train_classifier(
        config,
        TOKENS,
        training=training,
        validation=validation,
        start=Start(language_model=initial),
        checkpoints=folder / "checkpoints",
        display=lambda _: nullcontext(log or Log()),
    )


def test_the_end_of_a_text_is_read_between_its_marks():
    numbers = UNITS.vocabulary.encode(FILLERS)

    assert TOKENS.encode(" ".join(FILLERS)) == [BOS, *numbers[-6:], EOS]
    assert TOKENS.encode("odd film") == [BOS, *UNITS.vocabulary.encode(["odd", "film"]), EOS]
    assert TOKENS.encode("") == [BOS, EOS]


@pytest.mark.parametrize("parts", [[], ["embeddings"], ["layers"], ["embeddings", "layers"]])
def test_the_parts_that_are_named_are_taken_and_no_others(parts):
    initial = language_model()
    classifier, before = fresh(initial), fresh(initial)
    start_from_language_model(initial, classifier, parts)
    given, drawn = initial.encoder.state_dict(), before.state_dict()

    for name, weight in classifier.state_dict().items():
        inner = name.removeprefix("encoder.")
        part = "embeddings" if inner.startswith("embedding.") else "layers"
        taken = name != inner and part in parts
        assert torch.equal(weight, given[inner] if taken else drawn[name])


def test_what_is_read_is_what_the_language_model_reads():
    initial = language_model()
    classifier = fresh(initial)
    start_from_language_model(initial, classifier, ["embeddings", "layers"])
    tokens = torch.tensor([TOKENS.encode("the film was odd")])
    read = initial.eval().read(tokens).mean(dim=1)

    assert_close(classifier.eval()(tokens), classifier.output(read))


@pytest.mark.parametrize(("kind", "expected"), [("max", 5.0), ("mean", 3.0), ("last", 4.0)])
def test_padding_is_never_pooled(kind, expected):
    x = torch.tensor([[[5.0], [0.0], [4.0], [9.0]]])
    padding = torch.tensor([[False, False, False, True]])

    assert pool(x, padding, kind).item() == expected


def test_another_shape_is_refused_and_another_dropout_is_not():
    initial = language_model()
    start_from_language_model(
        initial, fresh(initial, dropout=0.5, attention_dropout=0.2), ["layers"]
    )

    with pytest.raises(ConfigError, match=r"another shape .* set model.encoder.layers=1$"):
        start_from_language_model(initial, fresh(initial, layers=2), [])


def test_learning_leaves_the_language_model_as_it_was(tmp_path):
    initial = language_model()
    before = {name: weight.clone() for name, weight in initial.state_dict().items()}
    classifier, points = learn(tmp_path, initial, epochs=6)

    assert points[-1].validation_scores["accuracy"] > 80
    assert torch.equal(classifier.initial, before["encoder.embedding.table.weight"])
    assert all(torch.equal(weight, before[name]) for name, weight in initial.state_dict().items())


def test_a_sealed_classifier_is_the_same(tmp_path):
    classifier, _ = learn(tmp_path, language_model())
    for name in ("one", "two"):
        write_classifier(tmp_path / name, classifier, learning={})
    again = load_classifier(tmp_path / "one", device="cpu")
    texts = ["a superb film", "an awful film", ""]

    assert seal.list_contents(tmp_path / "one") == seal.list_contents(tmp_path / "two")
    assert classifier.classify(texts) == again.classify(texts)
    assert again.words.encode(texts[0]) == TOKENS.encode(texts[0])
