"""Tokens and their numbers."""

import pytest

from nmt_core.base.errors import BundleError
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary


def test_no_text_contains_reserved_tokens():
    """Words spelt like the start, the end or padding are words."""
    vocabulary = Vocabulary([*SPECIALS, "a"])

    assert [UNK, UNK, UNK, UNK, 4] == vocabulary.encode([*SPECIALS, "a"])
    assert ["a", "<unk>"] == vocabulary.decode([BOS, 4, UNK, EOS, PAD])
    assert [False, False, False] == [token in vocabulary for token in SPECIALS[:UNK]]


def test_a_vocabulary_is_stored_as_text(tmp_path):
    path = tmp_path / "v.txt"
    Vocabulary([*SPECIALS, "\u2028", "ä"]).save(path)

    assert (*SPECIALS, "\u2028", "ä") == Vocabulary.load(path).tokens


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["a", "b"], "must begin with <pad> <s> </s> <unk>, got 'a b'"),
        ([*SPECIALS, "a", "a"], "has 'a' 2 times"),
    ],
)
def test_a_broken_vocabulary_is_refused(tokens, message):
    with pytest.raises(BundleError, match=message):
        Vocabulary(tokens)
