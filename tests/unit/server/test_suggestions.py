"""What users suggest is kept, within bounds, and told to nobody."""

import json
import logging

import pytest

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.server import suggestions
from nmt_core.server.logs import LogFormatter
from nmt_core.translation.memory.journal import CorrectionJournal
from tests.support.stand_in import client_of, in_a_loop, serve_stand_in

BETTER = {"q": "Ein Haus.", "s": "A house.", "source": "de", "target": "en"}
SCRIPT = "<img src=x onerror=alert(1)>\n<script>alert(2)</script>"


@pytest.fixture
def journal(tmp_path):
    return CorrectionJournal(tmp_path / "corrections.jsonl")


@pytest.fixture
def open_server(journal):
    return lambda **settings: serve_stand_in(
        suggestions="all", corrections=journal.path, **settings
    )


def with_keys(tmp_path, journal, **settings):
    (path := tmp_path / "keys").write_text("first-secret-key\nsecond-secret-key\n")
    return serve_stand_in(keys=path, suggestions="keys", corrections=journal.path, **settings)


@pytest.mark.parametrize("form", ["json", "data", "params"])
@in_a_loop
async def test_a_suggestion_is_kept_as_it_was_given(open_server, journal, form):
    async with client_of(open_server()) as client:
        given = await client.post("/suggest", **{form: BETTER | {"s": SCRIPT, "before": "EIN"}})
        settings = (await client.get("/frontend/settings")).json()

    assert (200, {"success": True}) == (given.status_code, given.json())
    assert settings["suggestions"] is True
    [kept] = [each.suggestion for each in journal.read()]
    assert ("Ein Haus.", SCRIPT, "EIN") == (kept.source, kept.target, kept.before)
    assert ("", "digest 0", "de", "en") == (kept.key, kept.model, *kept.languages.codes)


@in_a_loop
async def test_the_language_is_found_where_none_is_named(open_server, journal):
    text = "Das ist ein deutscher Satz über Häuser."
    async with client_of(open_server()) as client:
        given = await client.post("/suggest", json=BETTER | {"q": text, "source": "auto"})

    assert given.is_success
    assert "de" == journal.read()[0].suggestion.languages.source


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"s": " \n"}, 400, "Invalid request: missing s parameter"),
        ({"target": "zz"}, 400, "zz is not supported"),
        ({"q": ["a", "b"]}, 400, "q must be text or a list of texts"),
        ({"s": "a" * 51}, 400, "Invalid request: request (51) exceeds text limit (50)"),
        ({"before": "a" * 51}, 400, "Invalid request: request (51) exceeds text limit (50)"),
        ({"s": "half \ud800"}, 400, "half a character"),
        ({"s": "a" * 1_000_000}, 413, "a request may have"),
    ],
)
@in_a_loop
async def test_what_is_no_suggestion_is_refused(open_server, journal, fields, status, error):
    body = json.dumps(BETTER | fields)
    async with client_of(open_server(suggestion_characters=50, max_characters=100)) as client:
        given = await client.post("/suggest", content=body, headers=AS_JSON)

    assert status == given.status_code
    assert error in given.json()["error"]
    assert [] == journal.read()


AS_JSON = {"Content-Type": "application/json"}


@in_a_loop
async def test_one_user_cannot_fill_the_journal(tmp_path, journal):
    app = with_keys(tmp_path, journal, suggestion_rate=5)
    async with client_of(app) as client:

        async def suggest(key, number):
            body = BETTER | {"s": f"A house {number}.", "api_key": key}
            return (await client.post("/suggest", json=body)).status_code

        flood = [await suggest("first-secret-key", number) for number in range(40)]
        other = await suggest("second-secret-key", 0)

    assert (5, {200, 429}) == (flood.count(200), {*flood})
    assert 200 == other
    digests = {each.suggestion.key for each in journal.read()}
    assert 2 == len(digests)
    assert all(len(digest) == 16 for digest in digests)
    assert "secret-key" not in journal.path.read_text()


@in_a_loop
async def test_user_has_a_daily_share_of_the_journal(open_server, journal, monkeypatch):
    monkeypatch.setattr(suggestions, "DAILY_BYTES", 1000)
    body = BETTER | {"s": "A house. " * 50}
    async with client_of(open_server()) as client:
        answers = [await client.post("/suggest", json=body | {"q": f"{n}"}) for n in range(6)]

    assert [200] * 2 + [429] * 4 == [answer.status_code for answer in answers]
    assert "1,000 bytes of suggestions a day may be sent" in answers[-1].json()["error"]


@in_a_loop
async def test_who_has_no_key_may_not_suggest(tmp_path, journal):
    async with client_of(with_keys(tmp_path, journal)) as client:
        refused = [
            await client.post("/suggest", json=BETTER),
            await client.post("/suggest", json=BETTER | {"api_key": "a-wrong-key"}),
        ]

    assert [400, 403] == [each.status_code for each in refused]
    assert [] == journal.read()


@in_a_loop
async def test_a_full_disk_is_told_to_the_user_and_the_log_without_text(
    open_server, journal, caplog, monkeypatch
):
    def fail(handle):
        raise OSError(28, "No space left on device")

    caplog.set_level(logging.INFO)
    async with client_of(open_server()) as client:
        monkeypatch.setattr("os.fsync", fail)
        refused = await client.post("/suggest", json=BETTER)
        monkeypatch.undo()
        taken = await client.post("/suggest", json=BETTER | {"s": "One house."})

    assert (507, 200) == (refused.status_code, taken.status_code)
    assert ["One house."] == [each.suggestion.target for each in journal.read()]
    logged = "\n".join(LogFormatter().format(record) for record in caplog.records)
    assert "No space left on device" in logged
    assert "house" not in logged
    assert "Haus" not in logged


@in_a_loop
async def test_nobody_is_answered_what_another_suggested(open_server):
    async with client_of(open_server()) as client:
        before = (await client.post("/translate", json=BETTER | {"details": True})).json()
        await client.post("/suggest", json=BETTER | {"s": "planted"})
        after = (await client.post("/translate", json=BETTER | {"details": True})).json()
        answers = [
            (await client.get(path)).text for path in ("/metrics", "/status", "/frontend/settings")
        ]

    assert before == after
    assert "planted" not in "".join(answers)


def test_a_server_that_cannot_keep_suggestions_does_not_start(tmp_path):
    with pytest.raises(ConfigError, match="there are none; give --api-keys FILE"):
        serve_stand_in(suggestions="keys", corrections=tmp_path / "c")
    with pytest.raises(ConfigError, match="name it by --corrections, such as"):
        serve_stand_in(suggestions="all")
    (tmp_path / "c").write_text("no journal\n")
    with pytest.raises(CorpusError, match="is no journal of corrections"):
        serve_stand_in(suggestions="all", corrections=tmp_path / "c")
