"""Approved translations are served and marked, and similar ones offered."""

import pytest

from nmt_core.base.languages import Languages
from nmt_core.server.memory import ServedMemory
from nmt_core.server.users import find_user, read_keys
from nmt_core.translation.memory.store import MemoryScope, MemoryUnit, TranslationMemory
from tests.support import stand_in
from tests.support.stand_in import client_of, in_a_loop, serve_stand_in

ALL = MemoryScope(Languages(source="de", target="en"))
FIELDS = {"q": "Ein Haus.", "source": "de", "target": "en"}


@pytest.fixture
def memory(tmp_path):
    made = TranslationMemory(tmp_path / "memory")
    made.put(ALL, [MemoryUnit("Ein Haus.", "One house <b>!"), MemoryUnit("Wo ist er jetzt?", "?")])
    return made


async def ask(app, **fields):
    return (await stand_in.ask(app=app, json=FIELDS | fields)).json()


@pytest.mark.parametrize(
    ("fields", "translation", "is_remembered"),
    [
        ({}, "One house <b>!", True),
        (
            {"q": ["Ein Haus.", "Ein Hund.", "Ein  Haus. Ein Hund.\n"]},
            ["One house <b>!", "EIN HUND.", "One house <b>! EIN HUND.\n"],
            [True, False, True],
        ),
        (
            {"q": "<p>Ein <b>Haus</b>.</p><p>Ein Haus.</p>", "format": "html"},
            "<p>EIN <b>HAUS</b>.</p><p>One house &lt;b&gt;!</p>",
            True,
        ),
        ({"q": "Ein Hans."}, "EIN HANS.", False),
    ],
)
@in_a_loop
async def test_approved_translation_is_served(memory, fields, translation, is_remembered):
    answer = await ask(serve_stand_in(memory=memory.path), **fields)

    assert answer == {"translatedText": translation, "memory": is_remembered}


@in_a_loop
async def test_whole_passage_precedes_its_sentences(memory):
    memory.put(ALL, [MemoryUnit("Ein Haus. Ein Hund.", "A house with a dog.")])
    answer = await ask(serve_stand_in(memory=memory.path), q="Ein Haus. Ein Hund.\nEin Haus.")

    assert answer["translatedText"] == "A house with a dog.\nOne house <b>!"


@in_a_loop
async def test_similar_translation_is_offered_with_its_difference(memory):
    app = serve_stand_in(memory=memory.path)
    answer = await ask(app, q="Ein Hans. Wo ist sie jetzt?", matches=True)
    house, where = answer["matches"]

    assert house == {
        "source": "Ein Haus.",
        "target": "One house <b>!",
        "score": 0.8889,
        "difference": [
            {"kind": kind, "text": text}
            for kind, text in [("same", "Ein "), ("old", "Haus"), ("new", "Hans"), ("same", ".")]
        ],
    }
    assert where["source"] == "Wo ist er jetzt?"
    several = await ask(app, q=["Etwas ganz anderes", "Ein Hans."], matches=True)
    assert [0, 1] == [len(matches) for matches in several["matches"]]


@pytest.mark.parametrize(("threshold", "count"), [(0.75, 2), (0.85, 1), (0.95, 0)])
@in_a_loop
async def test_threshold_bounds_similarity(memory, threshold, count):
    memory.put(ALL, [MemoryUnit("Ein Hase.", "A hare.")])
    app = serve_stand_in(memory=memory.path, memory_threshold=threshold)

    assert len((await ask(app, q="Ein Hans.", matches=True))["matches"]) == count


@pytest.mark.parametrize("is_damaged", [True, False])
@in_a_loop
async def test_broken_memory_does_not_stop_translation(memory, is_damaged):
    whole = memory.path.read_bytes()
    async with client_of(serve_stand_in(memory=memory.path)) as client:

        async def translate():
            answer = await client.post("/translate", json=FIELDS | {"matches": True})
            status = await client.get("/status")
            return answer.json()["translatedText"], status.json()["memory"] or ""

        memory._empty_log()
        memory.path.unlink()
        if is_damaged:
            memory.path.write_bytes(whole[:8192])
        text, problem = await translate()
        assert text == "EIN HAUS."
        assert str(memory.path) in problem
        memory.path.unlink(missing_ok=True)
        TranslationMemory(memory.path).put(ALL, [MemoryUnit("Ein Haus.", "Another house.")])
        assert await translate() == ("Another house.", "")


@in_a_loop
async def test_answers_without_a_memory_name_no_memory():
    assert await ask(serve_stand_in()) == {"translatedText": "EIN HAUS."}
    assert (await ask(serve_stand_in(), matches=True))["matches"] == []


def test_new_memory_is_reported_with_a_warning(memory, tmp_path, caplog):
    ServedMemory(memory.path, 0.75)
    assert caplog.records == []
    ServedMemory(tmp_path / "typo.db", 0.75)
    assert "typo.db is new" in caplog.records[0].getMessage()


@in_a_loop
async def test_each_user_gets_their_own_corrections(memory, tmp_path):
    (path := tmp_path / "keys").write_text("first-secret-key\nsecond-secret-key\n")
    first = find_user(read_keys(path), "first-secret-key", None).key
    memory.put(ALL._replace(key=first), [MemoryUnit("Ein Haus.", "own")])
    memory.put(ALL._replace(key=first, project="p"), [MemoryUnit("Ein Haus.", "of p")])
    app = serve_stand_in(keys=path, memory=memory.path)

    for key, project, translation in (
        ("first-secret-key", "", "own"),
        ("first-secret-key", "p", "of p"),
        ("second-secret-key", "", "One house <b>!"),
        ("second-secret-key", "p", "One house <b>!"),
    ):
        answer = await ask(app, api_key=key, project=project)
        assert answer["translatedText"] == translation


@pytest.mark.parametrize(
    ("name", "content", "fields", "translation", "count"),
    [
        (
            "a.txt",
            b"Ein Haus. Ein Hund. Ein Haus.\n",
            {},
            "One house <b>! EIN HUND. One house <b>!\n",
            2,
        ),
        ("a.txt", b"This is it.", {"source": "en"}, "This is it.", 0),
        ("a.json", b'["Haus %1"]', {}, '["House %1"]', 1),
    ],
)
@in_a_loop
async def test_files_are_translated_with_the_memory(
    memory, name, content, fields, translation, count
):
    memory.put(ALL, [MemoryUnit("Haus %1", "House %1")])
    async with client_of(serve_stand_in(memory=memory.path)) as client:
        sent = {"file": (name, content)}
        answer = await client.post("/translate_file", files=sent, data=FIELDS | fields)
        file = await client.get(answer.json()["translatedFileUrl"])

    assert (file.text, answer.json()["memory"]) == (translation, count)
