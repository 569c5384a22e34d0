"""Glossaries and tags of requests, and glossaries of the operator."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmt_core.base.languages import Languages
from nmt_core.cli.serve import split_model
from nmt_core.literals.glossary import Glossary
from tests.support.scripted import scripted_translator
from tests.support.stand_in import ask, client_of, in_a_loop, serve_stand_in
from tests.support.tagged import NAMES, tagged_translator

PAIR = {"source": "de", "target": "en"}
DE_EN = ("de", "en")
OWN = Glossary({"Haus": ("hut",), "das": ("that",)}, DE_EN)


def scripted():
    return scripted_translator(lambda text: text.replace("Haus", "house"))


@pytest.mark.parametrize("form", ["json", "data"])
@pytest.mark.parametrize(
    ("sealed", "glossary", "translation"),
    [
        ((), "", "das house"),
        ((), "Haus\tmanor", "das manor"),
        ((), "Haus", "das Haus"),
        ((OWN,), "", "that hut"),
        ((OWN,), "Haus\tmanor", "that manor"),
    ],
)
@in_a_loop
async def test_request_adds_terms_to_those_of_the_model(form, sealed, glossary, translation):
    app = serve_stand_in(replace(scripted(), glossaries=sealed))
    fields = PAIR | {"q": "das Haus", "checks": True, "glossary": glossary}
    answer = (await ask(app=app, **{form: fields})).json()

    assert answer == {"translatedText": translation, "checks": []}


@in_a_loop
async def test_texts_and_files_have_the_requested_tag():
    translator = replace(tagged_translator(), languages=Languages(**PAIR))
    texts, files = [], []
    async with client_of(serve_stand_in(translator)) as client:
        offered = (await client.get("/frontend/settings")).json()["models"][0]["tags"]
        for tag in ({}, {"tag": "own"}, {"tag": ""}, {"tag": "news"}):
            fields = PAIR | tag
            answer = await client.post("/translate", json=fields | {"q": "Das Haus"})
            texts.append(answer.json()["translatedText"])
            sent = {"file": ("a.txt", b"Das Haus")}
            answer = await client.post("/translate_file", files=sent, data=fields)
            files.append((await client.get(answer.json()["translatedFileUrl"])).text)

    assert offered == [*NAMES]
    assert texts == files
    assert texts[0] == texts[2]
    assert len({*texts}) == 3


@pytest.mark.parametrize("tag", ["Own", "<tag own>", "7"])
@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/translate", {"data": PAIR | {"q": "Das Haus"}}),
        ("/translate_file", {"data": PAIR, "files": {"file": ("a.txt", b"x")}}),
    ],
)
@in_a_loop
async def test_unknown_tag_is_refused_with_the_known_ones(tag, path, sent):
    app = serve_stand_in(replace(tagged_translator(), languages=Languages(**PAIR)))
    answer = await ask(path, app=app, **sent | {"data": sent["data"] | {"tag": tag}})

    assert answer.status_code == 400
    assert "choose one of news, own, or none" in answer.json()["error"]


@pytest.mark.parametrize(
    ("given", "pair", "folder"),
    [
        ("models/export", None, "models/export"),
        ("de-en=models/export", ("de", "en"), "models/export"),
        ("DE-En=a=b", ("de", "en"), "a=b"),
        ("models/de-en", None, "models/de-en"),
    ],
)
def test_model_may_name_its_pair(given, pair, folder):
    assert split_model(given) == (pair, Path(folder))
