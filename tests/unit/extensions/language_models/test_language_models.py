"""Units, reading, sampling, learning and sealing of language models."""

import json
import math
import unicodedata
from contextlib import nullcontext
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import files, seal
from nmt_core.base.config import build
from nmt_core.base.errors import BundleError, ConfigError, CorpusError, NmtError
from nmt_core.base.random import make_generator
from nmt_core.decoding.score import LogLikelihood
from nmt_core.decoding.settings import TokenSampling
from nmt_core.decoding.token_sampling import shape_distribution
from nmt_core.extensions.language_models import (
    NGram,
    NGramConfig,
    RecurrentConfig,
    build_language_model,
    restore_language_model,
)
from nmt_core.extensions.language_models.bundle import (
    load_language_model,
    with_units,
    write_language_model,
)
from nmt_core.extensions.language_models.generation import generate_tokens
from nmt_core.extensions.language_models.ngram import MaximumLikelihood
from nmt_core.extensions.language_models.parts import cut_in_order
from nmt_core.extensions.language_models.reading import Streams, Windows
from nmt_core.extensions.language_models.text_model import TextModel
from nmt_core.extensions.language_models.training import (
    MOST_LOSS,
    VALIDATION_WINDOW,
    LearningConfig,
    compute_text_fingerprint,
    mean_loss,
    train_language_model,
)
from nmt_core.extensions.language_models.units import (
    CharacterUnit,
    SubwordUnit,
    Units,
    WordUnit,
    learn_units,
)
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from nmt_core.training.settings import EpochTrainingConfig

TEXT = "the cat sat.\nthe dog sat, too.\n\nthe cat ran.\n" * 12
texts = st.lists(st.integers(3, 9), min_size=1, max_size=40)


class Log:
    """A display that shows nothing."""

    def step(self, **_): ...

    def validation(self, point, *, best): ...

    def note(self, sentence): ...


SMALL = {"width": 12, "embedding_width": 6}
LSTM = {"kind": "rnn", "layers": 1, **SMALL}
TRANSFORMER = {
    "kind": "transformer",
    "layers": 1,
    "width": 12,
    "heads": 2,
    "feed_forward_width": 16,
    "context": 8,
}
MASKED = TRANSFORMER | {"kind": "masked"}


def learnt(folder, model=LSTM, *, log=None, unit="character", training=(), text=TEXT):
    config = build(
        LearningConfig,
        {
            "model": model,
            "unit": {"kind": unit},
            "training": {"epochs": 3, "rows": 4, "window": 8, **dict(training)},
        },
        at="learn",
    )
    units = learn_units(config.unit, text)
    ids = units.encode(text)
    arguments = {"training": ids, "validation": ids[:120], "checkpoints": folder / "checkpoints"}
    model, points = train_language_model(
        config, units, display=lambda _: nullcontext(log or Log()), **arguments
    )
    return config, with_units(model, units), points


def weights(text_model):
    return {name: w.numpy().tobytes() for name, w in text_model.model.state_dict().items()}


# --- units


def test_characters_keep_a_text_as_it_is():
    units = learn_units(CharacterUnit(), text := "A\tb\n\n  ü\r\n")
    numbers = units.encode(text)

    assert numbers[0] == BOS
    assert units.decode(numbers.tolist()) == text


def test_words_make_lines_without_blank_ones():
    units = learn_units(WordUnit(min_count=1), "Ah, no!\n\nno\n")
    numbers = units.encode("Ah, no!\n\nno\nyes\n").tolist()

    assert units.decode(numbers) == "Ah , no !\nno\n<unk>\n"
    assert numbers.count(BOS) == numbers.count(EOS) == 3
    assert UNK in numbers


def test_rare_words_are_unknown():
    units = learn_units(WordUnit(min_count=2, split="whitespace"), "a, a, b\n")

    assert units.vocabulary.tokens[4:] == ("a,",)


