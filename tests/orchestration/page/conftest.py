"""A browser, the server, and a page that reports its errors."""

import json
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from tests.support.page import serving

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += [f"--disable-{one}" for one in ("background-networking", "component-update", "sync")]

SETTINGS = {
    "frontendTimeout": 100,
    "language": {"source": {"code": "de"}, "target": {"code": "en"}},
    "fileLimit": 1000,
}
"""Settings of the server for the page."""


@pytest.fixture(scope="package")
def chromium():
    """The distribution's browser. While its event loop runs, no test may start another."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing = "Chromium is missing; run: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    """The address of the server."""
    with serving(max_characters=5000) as address:
        yield address


@pytest.fixture
def open_page(chromium, address):
    """Open the page; at the end, no request may have failed, been rejected or left the server."""
    opened = Opened(address)

    def open_page(*, at=address, settings=(), ready=True, width=1280, height=800, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        page = opened.add(context, SETTINGS | dict(settings))
        page.goto(at)
        if ready:
            expect(page.locator("#from")).to_be_enabled()
        return page

    yield open_page
    opened.close()


class Opened:
    """Opened pages, with their errors and requests."""

    def __init__(self, address: str) -> None:
        self.addresses = {address}
        self.said: list[str] = []
        self.asked: list[str] = []
        self.contexts: list[BrowserContext] = []

    def add(self, context: BrowserContext, settings) -> Page:
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

        def add_settings(route):
            own = route.fetch()
            route.fulfill(response=own, body=json.dumps(own.json() | settings))

        page.route("**/frontend/settings", add_settings)
        return page

    def close(self) -> None:
        for context in self.contexts:
            assert [] == context.cookies()
            for page in context.pages:  # some of their requests may still be pending
                page.unroute_all(behavior="ignoreErrors")
            context.close()
        # the browser itself reports a rejected request
        told = [one for one in self.said if not one.startswith("Failed to load resource:")]
        assert [] == told
        assert [] == [
            one for one in self.asked if not one.startswith(("http://127.0.0.1:", "data:"))
        ]


@pytest.fixture
def page(open_page):
    return open_page()
