"""Terms of a glossary, and the words by which they are found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.literals.finding import find_literals
from nmt_core.literals.glossary import Glossary, find_stem, matches_case, split_words, stem_words


@pytest.mark.parametrize(
    ("terms", "line", "texts"),
    [
        (
            ["New", "New York", "C++"],
            "In New York heißt Neues C++ so, Newton nicht, new auch nicht",
            ["New York", "C++"],
        ),
        (["Müller"], "Herr Mu\u0308ller, Müllerin", ["Mu\u0308ller"]),
        ([], "New York", []),
    ],
)
def test_kept_terms_are_whole_words_longest_first(terms, line, texts):
    finders = Glossary(dict.fromkeys(terms, ()), ("de", "en")).finders
    assert [one.text for one in find_literals(line, "de", finders)] == texts


@given(st.text("aB ,.東京ü_5\u0301", max_size=15))
def test_words_cover_all_text_but_spaces_in_order(line):
    words = stem_words(line, "en")
    assert [word.text for word in words] == split_words(line)
    assert "".join(word.text for word in words) == "".join(line.split())
    assert all(line[word.start : word.end] == word.text for word in words)
    assert all(word.stem == find_stem(word.text, "en") for word in words)


@pytest.mark.parametrize(
    ("word", "language", "stem"),
    [
        ("Committees", "en", "committe"),
        ("Committees", "en-GB", "committe"),
        ("Committees", "xx", "committees"),
        ("5s", "en", "5s"),
        ("Häuser", "de", "haus"),
        ("ab" * 98 + "dogs", "en", "ab" * 98 + "dog"),
        ("aba" * 66 + "ogs", "en", "aba" * 66 + "ogs"),
    ],
)
def test_a_stem_depends_on_language_and_word(word, language, stem):
    assert find_stem(word, language) == stem


@pytest.mark.parametrize(
    ("wanted", "words", "others"),
    [
        ("gut", ["gut", "Gut", "GUT", "gUt"], []),
        ("Gut", ["Gut", "GUT", "Gute"], ["gut", "gUT"]),
        ("EU", ["EU"], ["eu", "Eu", "EUs"]),
        ("iPhone", ["iPhone", "IPHONE"], ["iphone", "Iphone", "IPhone"]),
        ("x", ["x", "X"], []),
        ("X", ["X"], ["x"]),
    ],
)
def test_a_word_may_add_capitals_to_its_term(wanted, words, others):
    assert all(matches_case(word, wanted) for word in words)
    assert not any(matches_case(word, wanted) for word in others)
