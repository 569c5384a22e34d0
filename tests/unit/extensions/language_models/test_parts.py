"""Test how a text is cut into parts for training, validation and test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import CorpusError
from nmt_core.extensions.language_models.parts import cut_in_order


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
