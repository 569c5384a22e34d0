"""``nmt serve`` as a process: other programs' clients, and faults."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import httpx2
import pytest
from libretranslatepy import LibreTranslateAPI

from nmt_core.base import seal
from nmt_core.base.languages import Languages
from stages.runtime.checkout import find_free_port
from tests.support.served import served
from tests.support.tiny import LINES, export, tiny_translator

LINE = LINES[0]


@pytest.fixture(scope="module")
def translators():
    return [tiny_translator(seed=seed) for seed in (1, 2)]


@pytest.fixture
def folder(tmp_path, translators):
    return export(tmp_path / "export", translator=translators[0])


@contextmanager
def serving(folder, log):
    port = find_free_port("127.0.0.1")
    command = ["nmt_core.cli", "serve", "--model", f"de-en={folder}", "--port", str(port)]
    with served(*command, "--threads", "1", port=port, log=log) as server:
        yield server


@pytest.fixture
def own_server(tmp_path, folder):
    """A server with an export that a test can change."""
    with serving(folder, tmp_path / "log") as server:
        yield server


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="module")
def server(translators, log):
    with serving(export(log.parent / "export", translator=translators[0]), log) as server:
        yield server


@pytest.mark.whole
def test_libretranslatepy_works_unchanged(server, translators):
    client = LibreTranslateAPI(server.address)

    assert client.translate(LINE, "de", "en") == translators[0].translate([LINE])[0]
    assert client.detect("Das ist ein deutscher Satz.")[0]["language"] == "de"
    assert client.languages() == [
        {"code": "de", "name": "German", "targets": ["de", "en"]},
        {"code": "en", "name": "English", "targets": ["en"]},
    ]


def test_two_hundred_clients_get_their_own_answers(server, translators):
    texts = [f"{LINE} {number}" for number in range(200)]
    with ThreadPoolExecutor(200) as clients:
        answers = list(clients.map(server.ask, texts))

    assert {200} == {answer.status_code for answer in answers}
    own = replace(translators[0], languages=Languages(source="de", target="en"))
    assert own.translate(texts) == [one.json()["translatedText"] for one in answers]


def test_replaced_export_is_swapped_without_failed_requests(own_server, translators, folder):
    old, new = (one.translate([LINE])[0] for one in translators)
    digest = seal.digest_bundle(folder)
    answers = []

    def ask_until_new():
        end = time.monotonic() + 60
        while time.monotonic() < end:
            answers.append(own_server.ask(LINE))
            if answers[-1].json().get("translatedText") == new:
                return

    with ThreadPoolExecutor(8) as clients:
        tasks = [clients.submit(ask_until_new) for _ in range(8)]
        export(folder, translator=translators[1])
        for task in tasks:
            task.result()

    assert {200} == {answer.status_code for answer in answers}
    assert {old, new} == {answer.json()["translatedText"] for answer in answers}
    [model] = own_server.status()["models"]
    assert (model["problem"], model["digest"] != digest) == ("", True)


def test_sigterm_under_load_finishes_running_requests(tmp_path):
    """Accepted requests are answered; later ones find no server."""
    outcomes = []

    def ask(number):
        try:
            outcomes.append(server.ask(f"text {number}").status_code)
        except httpx2.ConnectError:
            outcomes.append("refused")

    port = find_free_port("127.0.0.1")
    stand_in = served("tests.support.stand_in", str(port), port=port, log=tmp_path / "log")
    with stand_in as server, ThreadPoolExecutor(50) as clients:
        for number in range(200):
            clients.submit(ask, number)
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        ended = server.process.wait(30)

    assert ended == 0
    assert time.monotonic() - began < 30
    assert {200, "refused"} >= set(outcomes)
    assert 200 in outcomes


def test_no_log_has_text_keys_or_addresses(server, log):
    before = len(log.read_text())
    server.ask("Geheim steht hier.")
    httpx2.post(f"{server.address}/translate?q=Geheimnis&source=de&target=en", trust_env=False)
    server.ask(["x", "\u0000 Geheimer"], source="geheime-sprache")

    told = log.read_text()[before:]
    assert "/translate" in told
    assert "eheim" not in told