@pytest.mark.parametrize("unit", [CharacterUnit(), WordUnit()])
def test_units_come_back_as_they_were_saved(tmp_path, unit):
    units = learn_units(unit, TEXT)
    units.save(tmp_path)
    again = Units.load(tmp_path)

    assert (unit, units.vocabulary.tokens) == (again.config, again.vocabulary.tokens)
    assert np.array_equal(units.encode(TEXT), again.encode(TEXT))


def test_an_empty_text_is_refused():
    with pytest.raises(CorpusError, match="the text is empty or holds blank lines alone"):
        learn_units(CharacterUnit(), "").encode("")


def test_the_end_of_a_text_is_held_out():
    assert cut_in_order("abcdefghij", held_out=0.2, document=True) == ("abcdefgh", "ij", "")
    assert cut_in_order("a\nb\nc\n", held_out=0.2, document=False) == ("a\nb", "c", "")
    with pytest.raises(CorpusError, match="too short"):
        cut_in_order("a\n", held_out=0.2, document=False)


def test_nothing_need_be_held_out():
    """All is learnt from, and validated on; only what is tested on is left out, and the gap."""
    assert cut_in_order("abc", held_out=0, document=True) == ("abc", "abc", "")
    assert cut_in_order("a\n", held_out=0, document=False) == ("a", "a", "")
    found = cut_in_order("abcdefghij", held_out=0, tested=0.2, gap=1, document=True)
    assert found == ("abcdefg", "abcdefg", "ij")


def test_the_very_end_is_tested_on_with_a_gap_before_it():
    """90, 5 and 5 in a hundred, in order, less what is left out."""
    text = "".join(map(chr, range(200, 400)))
    training, validation, test = cut_in_order(
        text, held_out=0.05, tested=0.05, gap=3, document=True
    )

    assert (training, validation, test) == (text[:174], text[177:187], text[190:])


@given(
    st.integers(1, 200),
    st.floats(0.01, 0.5),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.integers(0, 5),
    st.booleans(),
)
def test_parts_are_apart_and_in_order(pieces, held_out, tested, gap, document):
    """Or refused, where one would be empty."""
    names = [chr(0x4E00 + number) for number in range(pieces)]
    joint = "" if document else "\n"
    try:
        parts = cut_in_order(
            joint.join(names), held_out=held_out, tested=tested, gap=gap, document=document
        )
    except CorpusError:
        assert pieces * (1 - held_out - tested) < 2 * gap + 3 or round(pieces * tested) == 0
        return
    found = [
        [names.index(piece) for piece in part.split(joint or None) if piece]
        if joint
        else [names.index(piece) for piece in part]
        for part in parts
    ]
    training, validation, test = found

    assert training[0] == 0
    assert validation[0] - training[-1] == 1 + gap
    assert [*training, *validation, *test] == sorted({*training, *validation, *test})
    assert (test or validation)[-1] == pieces - 1
    assert len(validation) == max(1, round(pieces * held_out))
    assert len(test) == round(pieces * tested)
    assert not test or test[0] - validation[-1] == 1 + gap


# --- reading


@given(texts, st.integers(1, 4), st.integers(1, 7))
def test_streams_go_on_and_miss_nothing(body, rows, window):
    text = np.array([BOS, *body])
    passages = list(Streams(text, rows, window).epoch(0))
    whole = torch.cat([passage.targets for passage in passages], dim=1)
    read = torch.cat([passage.tokens for passage in passages], dim=1)

    assert [n for n in whole.flatten().tolist() if n != PAD] == body
    assert torch.equal(read[:, 1:], whole[:, :-1])
    assert (read[:, 0] == BOS).all()
    assert [p.continues for p in passages] == [False] + [True] * (len(passages) - 1)
    assert len(passages) == Streams(text, rows, window).steps(0)


