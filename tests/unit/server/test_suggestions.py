"""Suggestions are stored within limits, and shown to nobody."""

import json
import logging
from pathlib import Path

import pytest

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.server.errors import LogFormatter
from nmt_core.translation.memory.journal import CorrectionJournal
from tests.support.stand_in import ask, client_of, in_a_loop, serve_stand_in

BETTER = {"q": "Ein Haus.", "s": "A house.", "source": "de", "target": "en"}
SCRIPT = "<img src=x onerror=alert(1)>\n<script>alert(2)</script>"
GERMAN = "Das ist ein deutscher Satz über Häuser."


@pytest.fixture
def journal(tmp_path):
    return CorrectionJournal(tmp_path / "corrections.jsonl")


@pytest.fixture
def open_server(journal):
    return lambda **settings: serve_stand_in(
        suggestions="all", corrections=journal.path, **settings
    )


@pytest.fixture
def keyed_server(tmp_path, journal):
    (keys := tmp_path / "keys").write_text("first-secret-key\nsecond-secret-key\n")
    return serve_stand_in(keys=keys, suggestions="keys", corrections=journal.path)


@pytest.mark.parametrize("form", ["json", "data", "params"])
@in_a_loop
async def test_suggestion_is_stored_unchanged(open_server, journal, form):
    async with client_of(open_server()) as client:
        answer = await client.post("/suggest", **{form: BETTER | {"s": SCRIPT, "before": "EIN"}})
        settings = (await client.get("/frontend/settings")).json()

    assert (200, {"success": True}) == (answer.status_code, answer.json())
    assert settings["suggestions"] is True
    [kept] = [each.suggestion for each in journal.read()]
    assert ("Ein Haus.", SCRIPT, "EIN") == (kept.source, kept.target, kept.before)
    assert ("", "digest 0", "de", "en") == (kept.key, kept.model, *kept.languages.codes)


@in_a_loop
async def test_language_is_detected(open_server, journal):
    fields = BETTER | {"q": GERMAN, "source": "auto"}
    answer = await ask("/suggest", app=open_server(), json=fields)

    assert answer.is_success
    assert journal.read()[0].suggestion.languages.source == "de"


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"s": " \n"}, 400, "Invalid request: missing s parameter"),
        ({"q": " \n"}, 400, "Invalid request: missing q parameter"),
        ({"target": "zz"}, 400, "zz is not supported"),
        ({"source": "en"}, 400, "English (en) is not available as a target language from English"),
        ({"q": ["a", "b"]}, 400, "q must be string"),
        ({"s": "a" * 5001}, 400, "Invalid request: request (5001) exceeds text limit (5000)"),
        ({"before": "a" * 5001}, 400, "Invalid request: request (5001) exceeds text limit (5000)"),
        ({"s": "half \ud800"}, 400, "s must be string"),
        ({"s": "a" * 1_000_000}, 413, "the request exceeds"),
    ],
)
@in_a_loop
async def test_wrong_suggestion_is_refused(open_server, journal, fields, status, error):
    app = open_server(max_characters=10_000)
    headers = {"Content-Type": "application/json"}
    answer = await ask("/suggest", app=app, content=json.dumps(BETTER | fields), headers=headers)

    assert status == answer.status_code
    assert error in answer.json()["error"]
    assert [] == journal.read()


@in_a_loop
async def test_one_user_cannot_fill_the_journal(keyed_server, journal):
    async with client_of(keyed_server) as client:

        async def suggest(key, number=0):
            body = (
                BETTER
                | {"q": "a" * 990, "s": f"house {number:04}"}
                | ({"api_key": key} if key else {})
            )
            return (await client.post("/suggest", json=body)).status_code

        flood = [await suggest("first-secret-key", number) for number in range(40)]
        others = [await suggest(key) for key in ("second-secret-key", None, "a-wrong-key")]

    assert flood == [200] * 10 + [429] * 30
    assert others == [200, 400, 403]
    digests = {each.suggestion.key for each in journal.read()}
    assert [16, 16] == [len(digest) for digest in digests]
    assert "secret-key" not in journal.path.read_text()


@in_a_loop
async def test_full_disk_is_reported_without_text(open_server, journal, caplog, monkeypatch):
    def fail(handle):
        raise OSError(28, "No space left on device")

    caplog.set_level(logging.INFO)
    async with client_of(open_server()) as client:
        monkeypatch.setattr("os.fsync", fail)
        refused = await client.post("/suggest", json=BETTER)
        monkeypatch.undo()
        accepted = await client.post("/suggest", json=BETTER | {"s": "One house."})

    assert (507, 200) == (refused.status_code, accepted.status_code)
    assert ["One house."] == [each.suggestion.target for each in journal.read()]
    logged = "\n".join(LogFormatter().format(record) for record in caplog.records)
    assert "No space left on device" in logged
    assert not [word for word in ("house", "Haus") if word in logged]


@in_a_loop
async def test_nobody_sees_suggestions_of_others(open_server):
    async with client_of(open_server()) as client:
        before = (await client.post("/translate", json=BETTER | {"details": True})).json()
        await client.post("/suggest", json=BETTER | {"s": "planted"})
        after = (await client.post("/translate", json=BETTER | {"details": True})).json()
        paths = ("/metrics", "/status", "/frontend/settings")
        answers = [(await client.get(path)).text for path in paths]

    assert before == after
    assert "planted" not in "".join(answers)


@pytest.mark.parametrize(
    ("settings", "error", "reason"),
    [
        ({"suggestions": "keys", "corrections": Path("c")}, ConfigError, "--api-keys"),
        ({"suggestions": "all"}, ConfigError, "--corrections"),
        (
            {"suggestions": "all", "corrections": Path("c")},
            CorpusError,
            "not a journal of corrections",
        ),
    ],
)
def test_server_without_writable_journal_does_not_start(
    tmp_path, monkeypatch, settings, error, reason
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").write_text("no journal\n")
    with pytest.raises(error, match=reason):
        serve_stand_in(**settings)
