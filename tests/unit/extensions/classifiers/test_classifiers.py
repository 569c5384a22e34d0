"""Words, labels, models, learning and sealing of classifiers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import seal
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.random import make_generator
from nmt_core.extensions.classifiers import model as module
from nmt_core.extensions.classifiers.commands import find_neighbours
from nmt_core.extensions.classifiers.model import (
    Classifier,
    ClassifierConfig,
    LearnClassifierConfig,
    ShuffledTexts,
    TextClassifier,
    load_classifier,
    pool,
    predict_logits,
    train_classifier,
    write_classifier,
)
from nmt_core.extensions.classifiers.texts import (
    HashedWords,
    TextConfig,
    hold_out,
    learn_words,
    read_embeddings,
    read_labelled,
)
from nmt_core.text.vocabulary import PAD, SPECIALS, UNK, Vocabulary
from tests.support.language_models import Log, weights
from tests.support.sealing import reseal

SMALL = {"embedding_width": 8, "width": 8, "embedding_dropout": 0.1, "dropout": 0.1}
FILLERS = ["the", "film", "was", "very", "long", "and", "a", "bit", "odd"]
WORDS = HashedWords(TextConfig(longest=4), Vocabulary([*SPECIALS, "good", "bad", "film"]))


def separable(count):
    """Texts in order of label; one word of each text decides its label."""
    draw = make_generator(1, "separable")
    rows = []
    for number in range(count):
        label = ("dull", "fine")[2 * number // count]
        words = draw.choice(FILLERS, size=draw.integers(2, 9)).tolist()
        words.insert(draw.integers(len(words) + 1), {"dull": "awful", "fine": "superb"}[label])
        rows.append((label, " ".join(words)))
    return rows


def learn(folder, *, epochs=1, patience=None, log=None, vectors=None, texts=None, **changes):
    values = {
        "model": SMALL | changes,
        "training": {
            "epochs": epochs,
            "patience": patience,
            "rows": 8,
            "schedule": {"kind": "warmup_decay", "learning_rate": 0.02},
            "compute": {"precision": "float32", "threads": 1},
        },
    }
    config = build(LearnClassifierConfig, values, at="test")
    training, validation = hold_out(texts or separable(96), 0.2, seed=1)
    words = learn_words(config.text, (text for _, text in training))
    return train_classifier(
        config,
        words,
        training=training,
        validation=validation,
        vectors=vectors(words) if vectors else None,
        checkpoints=folder / "checkpoints",
        display=lambda _: log or Log(),
    )


def untrained(words=WORDS, **changes):
    torch.manual_seed(1)
    config = ClassifierConfig(**SMALL | changes)
    return TextClassifier(Classifier(config, words.size, 3), words, ("a", "b", "c"))


# --- words


@pytest.mark.parametrize(
    ("config", "text", "numbers"),
    [
        # the CRC-32 of "123456789" is cbf43926 in hexadecimal
        ({}, "good 123456789", [4, 7 + 0xCBF43926 % 1000]),
        ({}, " <br /> ", [UNK]),
        ({"longest": 2, "keep": "first"}, "Good<br />bad<br/>FILM", [4, 5]),
        ({"longest": 2}, "Good<br />bad<br/>FILM", [5, 6]),
        ({"longest": 2, "lower_case": False}, "good GOOD bad", [7 + 0x5A11A326 % 1000, 5]),
    ],
)
def test_texts_are_numbered(config, text, numbers):
    """A word has a number of the vocabulary or of a bucket; a long text is truncated."""
    words = HashedWords(TextConfig(**config), WORDS.vocabulary)

    assert words.encode(text) == numbers
    assert words.size == 1007


def test_the_most_frequent_words_are_kept():
    words = learn_words(TextConfig(words=2), ["a b B", "c c c <pad>"])

    assert words.vocabulary.tokens == (*SPECIALS, "c", "b")


# --- labelled texts


@pytest.mark.parametrize(
    ("content", "labelled"),
    [
        (b"neg\tbad \xe2\x80\xa8 \r\npos\tgood\n", [("neg", "bad \u2028 "), ("pos", "good")]),
        (b"\xef\xbb\xbf neg \tbad\npos\t", [("neg", "bad"), ("pos", "")]),
        (b"", "is empty"),
        (b"pos\tgood\nneg bad\n", "line 2 of .* has 1 fields instead of 2"),
        (b"pos\tgood\n\n", "line 2 of .* has 1 fields"),
        (b"pos\tgood\tfilm\n", "line 1 of .* has 3 fields"),
        (b"pos\tgood\nneg\t\xff\n", r"line 2 of .* is not UTF-8 \(byte 5 is 0xff\)"),
        (b"pos\tgood\n \tbad\n", "line 2 of .* has no label"),
        (None, "cannot be read"),
    ],
)
def test_labelled_lines_are_read(tmp_path, content, labelled):
    path = tmp_path / "a.tsv"
    if content is not None:
        path.write_bytes(content)
    if isinstance(labelled, list):
        assert read_labelled(path) == labelled
    else:
        with pytest.raises(CorpusError, match=labelled):
            read_labelled(path)


@pytest.mark.parametrize(
    ("labels", "problem"), [("xy", "are held out"), ("xx", "texts have the label 'x'")]
)
def test_training_texts_have_all_labels(labels, problem):
    with pytest.raises(CorpusError, match=problem):
        hold_out([*zip(labels, "ab", strict=True)], 0.5, seed=1)


@given(st.lists(st.sampled_from(["a b", "A  b", "a", "b", "c", "d", "e f"]), min_size=2), st.data())
def test_held_out_texts_are_not_learnt(texts, data):
    """For repeated texts, any label and any case."""
    labelled = [(data.draw(st.sampled_from("xy")), text) for text in [*texts, "p", "q", "r", "s"]]
    try:
        training, held = hold_out(labelled, 0.4, seed=data.draw(st.integers(0, 9)))
    except CorpusError:
        return
    one, other = ({" ".join(t.lower().split()) for _, t in part} for part in (training, held))

    assert not one & other
    assert sorted(training + held) == sorted(labelled)
    assert len(other) == round(0.4 * len(one | other))


# --- the model


def test_neither_padding_nor_neighbours_change_a_probability():
    classifier = untrained()
    texts = ["good", "bad film good bad", "film bad", "odd film"]
    alone = [classifier.classify([text])[0] for text in texts]
    together = classifier.classify(texts)

    assert [label for label, _ in together] == [label for label, _ in alone]
    assert [p for _, p in together] == pytest.approx([p for _, p in alone], abs=1e-6)
    assert len({p for _, p in alone}) == len(texts)
    assert classifier.classify([]) == []


@pytest.mark.parametrize(("kind", "expected"), [("max", 5.0), ("mean", 3.0), ("last", 4.0)])
def test_padding_is_never_pooled(kind, expected):
    x = torch.tensor([[[5.0], [0.0], [4.0], [9.0]]])
    padding = torch.tensor([[False, False, False, True]])

    assert pool(x, padding, kind).item() == expected


@pytest.mark.parametrize("pool", ["max", "last"])
def test_logits_are_those_of_equations(pool):
    """Two gated layers by hand (Cho et al. 2014), with their last or their largest features."""
    classifier = untrained(pool=pool, dropout=0.9, embedding_dropout=0.9)
    x = classifier.model.embedding.weight[WORDS.encode("good bad film")] * 8**0.5
    for layer in classifier.model.layers:
        cells, h, features = layer.cells, torch.zeros(8), []
        for row in x:
            given = (cells.weight_ih_l0 @ row + cells.bias_ih_l0).chunk(3)
            back = (cells.weight_hh_l0 @ h + cells.bias_hh_l0).chunk(3)
            reset, keep = ((given[n] + back[n]).sigmoid() for n in (0, 1))
            h = (1 - keep) * (given[2] + reset * back[2]).tanh() + keep * h
            features.append(h)
        x = torch.stack(features)
    pooled = x.max(dim=0).values if pool == "max" else x[-1]
    [logits] = predict_logits(classifier.model, [WORDS.encode("good bad film")])

    torch.testing.assert_close(logits, classifier.model.output(pooled), atol=1e-6, rtol=1e-5)


# --- learning


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    return learn(tmp_path_factory.mktemp("learnt"), epochs=8, texts=separable(200))


def test_a_word_that_decides_is_learnt(learnt):
    classifier, points = learnt
    unseen = ["awful superlative film", "the bit was superb", "a very odd and awful bit"]

    assert max(point.validation_scores["accuracy"] for point in points) == 100
    assert [label for label, _ in classifier.classify(unseen)] == ["dull", "fine", "dull"]
    assert all(probability > 0.8 for _, probability in classifier.classify(unseen))


def test_texts_are_shuffled_whole():
    texts = [[row] * (1 + row % 5) for row in range(40)]
    reading = ShuffledTexts(texts, list(range(40)), rows=6, seed=1)
    orders, beside = [], []
    for epoch in (0, 1, 0):
        portions = list(reading.read_epoch(epoch))
        beside.append({frozenset(portion.targets.tolist()) for portion in portions})
        assert len(portions) == reading.count_steps(epoch) == 7
        for portion in portions:
            firsts = portion.tokens[:, 0].tolist()
            assert firsts == portion.targets.tolist()
            lengths = (portion.tokens != PAD).sum(dim=1).tolist()
            assert all(n == 1 + row % 5 for n, row in zip(lengths, firsts, strict=True) if row)
        orders.append([row for portion in portions for row in portion.targets.tolist()])

    assert orders[0] == orders[2] != orders[1]
    assert beside[0] != beside[1]
    assert sorted(orders[0]) == list(range(40))


def test_the_epoch_with_the_best_accuracy_is_kept(tmp_path, monkeypatch):
    """Even if another epoch has the lower loss; at equal accuracy, the lower loss decides."""
    seen = iter([(0.9, 50.0), (0.8, 75.0), (0.7, 75.0), (0.1, 60.0)])
    kept = []

    def validate(self):
        kept.append({n: w.numpy().tobytes() for n, w in self.model.state_dict().items()})
        loss, accuracy = next(seen)
        return loss, {"accuracy": accuracy}

    monkeypatch.setattr(module.ClassifierObjective, "validate", validate)
    classifier, points = learn(tmp_path, epochs=4)

    assert [point.validation_scores["accuracy"] for point in points] == [50, 75, 75, 60]
    assert weights(classifier) == kept[2]


@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_vectors_stay_and_others_move(tmp_path, frozen):
    made = []

    def vectors(words):
        made.append(torch.randn(words.size, 8, generator=torch.Generator().manual_seed(1)))
        return made[0].clone()

    classifier, _ = learn(tmp_path, vectors=vectors, frozen=frozen)
    moved = (classifier.model.embedding.weight - made[0]).abs().max().item()

    assert moved == 0 if frozen else 0 < moved < 0.5


# --- vectors


def test_words_read_vectors_and_buckets_draw_them(tmp_path):
    (tmp_path / "a.vec").write_text("2 2\ngood 1 2\nbad -3 4\n")
    rows = read_embeddings(tmp_path / "a.vec", WORDS, seed=1)

    assert rows.shape == (WORDS.size, 2)
    assert rows.dtype == torch.float32
    assert rows[[PAD, 4, 5, 6]].tolist() == [[0, 0], [1, 2], [-3, 4], [-1, 3]]
    assert rows[7:].square().mean().item() == pytest.approx(30 / 4, rel=0.1)
    assert torch.equal(rows, read_embeddings(tmp_path / "a.vec", WORDS, seed=1))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("1 2\nother 1 2\n", "none of the 7 classifier's tokens has a vector"),
        ("1 2\ngood nan 1\n", "not finite"),
        ("nonsense\n", "must begin with a line"),
    ],
)
def test_bad_vectors_are_reported(tmp_path, content, told):
    (tmp_path / "a.vec").write_text(content)

    with pytest.raises(CorpusError, match=told):
        read_embeddings(tmp_path / "a.vec", WORDS, seed=1)


# --- neighbours


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("GOOD", {"bad": 0.5**0.5, "film": 0}),
        ("good - film", {"bad": 0}),
        ("good + film", {"bad": 1}),
        ("+ good", ConfigError),
        ("good -", ConfigError),
        ("good & bad", ConfigError),
        ("unheard", CorpusError),
        ("good-film", CorpusError),
        ("<pad>", CorpusError),
    ],
)
def test_neighbours_have_the_smallest_angle(expression, expected):
    """Neighbours of a word, or of a sum of words of equal length."""
    classifier = untrained()
    with torch.no_grad():
        classifier.model.embedding.weight[4:7] = 0
        rows = torch.tensor([[1.0, 0], [9.0, 9], [0, 2.0]])
        classifier.model.embedding.weight[4:7, :2] = rows
    if isinstance(expected, dict):
        found = find_neighbours(classifier, expression, 9)
        assert [word for word, _ in found] == [*expected]
        assert dict(found) == pytest.approx(expected, abs=1e-6)
        assert find_neighbours(classifier, expression, 1) == found[:1]
    else:
        with pytest.raises(expected):
            find_neighbours(classifier, expression, 9)


# --- sealing


def test_a_sealed_classifier_is_the_same(tmp_path):
    classifier = untrained()
    for name in ("one", "two"):
        write_classifier(tmp_path / name, classifier, learning={"points": []})
    again = load_classifier(tmp_path / "one", device="cpu")
    texts = ["good", "bad unheard film"]

    assert seal.list_contents(tmp_path / "one") == seal.list_contents(tmp_path / "two")
    assert classifier.classify(texts) == again.classify(texts)
    assert (again.classes, again.words.config) == (classifier.classes, classifier.words.config)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.json", b'{"classes": ["a", "b"]}'),
        ("model.safetensors", b""),
        ("vocabulary.json", None),
    ],
)
def test_invalid_sealed_files_are_reported(tmp_path, name, content):
    folder = tmp_path / "sealed"
    write_classifier(folder, untrained(), learning={})
    reseal(folder, name, content)

    with pytest.raises(NmtError):
        load_classifier(folder, device="cpu")