@given(st.lists(texts, min_size=1, max_size=6), st.integers(1, 4), st.integers(1, 50))
def test_windows_miss_nothing(lines, rows, window):
    text = np.array([token for line in lines for token in (BOS, *line)])
    reading = Windows(text, rows, window, seed=1)
    for epoch in range(2):
        passages = list(reading.epoch(epoch))
        seen = sorted(n for p in passages for n in p.targets.flatten().tolist() if n != PAD)

        assert seen == sorted(token for line in lines for token in line)
        assert len(passages) == reading.steps(epoch)
        assert all((p.tokens[:, 0] == BOS).all() and p.tokens.size(1) <= window for p in passages)


def test_lines_are_read_whole_and_in_another_order_each_epoch():
    lines = [[n, n, EOS] for n in range(4, 40)]
    reading = Windows(np.array([t for line in lines for t in (BOS, *line)]), 4, 8, seed=1)
    orders = [[row for p in reading.epoch(n) for row in p.targets.tolist()] for n in (0, 1, 0)]

    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == lines


def test_between_two_lines_there_is_nothing_to_learn():
    [passage] = Streams(np.array([BOS, 4, EOS, BOS, 5, EOS]), 1, 9).epoch(0)

    assert passage.tokens.tolist() == [[BOS, 4, EOS, BOS, 5]]
    assert passage.targets.tolist() == [[4, EOS, PAD, 5, EOS]]


# --- sampling


P = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (TokenSampling(), P),
        (TokenSampling(temperature=0), [1, 0, 0, 0]),
        (TokenSampling(temperature=0.5), P**2 / (P**2).sum()),
        (TokenSampling(top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (TokenSampling(top_p=0.6), [4 / 7, 3 / 7, 0, 0]),
        (TokenSampling(top_p=0.1), [1, 0, 0, 0]),
    ],
)
def test_what_is_drawn_from(sampling, expected):
    [weights] = shape_distribution(torch.tensor(np.log(P))[None], sampling).numpy()

    np.testing.assert_allclose(weights / weights.sum(), expected)


def test_subwords_are_those_that_the_translator_reads():
    """Whatever its tokenizer, which may leave the normal form to others."""

    class Whitespace:
        def encode(self, line):
            return line.split()

    units = Units(SubwordUnit(), Whitespace(), Vocabulary([*SPECIALS, "für", "dich"]))

    assert units.encode_line(unicodedata.normalize("NFD", "für dich")) == [BOS, 4, 5, EOS]


@pytest.mark.parametrize("sampling", [TokenSampling(), TokenSampling(temperature=0)])
def test_nothing_is_written_where_only_what_is_forbidden_can_follow(sampling):
    """After 4 the model expects UNK alone; neither that nor what is impossible is written."""
    model = NGram.count(
        NGramConfig(order=2, smoothing=MaximumLikelihood()), 6, np.array([BOS, 4, UNK, 5])
    )
    tokens = generate_tokens(
        model, [BOS], sampling, make_generator(1, "test"), never=[PAD, BOS, UNK, EOS]
    )

    assert next(tokens) == 4
    with pytest.raises(NmtError, match="no token that may be written next"):
        next(tokens)


@pytest.mark.parametrize("temperature", [1e-320, 1e-308, 1e-300, 1e-30])
def test_the_least_temperatures_take_the_likeliest(temperature):
    log_probs = torch.tensor(
        [[-torch.inf, -9.0, -2.0, -0.5, -torch.inf], [-9e5, -1e6, -1e7, -1e7, -1e7]]
    )
    weights = shape_distribution(log_probs, TokenSampling(temperature=temperature))

    assert weights.tolist() == [[0, 0, 0, 1, 0], [1, 0, 0, 0, 0]]


