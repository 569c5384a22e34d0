"""The service limits requests, keeps the event loop free, and stops work without a client."""

import asyncio
from itertools import pairwise
from types import SimpleNamespace

import pytest

from nmt_core.server import service
from nmt_core.server.errors import RequestError
from nmt_core.server.service import Service
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import User, read_keys
from tests.support.stand_in import Connection, Slow, StandIn, client_of, in_a_loop, serve_stand_in

PAIR = {"source": "de", "target": "en"}
ANYBODY = User("anybody", None)


def service_of(*engines, keys=None, **settings):
    served = [SimpleNamespace(translator=SimpleNamespace(engine=SimpleNamespace(name=name)))
              for name in engines]  # fmt: skip
    return Service(ServerConfig(**settings), SimpleNamespace(served=served), keys)


@pytest.mark.parametrize(
    ("engines", "workers", "expected"),
    [
        (["ctranslate2"], None, 5),
        (["ctranslate2"], 3, 3),
        (["torch"], 3, 1),
        (["ctranslate2", "torch"], None, 1),
    ],
)
def test_torch_uses_all_cores_for_one_batch(monkeypatch, engines, workers, expected):
    monkeypatch.setattr(service, "count_cores", lambda: 5)

    assert service_of(*engines, workers=workers).scheduler.worker_count == expected


@pytest.mark.parametrize(
    ("texts", "alternatives", "reason"),
    [
        (["ab", "cde"], 1, None),
        (["", "", ""], 0, r"request \(3\) exceeds text limit \(2\)"),
        (["abc", "def"], 0, r"request \(6\) exceeds text limit \(5\)"),
        (["a"], 2, "alternatives parameter must be <= 1"),
    ],
)
def test_texts_have_limits(texts, alternatives, reason):
    limited = service_of(max_texts=2, max_characters=5, max_alternatives=1)
    if reason is None:
        limited.check_limits(ANYBODY, texts, alternatives)
        return
    with pytest.raises(RequestError, match=reason) as refused:
        limited.check_limits(ANYBODY, texts, alternatives)
    assert refused.value.status == 400


def test_wrong_keys_are_counted_by_address(tmp_path):
    (tmp_path / "keys").write_text("eightkey\n")
    keyed = service_of(keys=read_keys(tmp_path / "keys"))
    for _ in range(100):
        keyed.authenticate("eightkey", "1.2.3.4")
    statuses = []
    for address in ["1.2.3.4"] * 61 + ["5.6.7.8"]:
        with pytest.raises(RequestError) as refused:
            keyed.authenticate("wrong", address)
        statuses.append(refused.value.status)

    assert statuses == [403] * 60 + [429, 403]


@in_a_loop
async def test_event_loop_runs_between_texts_of_a_list(monkeypatch):
    """A thousand short texts take as long as a long text."""
    done, turns, original = [0], [0], service.segment_text

    def count(*arguments):
        done[0] += 1
        return original(*arguments)

    async def turn():
        while True:
            turns.append(done[0])
            await asyncio.sleep(0)

    monkeypatch.setattr(service, "segment_text", count)
    async with client_of(serve_stand_in()) as client:
        ticks = asyncio.ensure_future(turn())
        answer = await client.post("/translate", json={"q": ["text"] * 50, **PAIR})
        ticks.cancel()

    assert answer.status_code == 200
    steps = [after - before for before, after in pairwise(turns)]
    assert (sum(steps), max(steps)) == (50, 1)


@pytest.mark.parametrize(
    ("q", "details", "links"),
    [
        ("<p>Das <b>ist</b> gut.</p>", False, True),
        ("<p>Das ist gut.</p>", False, False),
        ("Ja.", True, True),
    ],
)
@in_a_loop
async def test_words_are_linked_for_markup_and_details(q, details, links):
    translator, options = StandIn(), {}
    search = translator.search
    translator.search = lambda lines, **more: options.update(more) or search(lines, **more)
    async with client_of(serve_stand_in(translator)) as client:
        fields = {"q": q, "format": "html", "details": details, **PAIR}
        await client.post("/translate", json=fields)

    assert (options["links"], options["probabilities"]) == (links, details)


def post(path, text):
    """Return the body that translates a text, as a file or directly."""
    if path == "/translate":
        return {"json": PAIR | {"q": text}}
    return {"data": PAIR, "files": {"file": ("a.txt", text.encode())}}


@pytest.mark.parametrize("path", ["/translate", "/translate_file"])
@in_a_loop
async def test_work_has_a_deadline(path):
    app = serve_stand_in(work_seconds=0.2)
    app.state.service.models.served[0].translator.seconds = 0.05
    async with client_of(app) as client:
        answer = await client.post(path, **post(path, "wort " * 10_000))
        scheduler = app.state.service.scheduler

        assert answer.status_code == 503
        assert "more than 0.2 seconds" in answer.json()["error"]
        assert (scheduler.tokens, scheduler.count_waiting()) == (0, 0)


@pytest.mark.parametrize("path", ["/translate", "/translate_file"])
@in_a_loop
async def test_work_ends_with_its_client(path):
    app = serve_stand_in(Slow())
    served = app.state.service
    translator = served.models.served[0].translator
    async with client_of(app) as client:
        before = asyncio.all_tasks()
        request = client.build_request("POST", path, **post(path, "wort " * 10_000))
        connection = Connection(app)
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        connection.scope |= {"path": path, "raw_path": path.encode(), "headers": headers}
        connection.put(await request.aread())
        task = asyncio.ensure_future(connection.run())
        assert await asyncio.to_thread(translator.begun.wait, 30)
        assert served.scheduler.tokens
        connection.hang_up()
        async with asyncio.timeout(5):
            await task
        await asyncio.sleep(0.01)
        ours = {each for each in asyncio.all_tasks() if "AnyIO" not in each.get_name()}
        assert ours == before
        assert (served.scheduler.tokens, served.scheduler.count_waiting()) == (0, 0)
        translator.go.set()

    assert served.metrics.registry.get_sample_value("nmt_gone_total") == 1


def test_keys_of_files_cannot_be_guessed():
    files = service_of()
    keys = {files.keep_file("a", "b", b"") for _ in range(1000)}

    assert len(keys) == 1000
    assert min(map(len, keys)) >= 20


def test_file_is_fetched_until_it_expires(monkeypatch):
    now, files = [0.0], service_of()
    monkeypatch.setattr(service.time, "monotonic", lambda: now[0])
    key = files.keep_file("a.txt", "text/plain", b"text")
    for now[0] in (0.0, 600.0):
        assert files.fetch_file(key)[1:] == ("a.txt", "text/plain", b"text")
    now[0] += 0.1
    with pytest.raises(RequestError, match="expired after 10 minutes") as error:
        files.fetch_file(key)

    assert error.value.status == 404


@pytest.mark.parametrize(("sizes", "left"), [([3, 3, 4], 3), ([3, 3, 5], 2), ([3, 3, 8], 1)])
def test_oldest_files_are_removed_first(monkeypatch, sizes, left):
    monkeypatch.setattr(service, "MAX_FILES_BYTES", 10)
    files = service_of()
    keys = [files.keep_file("a", "b", bytes(size)) for size in sizes]
    for key, size in [*zip(keys, sizes, strict=True)][-left:]:
        assert len(files.fetch_file(key)[-1]) == size
    for key in keys[:-left]:
        with pytest.raises(RequestError):
            files.fetch_file(key)
