"""Test the scores of texts and their perplexity."""

import math
from itertools import islice, takewhile

import numpy as np
import pytest
import torch

from nmt_core.base.errors import NmtError
from nmt_core.base.random import make_generator
from nmt_core.extensions.language_models.model import TextModel, generate_tokens
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig, Smoothing
from nmt_core.extensions.language_models.reading import UnitConfig, Units, Words
from nmt_core.extensions.language_models.training import compute_mean_loss
from nmt_core.search.engine import LogLikelihood
from nmt_core.search.settings import TokenSampling
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK
from nmt_core.translation.forced_decoding import score_pairs
from nmt_core.translation.translator import Translator
from tests.support.commands import run
from tests.support.language_models import LSTM, learnt
from tests.support.table_model import END, Table, TableLanguageModel
from tests.support.tiny import export


def test_line_breaks_do_not_change_a_documents_score(tmp_path):
    """Lines of characters are read one after another, their line ends too."""
    _, model, _ = learnt(tmp_path)
    scores = model.score(["the cat", "", "sat."])
    assert model.score([]) == []
    flat = model.units.encode("the cat\n\nsat.\n")
    expected = -compute_mean_loss(model.model, flat, document=True) * (len(flat) - 1)

    assert [score.tokens for score in scores] == [8, 1, 5]
    assert sum(score.log_likelihood for score in scores) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("stateful", [True, False])
def test_a_text_scores_as_in_validation(tmp_path, stateful):
    """Blank lines count nothing, because models of words do not learn from them."""
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
        compute_mean_loss(model.model, ids, document=False), rel=1e-5
    )


@pytest.mark.parametrize("nats", [math.inf, 1e6])
def test_the_perplexity_of_impossible_text_is_infinite(nats):
    assert math.inf == LogLikelihood(-nats, 3).perplexity
    assert LogLikelihood(-2000.0, 3).perplexity == pytest.approx(math.exp(2000 / 3))


LINES = ["i am from pittsburg", "i study at a university", "my mother is from utah"]
PROBABILITIES = [2.1e-6, 1.1e-8, 2.0e-9]
DECIMAL = [-5.67, -7.96, -8.70]
"""Logarithms to the base of 10 as the slides print them; the first is truncated."""

WORDS, ENDS = 4 + 5 + 5, 3


def sentence_model():
    """Gives each line the slides' probability; EOS gets the remaining probability."""
    rows = {(): {"i": 0.3, "my": 0.3}}
    for line, probability in zip(LINES, PROBABILITIES, strict=True):
        words = line.split()
        for place in range(1, len(words)):
            rows.setdefault(tuple(words[:place]), {})[words[place]] = 0.02
        rows[tuple(words)] = {END: probability / (0.3 * 0.02 ** (len(words) - 1))}
    table = Table(rows, otherwise={})
    return TextModel(
        TableLanguageModel(table),
        Units(UnitConfig(kind="word"), Words("whitespace"), table.vocabulary),
    )


@pytest.fixture(scope="module")
def scores():
    return sentence_model().score(LINES)


def test_log_likelihoods_are_those_of_the_slides(scores):
    """The slides use the base of 10, our scores nats."""
    decimal = [score.log_likelihood / math.log(10) for score in scores]

    assert decimal == pytest.approx(DECIMAL, abs=0.01)
    assert [math.exp(score.log_likelihood) for score in scores] == pytest.approx(PROBABILITIES)


def test_perplexity_is_the_likelihoods_root_by_length(scores):
    """EOS counts, because a line's probability includes it (T + 1 factors).

    The slides divide by the number of words, which gives 39.4 in place of our 20.6. Their
    exponential of a logarithm to the base of 10 would give 4.9, which is an error.
    """
    total = scores[0].plus(scores[1]).plus(scores[2])
    by_words = total._replace(tokens=WORDS)

    assert total.perplexity == pytest.approx(4.62e-23 ** (-1 / (WORDS + ENDS)))
    assert total.perplexity == pytest.approx(20.6, abs=0.05)
    assert by_words.perplexity == pytest.approx(39.4, abs=0.05)


