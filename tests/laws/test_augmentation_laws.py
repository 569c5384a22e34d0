"""Laws of augmented training pairs: draws are a function of seed, epoch and number."""

import hashlib
import itertools
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.random import make_generator
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.data.drawn_pairs import AugmentedPairs
from nmt_core.data.modifiers import (
    Lines,
    change_punctuation,
    drop_final_stop,
    make_typing_errors,
    put_symbols,
)
from nmt_core.data.settings import AugmentationConfig
from nmt_core.data.shards import Block, ShardDataset, write_shards
from nmt_core.literals.masking import insert_word
from nmt_core.text import Characters
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import remove_accents
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import Vocabulary

PAIRS = [
    ("Herr Barroso hat 94 Stimmen, sagt er.", "Mr Barroso has 94 votes, he says."),
    ("Das „Haus“ der Äpfel steht da.", "The house of apples stands there."),
    ("Am 3. Mai um 15.30 Uhr!", "On 3 May at 3.30 p.m.!"),
    ("Ja.", "Yes."),
]
LANGUAGES = ("de", "en")
LINES = st.text(max_size=40).map(normalize)


def drawn(config, *, seed=1, symbols=ALL_SYMBOLS, tmp_path):
    """Return a function that draws pairs of characters."""
    letters = Counter("".join(itertools.chain.from_iterable(PAIRS)).upper())
    letters.update("".join(letters).lower() + "▁\"'«“-—ñ")
    side = Side(Characters(), Vocabulary.most_frequent(letters, symbols=symbols))
    if not (tmp_path / "shards").exists():
        numbers = [(side.ids(source), side.ids(target)) for source, target in PAIRS]
        write_shards([Block.of(numbers)], tmp_path / "shards", pairs_per_shard=100)
    return side, AugmentedPairs(
        ShardDataset(tmp_path / "shards"),
        (side, side),
        [LANGUAGES],
        AugmentationConfig(**config),
        seed,
    )


def texts(side, pairs, epochs=range(20)):
    return [
        tuple(side.text(tokens) for tokens in pairs.draw(number, epoch))
        for epoch in epochs
        for number in range(len(PAIRS))
    ]


@pytest.mark.parametrize("name", AugmentationConfig.model_fields)
def test_shares_of_one_and_zero_are_exact(name, tmp_path):
    side, pairs = drawn({name: 1.0}, tmp_path=tmp_path)
    seen = texts(side, pairs)
    assert seen == texts(side, drawn({name: 1.0}, tmp_path=tmp_path)[1])
    assert set(seen) - set(PAIRS)
    _, never = drawn({}, tmp_path=tmp_path)
    assert set(texts(side, never)) == set(PAIRS)


def test_share_is_met_for_each_seed_and_epoch(tmp_path):
    side, pairs = drawn({"no_final_stop": 0.3}, tmp_path=tmp_path)
    seen = texts(side, pairs, range(300))
    modified = [[source[-1:] != "." for source, _ in seen[n::4]] for n in (0, 1, 3)]
    assert np.mean(modified) == pytest.approx(0.3, abs=0.05)
    assert len({*map(tuple, modified)}) == 3
    _, others = drawn({"no_final_stop": 0.3}, seed=2, tmp_path=tmp_path)
    assert seen != texts(side, others, range(300))


def test_draws_are_the_same_in_every_version(tmp_path):
    """So the same settings train the same model."""
    config = {"symbols": 0.3, "no_final_stop": 0.3, "typing_errors": 0.5, "merged": 0.2}
    side, pairs = drawn(config, tmp_path=tmp_path)
    digest = hashlib.sha256(repr(texts(side, pairs)).encode()).hexdigest()
    assert digest[:16] == "27124d006f8af2fc"


def test_no_pair_exceeds_the_maximum_length(tmp_path):
    _, pairs = drawn({"merged": 1.0, "symbols": 1.0}, tmp_path=tmp_path)
    longest = max(len(line) for pair in PAIRS for line in pair)
    drawn_all = [pairs.draw(number, epoch) for number in range(len(PAIRS)) for epoch in range(50)]
    assert max(len(tokens) for pair in drawn_all for tokens in pair) <= longest
    assert any(len(source) > len(PAIRS[3][0]) for source, _ in drawn_all[150:])


def test_vocabulary_without_symbols_gets_none(tmp_path):
    side, pairs = drawn({"symbols": 1.0}, symbols=(), tmp_path=tmp_path)
    assert set(texts(side, pairs)) == set(PAIRS)


@given(LINES, LINES, st.integers(0, 1000))
def test_symbols_are_equal_on_both_sides(source, target, seed):
    clean = Lines(*("".join(c for c in line if c not in ALL_SYMBOLS) for line in (source, target)))
    lines = put_symbols(clean, make_generator(seed, "x"), LANGUAGES)
    one, other = ([sign for sign in line if sign in ALL_SYMBOLS] for line in lines)
    assert sorted(one) == sorted(other)
    assert len({*one}) == len(one)


def test_only_literals_of_both_sides_are_replaced():
    seen = Counter()
    for seed in range(200):
        lines = put_symbols(Lines(*PAIRS[0]), make_generator(seed, "x"), LANGUAGES)
        for word in ("Barroso", "94"):
            assert (word in lines.source) == (word in lines.target)
            seen[word] += word not in lines.source
        assert all(word in lines.source for word in ("Herr", "Stimmen,", "sagt"))
        assert lines.source.endswith(".") is lines.target.endswith(".") is True
    assert all(120 < times < 200 for times in seen.values())


@given(LINES, st.sampled_from(["de", "en", "fr", "xx"]), st.integers(0, 1000))
def test_typing_errors_change_no_translation(line, language, seed):
    for modify in (change_punctuation, partial(make_typing_errors, language=language)):
        assert modify(Lines(line, "Ein Satz."), make_generator(seed, "x")).target == "Ein Satz."


@given(st.tuples(*[st.sampled_from(["", ".", " .", "..", "...", "?", ".)"])] * 2))
def test_final_stop_is_removed_from_both_sides(ends):
    lines = Lines(f"Ein Satz{ends[0]}", f"A sentence{ends[1]}")
    without = Lines("Ein Satz", "A sentence")
    assert drop_final_stop(lines, None) == (without if {*ends} <= {".", " ."} else lines)


def test_typing_errors_change_a_letter_in_eight_words():
    words = ["Wort"] * 8000
    line = " ".join(words)
    typed = make_typing_errors(Lines(line, ""), make_generator(1, "x"), "de").source.split(" ")
    wrong = [word for word in typed if word != "Wort"]
    assert len(typed) == len(words)
    assert len(wrong) == pytest.approx(1000, abs=120)
    assert {len(word) for word in wrong} == {3, 4, 5}
    assert {"oWrt", "Wrt", "Woort", "Wirt", "Wprt"} <= {*wrong}
    assert "Wzrt" not in wrong


def test_accents_are_removed():
    assert remove_accents("Äpfel, naïve, şey, ñ") == "Apfel, naive, sey, n"


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "x Das ist gut."), (0.34, "Das x ist gut."), (1.0, "Das ist gut x.")],
)
def test_words_are_inserted_before_the_final_punctuation(share, expected):
    assert insert_word("Das ist gut.", share, "x") == expected
