"""Glossaries on the command line, and in an exported model."""

from dataclasses import replace

import pytest

from nmt_core.base.languages import Languages
from nmt_core.cli import options
from nmt_core.literals.glossary import Glossary
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.scripted import scripted_translator
from tests.support.tiny import export, tiny_translator


@pytest.fixture
def terms(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("Haus\tmanor\tmansion\nTee\n")
    return path


def test_terms_are_used_and_what_is_lost_is_named(bundle, terms, monkeypatch):
    own = scripted_translator(lambda text: text.replace("Haus", "house"))
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: own)
    result = run("translate", "--model", bundle, "--glossary", terms, "--checks", "das Haus, Tee")
    assert result.stdout == "das manor, Tee\tkept\n"


def test_one_that_is_given_is_added_to_the_models_own_and_wins(bundle, terms, monkeypatch):
    own = Glossary({"Haus": ("hut",), "rotes Haus": ("red hut",), "Hund": ("hound",)}, ("de", "en"))
    sealed = replace(
        scripted_translator(lambda text: text.replace("Haus", "house").replace("Hund", "dog")),
        glossaries=(own,),
    )
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: sealed)
    line = "das Haus, rotes Haus, Hund"
    assert run("translate", "--model", bundle, line).stdout == "das hut, red hut, hound\n"
    given = run("translate", "--model", bundle, "--glossary", terms, line)
    assert given.stdout == "das manor, rotes manor, hound\n"


def test_a_model_of_unknown_languages_takes_no_glossary(bundle, terms):
    assert "languages" in refuse("translate", "--model", bundle, "--glossary", terms, "x")


def test_a_wrong_glossary_is_refused_with_its_line(tmp_path, terms, monkeypatch):
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: scripted_translator())
    terms.write_text("a\tb\na\tc\n")
    assert "line 2" in refuse("translate", "--model", tmp_path, "--glossary", terms, "x")


def test_an_exported_model_has_its_glossary(tmp_path):
    languages = Languages(source="de", target="en")
    glossaries = (
        Glossary({"a": ("b",)}, languages.codes),
        Glossary({"a": ("c",), "d": ()}, languages.codes),
    )
    translator = replace(tiny_translator(), languages=languages, glossaries=glossaries)
    loaded = Translator.load(export(tmp_path / "export", translator=translator))
    assert [one.translations for one in loaded.glossaries] == [{"a": ("b",), "d": ()}]
