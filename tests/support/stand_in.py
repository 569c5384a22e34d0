"""A server without a model: words in capitals, with made-up probabilities and links.

``python -m tests.support.stand_in [PORT] [SETTINGS]`` serves the page and the API with it.
"""

import asyncio
import functools
import json
import logging
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx2

from nmt_core.base.errors import ConfigError
from nmt_core.documents.plan import Segmenter
from nmt_core.server.models import Models, ServedModel, WatchedModel
from nmt_core.server.run import build_app, listen, run_app
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import read_keys
from nmt_core.text.translation import Translation
from nmt_core.text.words import list_words
from tests.support.tasks import Words


class StandIn:
    """Translates into capitals; ``calls`` are the lines of every batch."""

    engine = SimpleNamespace(name="stand-in")
    config = SimpleNamespace(beam=SimpleNamespace(beam_size=2))
    segmenter = Segmenter("de", Words().tokens)
    confidence_model = None
    tags, directions, pivot = (), (), None

    def __init__(self, mark="", seconds=0.0, languages=("de", "en"), poison=None):
        self.mark, self.seconds, self.poison = mark, seconds, poison
        self.languages = SimpleNamespace(source=languages[0], target=languages[1], codes=languages)
        self.calls = []

    def add_glossary(self, _):
        return self

    def choose_tag(self, tag):
        if tag not in (None, "own"):
            raise ConfigError(f"there is no tag {tag!r}; choose one of own, or none")
        return self

    def search(self, lines, *, beam_size=None, n_best=None, probabilities=True, links=False):
        assert beam_size >= n_best
        self.calls.append(list(lines))
        time.sleep(self.seconds)
        if self.poison is not None and any(self.poison in line for line in lines):
            raise RuntimeError(f"cannot translate {lines}")
        return [
            [self.translate(line, rank, probabilities, links) for rank in range(n_best or 1)]
            for line in lines
        ]

    def translate(self, line, rank, probabilities, links):
        words = f"{self.mark}{line.upper()}{'!' * rank}".split()
        tokens = tuple(f"▁{word}" for word in words)
        shares = tuple(1 / (2 + n % 5) for n in range(len(tokens) + 1)) if probabilities else ()
        spans = len(list_words(line)), len(list_words(" ".join(words)))
        return Translation(
            text=" ".join(words),
            score=-0.3 * (rank + 1) - (3 if "?" in line else 0),
            tokens=tokens,
            token_probabilities=shares,
            ids=(),
            links=[min(word, spans[0] - 1) for word in range(spans[1])] if links else None,
            confidence=0.15 if "?" in line else 0.95,
            restored_words=("Straße",) if "strasse" in line else (),
        )


class Slow(StandIn):
    """Translates after a signal of the test."""

    def __init__(self, **options):
        super().__init__(**options)
        self.go = threading.Event()
        self.begun = threading.Event()

    def search(self, lines, **options):
        self.begun.set()
        assert self.go.wait(10)
        return super().search(lines, **options)


class StandInSource:
    """Returns the version to serve, which a test can change."""

    def __init__(self, version="1"):
        self.version = version
        self.error = None

    def poll(self):
        if self.error:
            raise self.error
        return Path("bundles") / self.version, self.version, f"digest {self.version}"


def serve_stand_in(*translators, keys=None, **settings):
    """Return an application with translators, or one; ``keys`` has the content of a key file."""
    translators = list(translators) or [StandIn()]
    loaded = {f"{number}": one for number, one in enumerate(translators)}
    watched = [
        WatchedModel(StandInSource(name).poll, one.languages and one.languages.codes)
        for name, one in loaded.items()
    ]
    models = Models(watched, lambda folder: loaded[folder.name])
    return build_app(models, ServerConfig(**settings), read_keys(keys) if keys else None)


def model_of(translator, pair=("de", "en"), version="1", digest="digest"):
    """Return a translator prepared for serving."""
    return ServedModel(pair, translator, version, digest, "now", "card")


@asynccontextmanager
async def client_of(app):
    """Yield a client of a running application, which fails on an undocumented answer."""
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    address, hooks = "http://localhost", {"response": [check_documented]}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=address, event_hooks=hooks) as client,
    ):
        yield client


@functools.cache
def describe_routes():
    """Return OpenAPI's description of the routes, which is the same for all applications."""
    return serve_stand_in().openapi()["paths"]


async def check_documented(answer):
    """Assert that OpenAPI describes the status and media type of an answer."""
    path, method = answer.request.url.path, answer.request.method.lower()
    for template, methods in describe_routes().items():
        if method in methods and re.fullmatch(re.sub("{.*?}", "[^/]+", template), path):
            described = methods[method]["responses"]
            assert str(answer.status_code) in described, (template, answer.status_code)
            content = described[str(answer.status_code)].get("content")  # missing for files
            media_type = answer.headers["content-type"].partition(";")[0]
            assert content is None or media_type in content, (template, media_type)


async def ask(path="/translate", *, app=None, method="POST", **request):
    """Return the answer of an application, or of a stand-in, to one request."""
    async with client_of(app or serve_stand_in()) as client:
        return await client.request(method, path, **request)


class Connection:
    """One request, sent part by part."""

    def __init__(self, app):
        self.app = app
        self.answer = []
        self.parts = asyncio.Queue()
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": "/translate",
            "raw_path": b"/translate",
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 5001),
            "scheme": "http",
            "http_version": "1.1",
        }

    def put(self, body, *, more=False):
        self.parts.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def hang_up(self):
        self.parts.put_nowait({"type": "http.disconnect"})

    async def send(self, message):
        self.answer.append(message)

    async def run(self):
        await self.app(self.scope, self.parts.get, self.send)

    @property
    def status(self):
        return self.answer[0]["status"]

    @property
    def error(self):
        return json.loads(self.answer[1]["body"])["error"]


def in_a_loop(test):
    """Run a coroutine in a thread, because Playwright leaves an event loop in the main thread."""

    @functools.wraps(test)
    def run(*arguments, **named):
        with ThreadPoolExecutor(1) as threads:
            threads.submit(lambda: asyncio.run(test(*arguments, **named))).result()

    return run


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    port, told = sys.argv[1:] + ["5001", "{}"][len(sys.argv) - 1 :]
    config = ServerConfig(port=int(port), **json.loads(told))
    two = [StandIn(languages=pair, seconds=0.2) for pair in (("de", "en"), ("en", "de"))]
    listening = listen(config)
    run_app(serve_stand_in(*two, **json.loads(told)), config, listening)
