import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side
from tests.support.tiny import subwords


@pytest.fixture(scope="module")
def side():
    return Side(subwords(), subwords().vocabulary)


@given(line=st.text())
def test_a_line_comes_back_normalised(side, line):
    """Subwords know every byte, so nothing is lost but what no model sees."""
    assert side.text(side.ids(line)) == normalize(line)
    assert side.join(side.tokens(line)) == normalize(line)


def test_both_come_from_where_they_were_saved(side, tmp_path):
    side.tokenizer.save(tmp_path / "tokenizer")
    side.vocabulary.save(tmp_path / "vocabulary.txt")
    loaded = Side.load(tmp_path / "tokenizer", tmp_path / "vocabulary.txt")

    assert loaded.ids("Der Hund malt.") == side.ids("Der Hund malt.")