def test_what_is_drawn_is_as_frequent_as_it_is_likely():
    text = np.array([BOS, *[4] * 700, *[5] * 300])
    model = NGram.count(NGramConfig(order=1), 6, text)
    tokens = generate_tokens(
        model, [BOS], TokenSampling(), make_generator(1, "test"), never=[PAD, BOS, UNK, EOS]
    )
    drawn = [next(tokens) for _ in range(2000)]

    assert drawn.count(4) / len(drawn) == pytest.approx(0.7, abs=0.03)
    assert set(drawn) == {4, 5}


# --- learning


@pytest.mark.parametrize("unit", ["character", "word"])
@pytest.mark.parametrize(
    "model",
    [
        LSTM,
        LSTM | {"stateful": False, "cell": "gru"},
        LSTM | {"cell": "lstm_1997", "input": "one_hot", "state_dropout": 0.2},
        {"kind": "feed_forward", **SMALL},
        TRANSFORMER,
    ],
    ids=["stateful", "stateless", "lstm_1997", "feed_forward", "transformer"],
)
def test_learning_lowers_the_loss(tmp_path, model, unit):
    _, _, points = learnt(tmp_path, model, unit=unit)

    assert points[-1].validation_loss < points[0].validation_loss


def test_a_schedule_ends_after_the_last_update(tmp_path, monkeypatch):
    """Which would be lost at a rate of 0."""
    monkeypatch.setattr(EpochTrainingConfig, "log_every", 1)
    log, rates = Log(), []
    log.step = lambda *, learning_rate, **_: rates.append(learning_rate)
    config, *_ = learnt(tmp_path, log=log)
    rate, end = config.training.schedule.rate, len(rates) + 1

    assert rates == [rate(number - 1, number / end) for number in range(1, end)]
    assert 0 < rates[-1] < max(rates) / 10


def test_a_single_update_learns(tmp_path):
    """A text so short that it is read at once, and once."""
    once = {"epochs": 1, "rows": 1, "window": 10_000}
    found = []
    for peak in (1e-3, 2e-3):
        schedule = {"kind": "warmup_decay", "learning_rate": peak}
        _, model, [point] = learnt(tmp_path / str(peak), training={**once, "schedule": schedule})
        assert point.step == 1
        found.append(weights(model))

    assert all(found[0][name] != found[1][name] for name in found[0])


def test_other_settings_or_text_are_another_training():
    units = learn_units(CharacterUnit(), TEXT)
    ids = units.encode(TEXT)
    texts = {"training": ids, "validation": ids}
    config = LearningConfig()
    other = build(LearningConfig, {"seed": 2}, at="learn")

    assert (
        len(
            {
                compute_text_fingerprint(config, units, **texts),
                compute_text_fingerprint(other, units, **texts),
                compute_text_fingerprint(config, units, **texts | {"validation": ids[:50]}),
                compute_text_fingerprint(config, learn_units(CharacterUnit(), "ab"), **texts),
            }
        )
        == 4
    )


def test_the_loss_of_lines_is_the_mean_over_their_tokens():
    units = learn_units(WordUnit(min_count=1), TEXT)
    ids = units.encode(TEXT)
    model = NGram.count(NGramConfig(order=3), len(units.vocabulary), ids)
    total = LogLikelihood()
    for score in TextModel(model, units).score([line for line in TEXT.split("\n") if line]):
        total = total.plus(score)

    assert mean_loss(model, ids, document=False) == pytest.approx(
        -total.log_likelihood / total.tokens
    )


def test_a_counting_model_reads_a_document_from_end_to_end():
    """What stands amid it was never counted after BOS, and would be impossible there."""
    units = learn_units(CharacterUnit(), long := TEXT * 8)
    ids = units.encode(long)
    config = NGramConfig(order=3, smoothing=MaximumLikelihood())
    model = NGram.count(config, len(units.vocabulary), ids)
    [score] = TextModel(model, units).score([long.removesuffix("\n")])

    assert len(ids) > 2 * VALIDATION_WINDOW
    assert mean_loss(model, ids, document=True) == pytest.approx(
        -score.log_likelihood / score.tokens
    )
    assert mean_loss(model, ids[1:], document=True) == MOST_LOSS


