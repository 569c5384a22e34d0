"""Test what language models write."""

from itertools import islice, takewhile

import numpy as np
import pytest
import torch

from nmt_core.base.errors import NmtError
from nmt_core.base.random import make_generator
from nmt_core.extensions.language_models.ngram import MaximumLikelihood, NGram, NGramConfig
from nmt_core.extensions.language_models.text_model import generate_tokens
from nmt_core.search.settings import TokenSampling
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK
from tests.support.language_models import LSTM, learnt


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
    with pytest.raises(NmtError, match="no token that may be written"):
        next(tokens)


def test_what_is_drawn_is_as_frequent_as_it_is_likely():
    text = np.array([BOS, *[4] * 700, *[5] * 300])
    model = NGram.count(NGramConfig(order=1), 6, text)
    tokens = generate_tokens(
        model, [BOS], TokenSampling(), make_generator(1, "test"), never=[PAD, BOS, UNK, EOS]
    )
    drawn = [next(tokens) for _ in range(2000)]

    assert drawn.count(4) / len(drawn) == pytest.approx(0.7, abs=0.03)
    assert set(drawn) == {4, 5}


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


def test_lines_are_drawn_apart_by_models_trained_so(tmp_path):
    _, text_model, _ = learnt(tmp_path, LSTM | {"stateful": False}, unit="word")
    model = text_model.model
    whole, apart = make_generator(1, "w"), make_generator(1, "w")
    lines = generate_tokens(model, [BOS], TokenSampling(), whole, never=[PAD, BOS])
    written = [read_line(lines) for _ in range(20)]

    assert not model.carries
    assert written == [
        read_line(generate_tokens(model, [BOS], TokenSampling(), apart, never=[PAD, BOS]))
        for _ in range(20)
    ]


def read_line(tokens):
    return [*takewhile(EOS.__ne__, tokens)]


def test_the_same_seed_writes_the_same_text(tmp_path):
    _, model, _ = learnt(tmp_path)
    first, again, other = (
        model.generate(50, TokenSampling(), seed=seed, prefix="the ") for seed in (1, 1, 2)
    )

    assert first == again != other
    assert first.startswith("the ")
    assert len(first) == 54
