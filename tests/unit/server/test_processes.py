"""Documents are worked on apart: bounded, in turn, and no longer than somebody waits."""

import asyncio
import os
import threading
from contextlib import asynccontextmanager, nullcontext
from itertools import pairwise
from types import SimpleNamespace

import psutil
import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.server import service as module
from nmt_core.server import worker
from nmt_core.server.api import unless_gone
from nmt_core.server.errors import RequestError
from nmt_core.server.metrics import Metrics
from nmt_core.server.processes import Processes, _Process
from nmt_core.server.schemas import Body
from nmt_core.server.worker import Bounds, Ending
from tests.support.processes import wait_for
from tests.support.stand_in import Connection, Slow, client_of, in_a_loop, serve_stand_in
from tests.support.tasks import (
    be_killed,
    burn,
    die,
    fail,
    note_and_sleep,
    refuse,
    take_memory,
    tell_process,
)


@asynccontextmanager
async def processes_of(count=1, most_bytes=2**29, seconds=30):
    processes = Processes(count, Bounds(most_bytes, seconds))
    processes.start()
    try:
        yield processes
    finally:
        processes.stop()


@in_a_loop
async def test_tasks_are_done_by_one_process_that_lasts(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    async with processes_of() as processes:
        done = {await processes.run("me", tell_process) for _ in range(3)}
        threads = await processes.run("me", os.getenv, "OMP_NUM_THREADS")

    assert threads == "1"  # or each would take all cores from those that translate
    assert len(done) == 1
    assert os.getpid() not in done
    assert not psutil.pid_exists(done.pop())


@in_a_loop
async def test_what_goes_wrong_is_told_and_the_next_task_is_done(caplog):
    async with processes_of() as processes:
        with pytest.raises(DocumentError, match="this document is wrong"):
            await processes.run("me", refuse)
        with pytest.raises(RequestError) as failed:
            await processes.run("me", fail)
        for do, arguments in ((take_memory, (2**30,)), (die, ())):
            with pytest.raises(DocumentError, match="more than the 512 MiB of memory"):
                await processes.run("me", do, *arguments)
            assert await processes.run("me", tell_process)

    assert failed.value.status == 500
    assert "secret" not in "".join(str(vars(record)) for record in caplog.records)
    assert "ValueError" in str(vars(caplog.records[0]))


@in_a_loop
async def test_each_task_has_processor_time_of_its_own():
    async with processes_of(seconds=1) as processes:
        first = await processes.run("me", burn, 0.6)
        assert await processes.run("me", burn, 0.6) == first
        with pytest.raises(DocumentError, match="more than the 1 seconds of processor time"):
            await processes.run("me", burn, 60)
        assert await processes.run("me", tell_process) != first


@in_a_loop
async def test_killed_process_is_not_the_senders_fault():
    async with processes_of() as processes:
        idle = psutil.Process(await processes.run("me", tell_process))
        idle.kill()
        assert wait_for(lambda: idle.status() == psutil.STATUS_ZOMBIE, seconds=5)
        assert await processes.run("me", tell_process) != idle.pid
        with pytest.raises(RequestError, match="try again") as refused:
            await processes.run("me", be_killed)
    assert refused.value.status == 503


@in_a_loop
async def test_a_task_that_nobody_waits_for_is_killed(tmp_path, monkeypatch):
    path, waiting, wait = tmp_path / "process", [], _Process.wait
    monkeypatch.setattr(
        _Process, "wait", lambda self: waiting.append(threading.get_ident()) or wait(self)
    )
    async with processes_of() as processes:
        task = asyncio.ensure_future(processes.run("me", note_and_sleep, path))
        assert await asyncio.to_thread(
            wait_for, lambda: path.exists() and path.read_text(), seconds=60
        )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        pid = int(path.read_text())

        assert await processes.run("me", tell_process) != pid
        assert waiting
        assert threading.get_ident() not in waiting  # 450 MB take up to 0.2 seconds to go
        assert wait_for(lambda: not psutil.pid_exists(pid), seconds=5)


@in_a_loop
async def test_who_sends_much_waits_for_themselves():
    order = []

    async def ask(processes, user):
        await processes.run(user, tell_process, 0.05)
        order.append(user)

    async with processes_of() as processes:
        many = [asyncio.ensure_future(ask(processes, "many")) for _ in range(9)]
        await asyncio.sleep(0)
        await ask(processes, "me")
        await asyncio.gather(*many)

    assert order.index("me") <= 2


@in_a_loop
async def test_no_text_of_any_length_is_read_or_written_where_requests_are_answered(monkeypatch):
    """Only texts of a moment are: of others the loop's process does not even count tokens."""
    here = []

    def watch(name):
        original = getattr(module, name)

        def called(sheet, *arguments):
            here.append(len(sheet.content))
            return original(sheet, *arguments)

        return called

    long = "Das ist gut. " * 1000
    app = serve_stand_in()
    words = app.state.service.models.served[0].translator.source
    threads = set()
    monkeypatch.setattr(
        type(words), "tokens", lambda _, line: threads.add(threading.get_ident()) or line.split()
    )
    monkeypatch.setattr(module, "prepare", watch("prepare"))
    async with client_of(app) as client:
        fields = {"source": "de", "target": "en"}
        sent = await client.post("/translate", json={"q": long, **fields})
        assert sent.json()["translatedText"] == long.upper()
        assert threading.get_ident() not in threads
        assert here == []
        sent = await client.post("/translate", json={"q": "kurz", **fields})
        assert sent.json()["translatedText"] == "KURZ"

    assert here == [4]


@in_a_loop
async def test_the_loop_turns_after_each_text_of_a_list(monkeypatch):
    """A thousand short texts are a long one."""
    done, turns = [0], [0]
    original = module.prepare

    def count(*arguments):
        done[0] += 1
        return original(*arguments)

    async def turn():
        while True:
            turns.append(done[0])
            await asyncio.sleep(0)

    monkeypatch.setattr(module, "prepare", count)
    async with client_of(serve_stand_in()) as client:
        beat = asyncio.ensure_future(turn())
        fields = {"q": ["text"] * 50, "source": "de", "target": "en"}
        assert (await client.post("/translate", json=fields)).status_code == 200
        beat.cancel()

    steps = [after - before for before, after in pairwise(turns)]
    assert (sum(steps), max(steps)) == (50, 1)


@pytest.mark.parametrize("several", [False, True])
@in_a_loop
async def test_no_long_answer_is_written_at_once(monkeypatch, several):
    """Attention makes 45 MB of 100,000 characters, which took the loop half a second."""
    written, write = [], Body.model_dump_json

    def note(*arguments, **options):
        written.append(len(result := write(*arguments, **options)))
        return result

    monkeypatch.setattr(Body, "model_dump_json", note)
    text = "Das ist gut. " * 450
    asked = [text, "b", text] if several else text
    async with client_of(serve_stand_in()) as client:
        fields = {"q": asked, "source": "de", "target": "en", "details": True}
        answer = await client.post("/translate", json=fields)

    assert len(answer.content) > 20 * max(written)
    told = answer.json()
    texts, details = told["translatedText"], told["details"]
    for one, how in zip(texts, details, strict=True) if several else [(texts, details)]:
        parts = [sentence["before"] + sentence["text"] for sentence in how["sentences"]]
        assert one == "".join([*parts, how["after"]])


@in_a_loop
async def test_a_text_with_too_many_tokens_is_refused_with_the_limit():
    async with client_of(serve_stand_in(max_tokens=100)) as client:
        fields = {"q": "wort\n" * 50, "source": "de", "target": "en"}
        answer = await client.post("/translate", json=fields)

    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "this text has 200 tokens, and 100 tokens may be sent at once; cut it in parts",
    )