def test_tied_weights_need_one_width():
    with pytest.raises(ValueError, match="tied weights need one width"):
        RecurrentConfig(tie=True, width=8, embedding_width=4)


def test_one_hot_input_is_an_embedding_that_is_the_input_weights():
    """Vectors that are the rows of the identity, so the first layer's weights are the vectors."""
    words = 9
    torch.manual_seed(0)
    shape = {"width": 12, "embedding_width": words, "layers": 2}
    plain = build_language_model(RecurrentConfig(input="one_hot", **shape), words).eval()
    vectors = build_language_model(RecurrentConfig(**shape), words).eval()
    with torch.no_grad():
        for name, weight in plain.named_parameters():
            vectors.get_parameter(name).copy_(weight)
        vectors.embedding.weight.copy_(torch.eye(words) / words**0.5)
    tokens = torch.tensor([[BOS, 4, 5, 8], [BOS, PAD, UNK, 6]])

    torch.testing.assert_close(plain(tokens), vectors(tokens))
    assert "embedding.weight" not in plain.state_dict()


def test_one_hot_input_has_nothing_to_tie():
    with pytest.raises(ValueError, match="no vectors to tie"):
        RecurrentConfig(tie=True, input="one_hot", width=8, embedding_width=8)


def test_a_state_is_dropped_by_one_mask_a_window_and_layer(monkeypatch):
    """In training alone."""
    drawn = []

    def draw(hidden, probability):
        drawn.append((tuple(hidden.shape), probability))
        return torch.zeros_like(hidden)

    monkeypatch.setattr("nmt_core.extensions.language_models.recurrent.draw_state_mask", draw)
    torch.manual_seed(0)
    config = RecurrentConfig(width=6, embedding_width=4, dropout=0.0, state_dropout=0.4)
    model = build_language_model(config, 9)
    tokens = torch.tensor([[BOS, 4, 5, 8, 4], [BOS, 5, 5, 6, 7]])
    whole = model.eval()(tokens)
    assert drawn == []
    blind = model.train()(tokens)

    assert drawn == [((2, 6), 0.4)] * 2
    torch.testing.assert_close(blind[:, :1], whole[:, :1])
    assert not torch.allclose(blind[:, 1:], whole[:, 1:])


@pytest.mark.parametrize("cell", ["lstm", "lstm_1997"])
def test_the_forget_gate_begins_open_or_stays_so(cell):
    model = build_language_model(RecurrentConfig(cell=cell, width=4, embedding_width=4), 9)
    gates = {name: w.detach().chunk(4)[1] for name, w in model.layers.named_parameters()}
    bias = 1.0 if cell == "lstm" else 100.0

    for name, gate in gates.items():
        if "bias_ih" in name:
            assert (gate == bias).all()
        elif "weight" in name:
            assert (gate == 0).all() == (cell == "lstm_1997")


# --- texts


def test_a_document_scores_alike_however_it_is_cut_into_lines(tmp_path):
    """Lines of characters are read one after another, their ends too."""
    _, model, _ = learnt(tmp_path)
    scores = model.score(["the cat", "", "sat."])
    flat = model.units.encode("the cat\n\nsat.\n")
    expected = -mean_loss(model.model, flat, document=True) * (len(flat) - 1)

    assert [score.tokens for score in scores] == [8, 1, 5]
    assert sum(score.log_likelihood for score in scores) == pytest.approx(expected, rel=1e-4)


def test_words_spelt_like_reserved_tokens_are_words():
    """They neither cut a line nor end it, in training or in scoring."""
    text = "a b </s> c\na <pad> b\n<s> a\n" * 3
    units = learn_units(WordUnit(min_count=1, split="whitespace"), text)
    ids = units.encode(text)
    model = TextModel(NGram.count(NGramConfig(order=2), len(units.vocabulary), ids), units)

    assert (ids == BOS).sum() == (ids == EOS).sum() == 9
    assert PAD not in ids
    assert [(s.tokens, s.unknown) for s in model.score(text.splitlines()[:3])] == [
        (5, 1),
        (4, 1),
        (3, 1),
    ]


