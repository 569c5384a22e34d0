"""Words of the first experiments: spaCy's rules, letters, full stops and commas, lower case."""

import json
import sys
from functools import cache

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.text import load_tokenizer, spacy_words
from nmt_core.text.spacy_words import SpacyWords

LANGUAGES = ("de", "en", "es")


@cache
def plain(language):
    return spacy.blank(language).tokenizer


@cache
def without_numbers(language):
    return SpacyWords(language, numbers="drop")


def as_written_in_the_article(language, line):
    return [
        token.text.lower()
        for token in plain(language)(line)
        if token.is_alpha or token.text in (".", ",")
    ]


@given(st.sampled_from(LANGUAGES), st.text(max_size=40))
def test_any_text_has_the_words_of_the_article(language, line):
    assert as_written_in_the_article(language, line) == without_numbers(language).encode(line)


def test_decoding_and_encoding_again_changes_nothing():
    tokens = ["ein", "satz", ",", "noch", "einer", "."]

    assert tokens == without_numbers("de").encode(without_numbers("de").decode(tokens))


@pytest.mark.parametrize(
    ("numbers", "line", "words"),
    [
        ("drop", "Der Hund (5), sagte SIE, »bellt«!?.", "der hund , sagte sie , bellt ."),
        (
            "keep",
            "Im Jahr 2014 kam der A380 (5 %), 3,5-mal am 1. Mai; H₂O!",
            "im jahr 2014 kam der a380 5 , 3,5-mal am 1. mai h₂o",
        ),
        (
            "drop",
            "Im Jahr 2014 kam der A380 (5 %), 3,5-mal am 1. Mai; H₂O!",
            "im jahr kam der , am mai",
        ),
    ],
)
def test_numbers_are_kept_unless_dropped(numbers, line, words):
    tokenizer = SpacyWords("de", numbers=numbers)

    assert tokenizer.encode(line) == words.split()
    assert [word.lower() for word in tokenizer.surfaces(line)] == words.split()
    assert tokenizer.surfaces(line)[0] == line.split()[0]


@pytest.mark.parametrize(
    ("tokens", "line"), [("ja , gut . nein", "ja, gut. nein"), (". ja", ". ja"), ("", "")]
)
def test_punctuation_follows_the_word_before_it(tokens, line):
    assert without_numbers("de").decode(tokens.split()) == line


def test_a_restart_changes_no_word(monkeypatch):
    tokenizer = SpacyWords("de")
    monkeypatch.setattr(spacy_words, "MAX_STRINGS", 3)
    line, rules = "ein kurzer und ein langer Satz, z.B. dieser.", tokenizer._tokenizer

    assert without_numbers("de").encode(line) == tokenizer.encode(line) == tokenizer.encode(line)
    assert tokenizer._tokenizer is not rules


def test_languages_without_spaces_have_words():
    assert SpacyWords("zh").encode("我们 好") == ["我", "们", "好"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spacy_version": "2.0.12"}, rf"spaCy 2\.0\.12, not spaCy {spacy.__version__}"),
        ({"rules_sha256": "0"}, "install spacy=="),
    ],
)
def test_other_rules_are_refused(tmp_path, change, message):
    without_numbers("de").save(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))

    with pytest.raises(ConfigError, match=message):
        SpacyWords.load(tmp_path)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="run the tokenize stage again"):
        SpacyWords.load(tmp_path)


def test_a_missing_spacy_is_reported(tmp_path, monkeypatch):
    without_numbers("de").save(tmp_path)
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.delitem(sys.modules, "nmt_core.text.spacy_words")

    with pytest.raises(BundleError, match=r"which is not installed; run: .*\[spacy\]"):
        load_tokenizer(tmp_path)