@pytest.mark.parametrize("path", ["/translate", "/translate_file"])
@in_a_loop
async def test_work_without_end_is_given_up_and_leaves_nothing_behind(path):
    app = serve_stand_in(work_seconds=0.2)
    app.state.service.models.served[0].translator.seconds = 0.05
    async with client_of(app) as client:
        answer = await client.post(path, **ask_for(path, "wort " * 10_000))
        scheduler = app.state.service.scheduler

        assert (answer.status_code, answer.json()["error"]) == (
            503,
            "this took longer than the 0.2 seconds that it may; send less at once",
        )
        assert (scheduler.tokens, scheduler.count_waiting()) == (0, 0)


@in_a_loop
async def test_what_gives_up_by_itself_was_not_asked_too_much():
    """Whoever sent little is not to send less."""

    async def give_up():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await serve_stand_in().state.service._in_time(give_up())


def ask_for(path, text):
    """Return what is posted for a text to be translated, as a file or as it is."""
    fields = {"source": "de", "target": "en"}
    if path == "/translate":
        return {"json": fields | {"q": text}}
    return {"data": fields, "files": {"file": ("a.txt", text.encode())}}


@pytest.mark.parametrize("path", ["/translate", "/translate_file"])
@in_a_loop
async def test_nothing_is_done_for_a_client_that_has_gone(path):
    app = serve_stand_in(Slow())
    service = app.state.service
    translator = service.models.served[0].translator
    async with client_of(app) as client:
        request = client.build_request("POST", path, **ask_for(path, "wort " * 10_000))
        connection = Connection(app)
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        connection.scope |= {"path": path, "raw_path": path.encode(), "headers": headers}
        connection.put(await request.aread())
        task = asyncio.ensure_future(connection.run())
        assert await asyncio.to_thread(translator.begun.wait, 30)
        assert service.scheduler.tokens
        connection.hang_up()
        async with asyncio.timeout(5):
            await task
        assert (service.scheduler.tokens, service.scheduler.count_waiting()) == (0, 0)
        translator.go.set()

    assert service.metrics.registry.get_sample_value("nmt_gone_total") == 1


