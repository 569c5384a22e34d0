"""Test units of text: characters, words, subwords."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.extensions.language_models.model import TextModel
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig
from nmt_core.extensions.language_models.reading import (
    Streams,
    UnitConfig,
    Windows,
    hold_out_end,
    learn_units,
)
from nmt_core.extensions.language_models.training import LearningConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK


def test_characters_keep_a_text_as_it_is():
    units = learn_units(UnitConfig(), text := "A\tb\n\n  ü\r\n")
    numbers = units.encode(text)

    assert numbers[0] == BOS
    assert units.decode(numbers.tolist()) == text


def test_words_make_lines_without_blank_ones():
    units = learn_units(UnitConfig(kind="word", min_count=1), "Ah, no!\n\nno\n")
    numbers = units.encode("Ah, no!\n\nno\nyes\n").tolist()

    assert units.decode(numbers) == "Ah , no !\nno\n<unk>\n"
    assert numbers.count(BOS) == numbers.count(EOS) == 3
    assert UNK in numbers


def test_rare_words_are_unknown():
    units = learn_units(UnitConfig(kind="word", min_count=2, split="whitespace"), "a, a, b\n")

    assert units.vocabulary.tokens[4:] == ("a,",)


@pytest.mark.parametrize(
    ("kind", "setting"), [("character", {"min_count": 3}), ("subword", {"lower_case": True})]
)
def test_settings_of_another_unit_are_refused(kind, setting):
    with pytest.raises(ConfigError, match=f"cannot be combined with kind '{kind}'"):
        build(LearningConfig, {"unit": {"kind": kind, **setting}}, at="x")


def test_an_empty_text_is_refused():
    with pytest.raises(CorpusError, match="the text is empty or has only blank lines"):
        learn_units(UnitConfig(), "").encode("")


def test_words_spelt_like_reserved_tokens_are_words():
    """They neither split nor end a line, in training or in scoring."""
    text = "a b </s> c\na <pad> b\n<s> a\n" * 3
    units = learn_units(UnitConfig(kind="word", min_count=1, split="whitespace"), text)
    ids = units.encode(text)
    model = TextModel(NGram.count(NGramConfig(order=2), len(units.vocabulary), ids), units)

    assert (ids == BOS).sum() == (ids == EOS).sum() == 9
    assert PAD not in ids
    assert [(s.tokens, s.unknown) for s in model.score(text.splitlines()[:3])] == [
        (5, 1),
        (4, 1),
        (3, 1),
    ]


def test_characters_can_be_read_in_lower_case():
    """Capitals are read as small letters wherever text is read."""
    text = "The Cat, the cat\n"
    units = learn_units(UnitConfig(lower_case=True), text)
    model = NGram.count(NGramConfig(order=2), len(units.vocabulary), units.encode(text))
    one, other = (TextModel(model, units).score([line]) for line in ("THE CAT", "the cat"))
    kept = learn_units(UnitConfig(), text)

    assert {*units.vocabulary.tokens[4:]} == {*text.lower()}
    assert one == other
    assert one[0].unknown == 0
    assert units.encode("TeC").tolist() == units.encode("tec").tolist()
    assert "T" in kept.vocabulary
    assert kept.encode("Te").tolist() != kept.encode("te").tolist()


@pytest.mark.parametrize(
    ("text", "share", "document", "parts"),
    [
        ("abcdefghij", 0.2, True, ("abcdefgh", "ij")),
        ("a\nb\nc\n", 0.2, False, ("a\nb", "c")),
        ("abc", 0, True, ("abc", "abc")),
        ("a\n", 0, False, ("a", "a")),
        ("a\n", 0.2, False, None),
        ("", 0.2, True, None),
    ],
)
def test_the_end_of_a_text_is_held_out(text, share, document, parts):
    if parts:
        assert hold_out_end(text, share, document=document) == parts
    else:
        with pytest.raises(CorpusError, match="too short"):
            hold_out_end(text, share, document=document)


texts = st.lists(st.integers(3, 9), min_size=1, max_size=40)


@given(texts, st.integers(1, 4), st.integers(1, 7))
def test_streams_continue_and_miss_nothing(body, rows, window):
    text = np.array([BOS, *body])
    passages = list(Streams(text, rows, window).read_epoch(0))
    whole = torch.cat([passage.targets for passage in passages], dim=1)
    read = torch.cat([passage.tokens for passage in passages], dim=1)

    assert [n for n in whole.flatten().tolist() if n != PAD] == body
    assert torch.equal(read[:, 1:], whole[:, :-1])
    assert (read[:, 0] == BOS).all()
    assert [p.continues for p in passages] == [False] + [True] * (len(passages) - 1)
    assert len(passages) == Streams(text, rows, window).count_steps(0)


@given(st.lists(texts, min_size=1, max_size=6), st.integers(1, 4), st.integers(1, 50))
def test_windows_miss_nothing(lines, rows, window):
    text = np.array([token for line in lines for token in (BOS, *line)])
    reading = Windows(text, rows, window, seed=1)
    for epoch in range(2):
        passages = list(reading.read_epoch(epoch))
        seen = sorted(n for p in passages for n in p.targets.flatten().tolist() if n != PAD)

        assert seen == sorted(token for line in lines for token in line)
        assert len(passages) == reading.count_steps(epoch)
        assert all((p.tokens[:, 0] == BOS).all() and p.tokens.size(1) <= window for p in passages)


def test_lines_are_whole_and_reordered_each_epoch():
    lines = [[n, n, EOS] for n in range(4, 40)]
    reading = Windows(np.array([t for line in lines for t in (BOS, *line)]), 4, 8, seed=1)
    orders = [[row for p in reading.read_epoch(n) for row in p.targets.tolist()] for n in (0, 1, 0)]

    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == lines


def test_nothing_is_learnt_between_two_lines():
    [passage] = Streams(np.array([BOS, 4, EOS, BOS, 5, EOS]), 1, 9).read_epoch(0)

    assert passage.tokens.tolist() == [[BOS, 4, EOS, BOS, 5]]
    assert passage.targets.tolist() == [[4, EOS, PAD, 5, EOS]]
