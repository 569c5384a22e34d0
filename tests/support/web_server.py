"""A web server on this machine that misbehaves as a test requires."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        site = self.server.site
        path, query = urlsplit(self.path)[2:4]
        site.requests.append((path, dict(self.headers)))
        site.queries.append(query)
        behaviours = site.behaviours[path]
        behave = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        self.close_connection = True
        with suppress(ConnectionError):
            behave(self)

    def do_POST(self):
        self.do_GET()

    def answer(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        pass


Behaviour = Callable[[Handler], None]


class Site:
    """Behaviours by path, one per request; the last one repeats."""

    def __init__(self, port):
        self.port = port
        self.behaviours = {}
        self.requests = []
        self.queries = []

    def put(self, path, *behaviours):
        self.behaviours[path] = list(behaviours)
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def serving() -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.site = Site(server.server_port)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def whole(content, *, tag='"v1"', send=None) -> Behaviour:
    """Answer like a good server, ranges included, but close after ``send`` bytes."""

    def behave(handler):
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        if wanted and handler.headers.get("If-Range") == tag:
            start = int(wanted[1])
            range_ = f"bytes {start}-{len(content) - 1}/{len(content)}"
            handler.answer(206, Content_Length=len(content) - start, Content_Range=range_, ETag=tag)
            handler.wfile.write(content[start:][:send])
        elif handler.headers.get("If-None-Match") == tag:
            handler.answer(304, ETag=tag)
        else:
            handler.answer(200, Content_Length=len(content), ETag=tag)
            handler.wfile.write(content[:send])

    return behave


def without_ranges(content, *, send=None, **headers) -> Behaviour:
    """Answer with the whole content each time, but close after ``send`` bytes."""

    def behave(handler):
        handler.answer(200, Content_Length=len(content), **headers)
        handler.wfile.write(content[:send])

    return behave


def status(code, **headers) -> Behaviour:
    return lambda handler: handler.answer(code, Content_Length=0, **headers)


def redirect(to) -> Behaviour:
    return status(302, Location=to)


def silent(seconds) -> Behaviour:
    return lambda _: time.sleep(seconds)