def overflow():
    raise MemoryError


class Server:
    """The other end of a connection: gives tasks until there are none, notes what comes of them."""

    def __init__(self, *tasks):
        self.tasks = [(do, ()) for do in tasks]
        self.outcomes = []

    def recv(self):
        if not self.tasks:
            raise EOFError
        return self.tasks.pop(0)

    def send(self, outcome):
        self.outcomes.append((outcome.ending, outcome.lasts))


def test_a_process_works_until_nobody_is_there_or_its_memory_is_not_given_back(monkeypatch):
    """And tells with each outcome whether it takes another task."""
    peak = [99]
    monkeypatch.setattr(worker, "find_peak", lambda: peak[0])
    well = [(Ending.DONE, True), (Ending.REFUSED, True), (Ending.FAILED, True)]
    for last, ending in ((overflow, Ending.TOO_LARGE), (lambda: peak.append(peak.pop() + 1), None)):
        server = Server(int, refuse, fail, last, int)
        worker.work(server, Bounds(200, 10**6))

        assert server.outcomes == [*well, (ending or Ending.DONE, False)]
        assert len(server.tasks) == 1
    peak[0] = 99
    worker.work(server := Server(int), Bounds(200, 10**6))
    assert server.outcomes == well[:1]


@pytest.mark.parametrize("is_gone", [False, True])
@in_a_loop
async def test_neither_work_nor_the_watch_over_a_client_goes_on_afterwards(is_gone):
    """Whichever of them ended first."""

    async def receive():
        await asyncio.sleep(0 if is_gone else 600)
        return {"type": "http.disconnect"}

    service = SimpleNamespace(metrics=Metrics())
    app = SimpleNamespace(state=SimpleNamespace(service=service))
    request, before = SimpleNamespace(receive=receive, app=app), asyncio.all_tasks()
    with pytest.raises(RequestError, match="gone") if is_gone else nullcontext():
        answer = await unless_gone(request, asyncio.sleep(600 if is_gone else 0, "answer"))
        assert answer == "answer"
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == before
    assert service.metrics.registry.get_sample_value("nmt_gone_total") == float(is_gone)
