"""A browser, the server, and a page that tells what goes wrong in it."""

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
"""What the page is told beside the server's own settings."""


@pytest.fixture(scope="package")
def chromium():
    """The distribution's browser. While its event loop runs, no test may have one of its own."""
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
    """Where the server answers."""
    with serving(max_characters=5000) as address:
        yield address


@pytest.fixture
def open_page(chromium, address):
    """Open the page; in the end, nothing may have been refused, thrown, kept or asked of others."""
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
    """Pages that were opened, and what they said and asked for."""

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
            for page in context.pages:  # some of what they asked for may still be on its way
                page.unroute_all(behavior="ignoreErrors")
            context.close()
        # that a request was refused is told by the browser itself
        told = [one for one in self.said if not one.startswith("Failed to load resource:")]
        assert [] == told
        assert [] == [
            one for one in self.asked if not one.startswith(("http://127.0.0.1:", "data:"))
        ]


@pytest.fixture
def page(open_page):
    return open_page()