def test_a_text_of_one_word_is_validated():
    """A text without words has no score."""
    text = sentence_model()
    tokens = text.units.encode("i")[:2]  # BOS and the word

    assert compute_mean_loss(text.model, tokens, document=True) == pytest.approx(-math.log(0.3))
    assert compute_mean_loss(text.model, tokens[:1], document=True) == 0


LIKELIEST, DRAWN = TokenSampling(temperature=0), TokenSampling()


def write(model, read=(BOS,), sampling=DRAWN, chance=None, never=(PAD, BOS, UNK, EOS)):
    chance = chance or make_generator(1, "test")
    return generate_tokens(model, [*read], sampling, chance, never=never)


@pytest.mark.parametrize("sampling", [DRAWN, LIKELIEST])
def test_generation_stops_if_only_forbidden_tokens_can_follow(sampling):
    """After 4, the model predicts UNK alone; neither UNK nor an impossible token is written."""
    config = NGramConfig(order=2, smoothing=Smoothing(kind="maximum_likelihood"))
    tokens = write(NGram.count(config, 6, np.array([BOS, 4, UNK, 5])), sampling=sampling)

    assert next(tokens) == 4
    with pytest.raises(NmtError, match="no token has a positive probability"):
        next(tokens)


def test_samples_are_as_frequent_as_probable():
    text = np.array([BOS, *[4] * 700, *[5] * 300])
    drawn = [*islice(write(NGram.count(NGramConfig(order=1), 6, text)), 2000)]

    assert drawn.count(4) / len(drawn) == pytest.approx(0.7, abs=0.03)
    assert set(drawn) == {4, 5}


def test_generated_text_depends_on_all_read_tokens(tmp_path):
    """Line after line, by a model trained on documents."""
    _, text_model, _ = learnt(tmp_path, LSTM, unit="word", training={"epochs": 12})
    model, read = text_model.model, [BOS]
    for token in islice(write(model, sampling=LIKELIEST, never=[PAD, BOS]), 30):
        with torch.no_grad():
            [following] = model(torch.tensor([read]))[:, -1]

        assert token == following.argmax()
        read += [EOS, BOS] if token == EOS else [token]

    assert read.count(EOS) > 2


def test_models_of_lines_draw_lines_independently(tmp_path):
    _, text_model, _ = learnt(tmp_path, LSTM | {"stateful": False}, unit="word")
    model, apart = text_model.model, make_generator(1, "test")
    lines = write(model, never=[PAD, BOS])
    alone = [read_line(write(model, chance=apart, never=[PAD, BOS])) for _ in range(20)]

    assert not model.is_stateful
    assert [read_line(lines) for _ in range(20)] == alone


def read_line(tokens):
    return [*takewhile(EOS.__ne__, tokens)]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")


def test_a_pair_scores_its_targets_log_probabilities(bundle):
    loaded = Translator.load(bundle)
    source, target = (loaded.source.ids(line) for line in ("Das Haus", "the house"))
    read = torch.tensor([[*source, EOS]])
    logits = loaded.full.model(read, read == PAD, torch.tensor([[BOS, *target]]))
    worth = logits.log_softmax(-1)[0].gather(1, torch.tensor([*target, EOS])[:, None])
    [score] = score_pairs(loaded, [("Das Haus", "the house")])

    assert score.log_likelihood == pytest.approx(worth.sum().item(), rel=1e-5)
    assert (score.tokens, score.characters) == (len(target) + 1, 10)


def test_unscorable_text_is_reported(bundle):
    both = ("--model", "a", "--language-model", "b")
    for arguments in (("score",), ("score", *both)):
        assert "score requires either" in run(*arguments).stderr
    told = run("score", "--model", bundle, lines="a\n").stderr
    assert "line 1 of the input has 1 fields" in told
