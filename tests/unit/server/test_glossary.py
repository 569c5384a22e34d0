"""Glossaries of requests and of the operator."""

from dataclasses import replace

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.cli.serve import load_with_glossary
from nmt_core.literals.glossary import Glossary
from nmt_core.server.models import LanguagePair
from nmt_core.translation.translator import Translator
from tests.support.scripted import scripted_translator
from tests.support.stand_in import ask, in_a_loop, serve_stand_in

ASKED = {"q": "das Haus", "source": "de", "target": "en", "checks": True}
DE_EN = LanguagePair("de", "en")


@in_a_loop
async def test_a_request_has_terms_of_its_own():
    app = serve_stand_in(scripted_translator(lambda text: text.replace("Haus", "house")))
    manor = ASKED | {"glossary": "Haus\tmanor"}
    asked = (
        {"json": ASKED},
        {"json": manor},
        {"data": manor},
        {"json": ASKED | {"glossary": "Haus"}},
    )
    plain, own, form, kept = [(await ask(app=app, **one)).json() for one in asked]

    assert plain["translatedText"] == "das house"
    assert own["translatedText"] == form["translatedText"] == "das manor"
    assert kept["translatedText"] == "das Haus"
    assert own["checks"] == []


@in_a_loop
async def test_terms_of_a_request_are_added_to_those_sealed_with_the_model():
    own = Glossary({"Haus": ("hut",), "das": ("that",)}, DE_EN)
    scripted = scripted_translator(lambda text: text.replace("Haus", "house"))
    app = serve_stand_in(replace(scripted, glossaries=(own,)))
    plain = (await ask(app=app, json=ASKED)).json()
    asked = (await ask(app=app, json=ASKED | {"glossary": "Haus\tmanor"})).json()
    assert plain["translatedText"] == "that hut"
    assert asked["translatedText"] == "that manor"


def test_a_glossary_of_the_operator_is_that_of_its_pair(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("Haus\tmanor\n")

    def load(glossaries, translator=None):
        given = translator or scripted_translator(lambda text: text.replace("Haus", "house"))
        return load_with_glossary(tmp_path, glossaries=glossaries, load=lambda _: given)

    assert load({("de", "en"): path}).translate(["das Haus"]) == ["das manor"]
    other = tmp_path / "other.tsv"
    other.write_text("Haus\thut\n")
    assert load({("de", "en"): path, None: other}).translate(["das Haus"]) == ["das manor"]
    assert load({None: path}).translate(["das Haus"]) == ["das manor"]
    assert load({("de", "fr"): path}).translate(["das Haus"]) == ["das house"]
    own = scripted_translator()
    unknown = Translator(engine=own.engine, source=own.source, target=own.target)
    assert load({}, unknown) is unknown
    with pytest.raises(ConfigError, match="which languages"):
        load({None: path}, unknown)
