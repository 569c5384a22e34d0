"""Lines as pieces."""

from hypothesis import given
from hypothesis import strategies as st

from nmt_core.text.aligner.words import AlignerConfig, cut_line, cut_word

WHOLE = AlignerConfig(stem_length=100, tail_length=0)


@given(st.text("aß1.,'’-„“", min_size=1, max_size=8))
def test_pieces_spell_their_word(word):
    pieces = cut_word(word)

    assert word == "".join(pieces)
    assert all(pieces)


@given(st.text("aB., '", max_size=12))
def test_pieces_belong_to_the_words_that_spaces_part(line):
    pieces = cut_line(line, WHOLE)
    words = line.casefold().split()

    assert words == [
        "".join(spelt for spelt, number in zip(*pieces, strict=True) if number == word)
        for word in range(len(words))
    ]


def test_signs_and_endings_are_apart_and_inner_signs_are_not():
    line = "Er sagt: „Die Non-food-Kulturen, 6,2 %\"; the Commission's"

    assert [
        *("er", "sagt", ":", "„", "die", "non-food-kulturen", ",", "6,2", "%", '"', ";"),
        *("the", "commission", "'s"),
    ] == cut_line(line, WHOLE).spelt
    assert ("'s",) == cut_word("'s")


def test_long_words_have_a_beginning_and_an_end():
    pieces = cut_line("Kulturausschuss tagt, 東京", AlignerConfig())

    assert pieces.spelt == ["kultur", "-chuss", "tagt", ",", "東", "京"]
    assert pieces.words == [0, 0, 1, 1, 2, 2]


def test_letters_are_folded_before_a_word_is_cut():
    assert cut_line("Straßen", AlignerConfig()).spelt == ["strass"]
