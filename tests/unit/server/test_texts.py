"""Where translations stand in a translated text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.server.texts import (
    SAMPLE_CHARACTERS,
    CutSettings,
    Manuscript,
    count_token_costs,
    find_places,
    prepare,
    take_sample,
)
from tests.support.tasks import Words


@given(st.lists(st.tuples(st.text("\n\t- ", max_size=3), st.text("abc d", min_size=1)), max_size=6))
def test_places_make_the_whole_text_again(parts):
    pieces = [piece for _, piece in parts if piece.strip()]
    text = "".join(gap + piece for gap, piece in parts)

    places, after = find_places(text, pieces)

    assert "".join(before + found for before, found in places) + after == text


@given(st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=5))
def test_a_wrapped_piece_is_found(words):
    """A line end may stand where the piece has a space, or none."""
    wrapped = "\n".join(words)
    for piece in (" ".join(words), "".join(words)):
        [place], after = find_places(f"- {wrapped}.", [piece])

        assert place == ("- ", wrapped)
        assert after == "."


def test_pieces_are_found_in_order():
    places, after = find_places("a b\n\na b", ["a b", "a b"])

    assert [("", "a b"), ("\n\n", "a b")] == places
    assert after == ""


def test_what_is_not_there_has_an_empty_place():
    places, after = find_places("x y", ["nothing", "y"])

    assert [("", ""), ("x ", "y")] == places
    assert after == ""


def test_a_sample_is_short():
    for text in ("word " * 10**5, "word\n" * 10**4):
        assert 100 < len(take_sample(Manuscript("text", text))) <= SAMPLE_CHARACTERS + 5


def test_a_text_may_have_so_many_tokens_and_no_more():
    """Each line has some at the least."""
    text = Manuscript("text", "one two three four five.\nSix.")
    sent = prepare(text, CutSettings(("en", "de"), Words(), 100, 9, 0.5))

    assert (sent.lines, sent.tokens) == (["one two three four five.", "Six."], [5, 4])
    with pytest.raises(DocumentError, match="has 9 tokens, and 8 tokens may be sent at once"):
        prepare(text, CutSettings(("en", "de"), Words(), 100, 8, 0.5))
    with pytest.raises(DocumentError, match="characters, and 1 tokens may"):
        prepare(Manuscript("text", "a" * 10**4), CutSettings(("en", "de"), Words(), 100, 1, 0.5))


def test_a_line_counts_only_as_far_as_it_is_read():
    assert [4, 7, 10] == count_token_costs(Words(), ["one", "word " * 7, "word " * 1000], 10)
