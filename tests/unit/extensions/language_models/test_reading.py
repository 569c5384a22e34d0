"""Test how training reads a text: in streams or in windows."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.extensions.language_models.reading import Streams, Windows
from nmt_core.text.vocabulary import BOS, EOS, PAD

texts = st.lists(st.integers(3, 9), min_size=1, max_size=40)


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
