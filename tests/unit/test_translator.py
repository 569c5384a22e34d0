import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.decoding.beam import BeamConfig
from nmt_core.decoding.translator import Translator, TranslatorConfig, batches
from nmt_core.errors import ConfigError
from nmt_core.vocabulary import SPECIALS, UNK, Vocabulary
from tests.laws.toy_model import Toy
from tests.unit.tiny import LINES, tiny_translator

WORDS = Vocabulary([*SPECIALS, "one", "two", "three"])
STRANGE = [
    "...!?",
    "🦊🦊 👩‍👩‍👧",
    "שלום עולם",
    "\u202eabc",
    "la " * 60,
    "\u0000\u0001",
    "a\u2028b\u0085c\rd\x0be\x0cf",
    "\N{LOWER ONE EIGHTH BLOCK}",
    "\ufeff",
    "<s> </s> <pad> <unk>",
]


class Words:
    """Tokens are what stands between spaces."""

    def encode(self, line):
        return line.split()

    def decode(self, tokens):
        return " ".join(tokens)

    def save(self, folder):
        raise NotImplementedError


def toy_translator(target_tokenizer=None, **config):
    return Translator(
        model=Toy(end=1.0),
        source_tokenizer=Words(),
        target_tokenizer=target_tokenizer or Words(),
        source_vocabulary=WORDS,
        target_vocabulary=WORDS,
        config=TranslatorConfig(**config),
    )


words = st.sampled_from(["one", "two", "three", "four", " ", ""])
lines = st.lists(st.lists(words, max_size=9).map(" ".join), max_size=12)


@settings(max_examples=15, deadline=None)
@given(lines, st.integers(1, 40))
def test_a_line_translates_alike_in_any_company(lines, max_tokens):
    """Sorting, batching and padding are invisible, and the order is restored."""
    alone = toy_translator()

    assert [alone.translate([line])[0] for line in lines] == toy_translator(
        max_tokens=max_tokens
    ).translate(lines)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=5))
def test_one_line_gives_one_line(lines):
    """Whatever it holds, and whatever bytes the model writes."""
    texts = TINY.translate(lines)

    assert len(lines) == len(texts)
    assert all(len(f"{text}.".splitlines()) == 1 for text in texts)


TINY = tiny_translator()


def test_strange_lines_give_lines():
    texts = TINY.translate(STRANGE)

    assert len(STRANGE) == len(texts)
    assert all(len(f"{text}.".splitlines()) == 1 for text in texts)


def test_no_detokenizer_can_break_a_line():
    class Breaking(Words):
        def decode(self, tokens):
            return "\na\u2028b\r\nc\u0085d\x0ce\x1ef\n"

    assert toy_translator(Breaking()).translate(["one"]) == ["a b c d ef"]


@pytest.mark.parametrize("line", ["", " ", "\t", "\u00a0", "\u200b"])
def test_an_empty_line_stays_empty(line):
    assert TINY.translate(["Hund", line])[1] == ""


def test_no_lines_give_no_lines():
    assert TINY.translate([]) == []


def test_an_unknown_word_is_translated_like_any_other():
    translator = toy_translator()

    assert translator.translate(["one four"]) == translator.translate(["one <unk>"])
    assert translator.translate(["one four"]) != translator.translate(["one"])


def test_a_line_too_long_is_cut_and_says_so(caplog):
    translator = toy_translator(max_source_tokens=2)

    assert translator.translate(["one two three"]) == translator.translate(["one two"])
    assert "3 tokens, of which the first 2 are translated" in caplog.text
    assert len(caplog.records) == 1


def test_the_best_come_first_with_their_probabilities():
    for found in TINY.search(LINES[:2], beam=4, best=4):
        assert len(found) == 4
        assert sorted(found, key=lambda best: -best.score) == found
        for best in found:
            logs = [math.log(probability) for probability in best.token_probabilities]

            assert best.score == pytest.approx(sum(logs) / len(logs), rel=1e-4)
            assert len(best.tokens) + 1 == len(logs)
            assert TINY.target_vocabulary.encode(best.tokens) == list(best.ids)


def test_a_wider_beam_than_configured_may_be_asked_for():
    configured = toy_translator(beam=BeamConfig(width=5)).translate(["one two"])

    assert configured == toy_translator(beam=BeamConfig(width=1)).translate(["one two"], beam=5)


def test_a_narrow_beam_returns_what_it_has():
    translator = toy_translator(beam=BeamConfig(width=5, best=5))

    assert [len(translator.search(["one"], beam=beam)[0]) for beam in (None, 2)] == [5, 2]


def test_more_translations_than_beams_are_refused():
    with pytest.raises(ConfigError, match=r"beam: best \(3\) may not exceed width \(2\)"):
        TINY.search(["Hund"], beam=2, best=3)


def test_the_unknown_token_is_shown_where_it_may_be_written():
    translator = toy_translator(beam=BeamConfig(width=9, best=9, unknown="write"))
    found = [best for [*every] in translator.search(["one"] * 2) for best in every]

    assert any("<unk>" in best.text.split() for best in found)
    assert all(("<unk>" in best.tokens) == (UNK in best.ids) for best in found)


def test_dropout_is_off():
    assert not TINY.model.training


@given(st.dictionaries(st.integers(0, 99), st.integers(1, 50), max_size=40), st.integers(1, 120))
def test_batches_are_a_partition_within_their_budget(lengths, max_tokens):
    """A line longer than the budget is alone."""
    found = list(batches(lengths, max_tokens))

    assert sorted(lengths) == sorted(row for batch in found for row in batch)
    for batch in found:
        padded = len(batch) * max(lengths[row] for row in batch)

        assert padded <= max_tokens or len(batch) == 1