@pytest.mark.parametrize("unit", [CharacterUnit(), WordUnit(min_count=1)], ids=str)
def test_no_lines_have_no_scores(unit):
    units = learn_units(unit, TEXT)
    model = NGram.count(NGramConfig(order=2), len(units.vocabulary), units.encode(TEXT))

    assert TextModel(model, units).score([]) == []


@pytest.mark.parametrize("stateful", [True, False])
def test_a_text_scores_as_its_validation_said(tmp_path, stateful):
    """Blank lines, of which words learn nothing, count nothing."""
    _, model, _ = learnt(tmp_path, LSTM | {"stateful": stateful}, unit="word")
    lines = ["the cat ran.", "", " \t", "the dog sat, too."]
    scores = model.score(lines)
    total = LogLikelihood()
    for score in scores:
        total = total.plus(score)
    ids = model.units.encode("\n".join(lines))

    assert scores[1] == scores[2] == LogLikelihood()
    assert total.tokens == 12
    assert -total.log_likelihood / total.tokens == pytest.approx(
        mean_loss(model.model, ids, document=False), rel=1e-5
    )


def test_perplexity_is_that_of_a_token():
    """A die with words on its faces, and the end of the line on one, has so many faces."""
    faces = ["one", "two", "six", "ten", "can", "fox"]
    units = learn_units(WordUnit(min_count=1), "\n".join(faces))
    model = NGram.count(NGramConfig(order=1), 10, np.array([BOS, *range(4, 10), EOS]))
    [score] = TextModel(model, units).score(["one two"])

    assert (score.tokens, score.characters) == (3, 8)
    assert score.perplexity == pytest.approx(math.exp(-score.log_likelihood / 3))
    assert score.perplexity == pytest.approx(7, rel=0.2)


@pytest.mark.parametrize("nats", [math.inf, 1e6])
def test_the_perplexity_of_the_impossible_is_infinite(nats):
    assert math.inf == LogLikelihood(-nats, 3).perplexity
    assert LogLikelihood(-2000.0, 3).perplexity == pytest.approx(math.exp(2000 / 3))


def test_characters_may_be_read_in_lower_case():
    """Capitals are neither known nor unknown: they are the small letters, wherever text is read."""
    text = "The Cat, the cat\n"
    units = learn_units(CharacterUnit(lower_case=True), text)
    model = NGram.count(NGramConfig(order=2), len(units.vocabulary), units.encode(text))
    one, other = (TextModel(model, units).score([line]) for line in ("THE CAT", "the cat"))
    kept = learn_units(CharacterUnit(), text)

    assert {*units.vocabulary.tokens[4:]} == {*text.lower()}
    assert one == other
    assert one[0].unknown == 0
    assert units.encode("TeC").tolist() == units.encode("tec").tolist()
    assert "T" in kept.vocabulary
    assert kept.encode("Te").tolist() != kept.encode("te").tolist()


def test_what_is_written_follows_from_all_that_was_read(tmp_path):
    """Line after line, by a model that was trained so."""
    _, text_model, _ = learnt(tmp_path, LSTM, unit="word", training={"epochs": 12})
    model, read = text_model.model, [BOS]
    likeliest = TokenSampling(temperature=0)
    for token in islice(
        generate_tokens(model, read[:], likeliest, make_generator(1, "w"), never=[PAD, BOS]), 30
    ):
        with torch.no_grad():
            [following] = model(torch.tensor([read]))[:, -1]

        assert token == following.argmax()
        read += [EOS, BOS] if token == EOS else [token]

    assert read.count(EOS) > 2


