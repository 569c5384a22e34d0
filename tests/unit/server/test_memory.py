"""What was approved is served and marked, and what is like it offered."""

import json

import pytest

from nmt_core.base.languages import Languages
from nmt_core.server.memory import ServedMemory
from nmt_core.server.users import read_keys
from nmt_core.translation.memory.store import TranslationMemory
from nmt_core.translation.memory.unit import MemoryScope, MemoryUnit
from tests.support import stand_in
from tests.support.stand_in import client_of, in_a_loop, serve_stand_in

ALL = MemoryScope(Languages(source="de", target="en"))
ASKED = {"q": "Ein Haus.", "source": "de", "target": "en"}


@pytest.fixture
def memory(tmp_path):
    made = TranslationMemory(tmp_path / "memory")
    made.put(ALL, [MemoryUnit("Ein Haus.", "One house <b>!"), MemoryUnit("Wo ist er jetzt?", "?")])
    return made


async def ask(app, **fields):
    return (await stand_in.ask(app=app, json=ASKED | fields)).json()


@in_a_loop
async def test_an_approved_translation_is_served_and_marked(memory):
    app = serve_stand_in(memory=memory.path)
    plain = await ask(app)
    several = await ask(app, q=["Ein Haus.", "Ein Hund.", "Ein  Haus. Ein Hund.\n"])
    detailed = await ask(app, q="Ein Hund. Ein Haus.", details=True, checks=True, alternatives=1)

    assert {"translatedText": "One house <b>!", "memory": True} == plain
    assert ["One house <b>!", "EIN HUND.", "One house <b>!  EIN HUND.\n"] != several
    assert [True, False, True] == several["memory"]
    assert several["translatedText"][2].startswith("One house <b>! EIN HUND.")
    model, remembered = detailed["details"]["sentences"]
    assert ("model", "memory") == (model["origin"], remembered["origin"])
    assert ("One house <b>!", [], []) == (
        remembered["text"], remembered["tokens"], remembered["matches"]
    )  # fmt: skip
    assert ["EIN HUND.! One house <b>!"] == detailed["alternatives"]


@in_a_loop
async def test_what_is_like_it_is_offered_with_its_difference(memory):
    app = serve_stand_in(memory=memory.path)
    found = await ask(app, q="Ein Hans. Wo ist sie jetzt?", matches=True)
    unasked = await ask(app, q="Ein Hans.")
    nothing = await ask(app, q=["Etwas ganz anderes", "Ein Hans."], matches=True)
    careful = serve_stand_in(memory=memory.path, memory_threshold=0.95)
    strict = await ask(careful, q="Ein Hans.", matches=True)

    [house, where] = found["matches"]
    assert ("Ein Haus.", "One house <b>!", 0.8889) == (
        house["source"], house["target"], house["score"]
    )  # fmt: skip
    assert [("same", "Ein "), ("old", "Haus"), ("new", "Hans"), ("same", ".")] == [
        (part["kind"], part["text"]) for part in house["difference"]
    ]
    assert "Wo ist er jetzt?" == where["source"]
    assert {"translatedText": "EIN HANS.", "memory": False} == unasked
    assert [0, 1] == [len(each) for each in nothing["matches"]]
    assert [] == strict["matches"]


@in_a_loop
async def test_text_amid_markup_is_translated_by_the_model(memory):
    app = serve_stand_in(memory=memory.path)
    inner = await ask(app, q="<p>Ein <b>Haus</b>.</p><p>Ein Haus.</p>", format="html")

    assert "<p>EIN <b>HAUS</b>.</p><p>One house &lt;b&gt;!</p>" == inner["translatedText"]
    assert inner["memory"] is True


@pytest.mark.parametrize("how", ["damaged", "removed"])
@in_a_loop
async def test_broken_memory_does_not_stop_translation(memory, how):
    whole = memory.path.read_bytes()
    async with client_of(serve_stand_in(memory=memory.path)) as client:

        async def translate():
            answer = await client.post("/translate", json=ASKED | {"matches": True})
            status = await client.get("/status")
            return answer.json()["translatedText"], status.json()["memory"] or ""

        memory._empty_log()
        memory.path.unlink()
        if how == "damaged":
            memory.path.write_bytes(whole[:8192])
        text, problem = await translate()
        assert text == "EIN HAUS."
        assert str(memory.path) in problem
        memory.path.unlink(missing_ok=True)
        TranslationMemory(memory.path).put(ALL, [MemoryUnit("Ein Haus.", "Another house.")])
        assert await translate() == ("Another house.", "")


@in_a_loop
async def test_a_project_is_a_name(memory):
    app = serve_stand_in(memory=memory.path)
    body = json.dumps(ASKED | {"project": "half \ud800"})
    kind = {"Content-Type": "application/json"}
    given = await stand_in.ask(app=app, content=body, headers=kind)
    assert 400 == given.status_code
    assert "project must be string" in given.json()["error"]
    assert "at most 200 characters" in (await ask(app, project="a" * 201))["error"]


@in_a_loop
async def test_without_a_memory_nothing_is_said_of_one():
    app = serve_stand_in()
    assert {"translatedText": "EIN HAUS."} == await ask(app)
    assert [] == (await ask(app, matches=True))["matches"]


def test_a_memory_that_was_not_there_is_told(memory, tmp_path, caplog):
    ServedMemory(memory.path, 0.75)
    assert caplog.records == []
    ServedMemory(tmp_path / "typo.db", 0.75)
    [record] = caplog.records
    assert "typo.db is new" in record.getMessage()


@in_a_loop
async def test_each_user_is_served_their_own(memory, tmp_path):
    (path := tmp_path / "keys").write_text("first-secret-key\nsecond-secret-key\n")
    keys = read_keys(path)
    first = keys.find("first-secret-key", None).key
    memory.put(ALL._replace(key=first), [MemoryUnit("Ein Haus.", "planted")])
    memory.put(ALL._replace(key=first, project="p"), [MemoryUnit("Ein Haus.", "of p")])
    app = serve_stand_in(keys=path, memory=memory.path)
    own = await ask(app, api_key="first-secret-key")
    project = await ask(app, api_key="first-secret-key", project="p")
    other = await ask(app, api_key="second-secret-key")

    assert ["planted", "of p", "One house <b>!"] == [
        each["translatedText"] for each in (own, project, other)
    ]


@pytest.mark.slow
@in_a_loop
async def test_files_are_translated_by_the_memory_too(memory):
    async with client_of(serve_stand_in(memory=memory.path)) as client:
        files = {"file": ("a.txt", b"Ein Haus. Ein Hund. Ein Haus.\n")}
        sent = await client.post("/translate_file", files=files, data=ASKED)
        text = (await client.get(sent.json()["translatedFileUrl"])).text
        files = {"file": ("a.txt", b"This is a sentence about the houses.")}
        same = await client.post("/translate_file", files=files, data=ASKED | {"source": "en"})
        memory.put(ALL, [MemoryUnit("Haus %1", "House %1")])
        files = {"file": ("a.json", b'["Haus %1"]')}
        named = await client.post("/translate_file", files=files, data=ASKED)

    assert 1 == named.json()["memory"]
    assert "One house <b>! EIN HUND. One house <b>!\n" == text
    assert (2, 0) == (sent.json()["memory"], same.json()["memory"])
