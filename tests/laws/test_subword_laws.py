"""Subwords can be joined to the original line."""

import unicodedata
from copy import copy

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text import Characters, Subwords, load_tokenizer
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side
from nmt_core.text.subwords import SubwordConfig
from nmt_core.text.vocabulary import SPECIALS, UNK, Vocabulary

TEXT = [
    "Der Ausschuss stimmt dem Bericht am 3. Mai 1999 zu.",
    "Frau Präsidentin, wir lehnen den Vorschlag ab!",
    "The committee approves the report on 3 May 1999.",
    "Madam President, we reject the proposal!",
] * 5


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request):
    return Subwords.train(TEXT, SubwordConfig(model_type=request.param, vocab_size=310))


@given(line=st.text())
@example("<s> </s> <unk> <pad> <0x41>")
@example("x\N{LOWER ONE EIGHTH BLOCK}y \u2028 z\x00")
@example("日本語 \N{GRINNING FACE} 2014 Fußballweltmeister")
def test_joining_restores_the_normalized_line(subwords, line):
    normalized = normalize(line)
    pieces = subwords.encode(normalized)
    assert normalized == subwords.decode(pieces) == normalize(normalized)
    assert pieces == subwords._processor.encode(normalized, out_type=str)
    assert subwords.decode(pieces[1::2]) == subwords._processor.decode(pieces[1::2])


@given(line=st.text())
@settings(max_examples=30)
def test_no_piece_is_unknown_or_has_a_space(subwords, line):
    pieces = subwords.encode(line)
    assert all(piece in subwords.vocabulary for piece in pieces)
    assert "<unk>" not in pieces
    assert pieces == " ".join(pieces).split()


CZECH = ["Předseda výboru přečetl zprávu.", "Příští týden přijde předsedkyně výboru."] * 9


@given(line=st.text() | st.sampled_from(CZECH))
def test_added_pieces_keep_the_present_ones(line):
    """A model that learns another language keeps the rows of its embeddings."""
    before = Subwords.train(TEXT, SubwordConfig(vocab_size=310), symbols=ALL_SYMBOLS)
    after = before.extend(CZECH, 40)
    count, normalized = len(before.vocabulary), normalize(line)
    assert after.vocabulary.tokens[:count] == before.vocabulary.tokens
    assert count < len(after.vocabulary) <= count + 40
    assert after.decode(after.encode(normalized)) == normalized
    assert len(after.encode(normalized)) <= len(before.encode(normalized))
    assert len(after.encode(CZECH[0])) < len(before.encode(CZECH[0]))


def test_training_is_reproducible(tmp_path, subwords):
    """The same text gives the same bytes, which load unchanged."""
    again = Subwords.train(TEXT, SubwordConfig(vocab_size=310))
    twice = Subwords.train(TEXT, SubwordConfig(vocab_size=310))
    again.save(tmp_path / "a")
    twice.save(tmp_path / "b")
    saved = [(tmp_path / name / "sentencepiece.model").read_bytes() for name in "ab"]

    assert saved[0] == saved[1]
    assert again.encode(TEXT[0]) == load_tokenizer(tmp_path / "a").encode(TEXT[0])
    assert again.encode(TEXT[0]) == copy(again).encode(TEXT[0])


CHARACTERS = Characters()

normal_lines = st.text().map(normalize).filter(bool)


@given(one=normal_lines, other=normal_lines)
def test_space_is_the_symbol_between_lines(one, other):
    apart = [CHARACTERS.encode(line) for line in (one, other)]

    assert CHARACTERS.encode(f"{one} {other}") == [*apart[0], "▁", *apart[1]]


@given(line=st.text())
@example("</s>")
def test_ids_restore_lines_with_known_characters(line):
    known = dict.fromkeys(CHARACTERS.encode(line), 1)
    side = Side(CHARACTERS, Vocabulary.most_frequent(known))

    assert UNK not in side.ids(line)
    assert side.text(side.ids(line)) == normalize(line)


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("a  b", ["a", "▁", "b"]),
        (unicodedata.normalize("NFD", "für"), ["f", "ü", "r"]),
        ("x\N{COMBINING CARON}", ["x", "\N{COMBINING CARON}"]),
        ("1\N{NO-BREAK SPACE}°", ["1", "▁", "°"]),
        ("", []),
    ],
)
def test_characters_are_code_points_of_composed_lines(line, tokens):
    assert tokens == CHARACTERS.encode(line)


def test_unknown_characters_are_written_as_spelt():
    side = Side(CHARACTERS, Vocabulary([*SPECIALS, "a", "▁"]))

    assert side.ids("a ba") == [4, 5, UNK, 4]
    assert side.text([4, 5, UNK, 4]) == "a <unk>a"