def test_the_same_seed_writes_the_same_text(tmp_path):
    _, model, _ = learnt(tmp_path)
    first, again, other = (
        model.generate(50, TokenSampling(), seed=seed, prefix="the ") for seed in (1, 1, 2)
    )

    assert first == again != other
    assert first.startswith("the ")
    assert len(first) == 54


def test_lines_are_written_one_after_another():
    units = learn_units(WordUnit(min_count=1), TEXT)
    model = NGram.count(NGramConfig(order=4), len(units.vocabulary), units.encode(TEXT))
    text = TextModel(model, units).generate(40, TokenSampling(), seed=1, prefix="the cat")

    assert text.startswith("the cat ")
    assert "\n" in text


# --- sealing


@pytest.mark.parametrize(
    "model", [LSTM, {"kind": "ngram"}, TRANSFORMER], ids=["lstm", "ngram", "transformer"]
)
def test_a_sealed_model_is_the_same(tmp_path, model):
    config, model, points = learnt(tmp_path, model)
    learning = {"points": [point.model_dump() for point in points]}
    for name in ("one", "two"):
        write_language_model(tmp_path / name, model, model_config=config.model, learning=learning)
    again = load_language_model(tmp_path / "one", device="cpu")

    assert seal.list_contents(tmp_path / "one") == seal.list_contents(tmp_path / "two")
    assert model.score(["the cat"]) == again.score(["the cat"])


def test_damage_is_told(tmp_path):
    config, model, _ = learnt(tmp_path)
    write_language_model(tmp_path / "lm", model, model_config=config.model, learning={})
    (tmp_path / "lm" / "model.safetensors").write_bytes(b"rubbish")

    with pytest.raises(BundleError, match=r"model.safetensors was altered"):
        load_language_model(tmp_path / "lm", device="cpu")


def test_tensors_of_another_shape_are_refused():
    with pytest.raises(BundleError, match="is missing"):
        restore_language_model(RecurrentConfig(layers=1, width=4, embedding_width=4), 9, {})


NESTED = b"[" * 100_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.json", b"[]"),
        ("model.json", NESTED),
        ("model.json", b"\xff"),
        ("units.json", b"3"),
        ("vocabulary.json", b"{}"),
        ("vocabulary.json", b'["<pad>", "<s>", "</s>", "<unk>", 5]'),
        ("vocabulary.json", NESTED),
        ("model.safetensors", b""),
        ("model.safetensors", None),
        ("vocabulary.json", None),
    ],
)
def test_what_was_sealed_malformed_is_told_in_a_sentence(tmp_path, name, content):
    config, model, _ = learnt(tmp_path)
    folder = tmp_path / "lm"
    write_language_model(folder, model, model_config=config.model, learning={})
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    manifest = {"format": seal.LANGUAGE_MODEL, "files": seal.list_contents(folder)}
    files.write_json(folder / seal.MANIFEST, manifest)

    with pytest.raises(NmtError) as told:
        load_language_model(folder, device="cpu")
    assert "\n" not in str(told.value)


def test_another_format_is_told(tmp_path):
    config, model, _ = learnt(tmp_path)
    folder = tmp_path / "lm"
    write_language_model(folder, model, model_config=config.model, learning={})
    manifest = files.read_json(folder / seal.MANIFEST) | {"format": "language model 9"}
    files.write_json(folder / seal.MANIFEST, manifest)

    with pytest.raises(BundleError, match=r"has format 'language model 9'.*reads format"):
        load_language_model(folder, device="cpu")


def test_settings_beyond_the_tensors_are_refused_before_memory_is_taken():
    """An LSTM of a thousand layers as wide as it may be has 10^13 weights."""
    with pytest.raises(BundleError, match="is missing"):
        restore_language_model(RecurrentConfig(layers=1000, width=65_536), 9, {})


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError, match=r"learn.model.kind must be one of"):
        build(LearningConfig, json.loads('{"model": {"kind": "magic"}}'), at="learn")
