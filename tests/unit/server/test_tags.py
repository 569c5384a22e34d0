"""Tags of requests."""

from dataclasses import replace

import pytest

from nmt_core.base.languages import Languages
from tests.support.stand_in import client_of, in_a_loop, serve_stand_in
from tests.support.tagged import NAMES, tagged_translator

PAIR = {"source": "de", "target": "en"}
ASKED = PAIR | {"q": "Das Haus"}


@in_a_loop
async def test_texts_and_files_are_translated_with_the_tag_that_is_chosen():
    translator = replace(tagged_translator(), languages=Languages(**PAIR))
    sent = {"file": ("a.txt", b"Das Haus")}
    async with client_of(serve_stand_in(translator)) as client:
        offered = (await client.get("/frontend/settings")).json()["models"][0]["tags"]
        texts, files = [], []
        for tag in ({}, {"tag": "own"}, {"tag": ""}, {"tag": "news"}):
            answer = await client.post("/translate", json=ASKED | tag)
            texts.append(answer.json()["translatedText"])
            answer = await client.post("/translate_file", files=sent, data=PAIR | tag)
            files.append((await client.get(answer.json()["translatedFileUrl"])).text)

    assert offered == [*NAMES]
    assert texts == files
    assert texts[0] == texts[2]
    assert len({*texts}) == 3


@pytest.mark.parametrize("tag", ["Own", "<tag own>", 7])
@in_a_loop
async def test_a_tag_that_the_model_does_not_know_is_refused_in_a_sentence(tag):
    translator = replace(tagged_translator(), languages=Languages(**PAIR))
    async with client_of(serve_stand_in(translator)) as client:
        answer = await client.post("/translate", json=ASKED | {"tag": tag})
        of_file = await client.post(
            "/translate_file", files={"file": ("a.txt", b"x")}, data=PAIR | {"tag": tag}
        )
    assert answer.status_code == of_file.status_code == 400
    assert "choose one of news, own, or none" in of_file.json()["error"]
    assert "tag" in answer.json()["error"]
