"""Themes, widths, and the findings of axe."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.support import data_pages, run_pages
from tests.support.page_reading import TEXT, TRANSLATED, file, refuse, translated, word, write

# appearance


def test_theme_is_the_systems(open_page):
    light, dark = [background(open_page(color_scheme=scheme)) for scheme in ("light", "dark")]

    assert light != dark


def background(page):
    return page.evaluate("() => getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_cut_off_on_a_phone(open_page, width):
    page = open_page(width=width, height=740)
    write(page, TEXT + "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenanspruch")
    expect(page.locator("#translation:not(.old) .word").first).to_be_visible()
    page.set_input_files("#file", [file("a-very-long-name-of-a-picture" * 3 + ".png")])
    for text in ("Court", "trust", "Zebra"):
        word(page, text).hover()
        box = page.locator("#note").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width

    for name in ("#text", "#backdrop", "#copy"):
        box = page.locator(name).bounding_box()
        assert box["x"] + box["width"] <= width
    assert width == page.evaluate("() => document.documentElement.scrollWidth")


def test_touch_targets_are_large_enough(open_page):
    """The minimum is 44 pixels (WCAG 2.5.5)."""
    page = open_page(width=360, height=740, settings={"keyRequired": True})
    write(page, TEXT)
    expect(page.locator("#alternatives button").first).to_be_visible()
    refuse(page, 500)
    write(page, "Der Bericht")
    expect(page.locator("#problem button")).to_be_visible()
    sizes = {}
    for one in page.locator("button, a, select, input:not(.unseen), .choose").all():
        if one.is_visible():
            box = one.bounding_box()
            sizes[one.evaluate("one => one.outerHTML")[:80]] = min(box["width"], box["height"])

    assert len(sizes) >= 10
    assert {} == {name: size for name, size in sizes.items() if size < 44}


WAYS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 360, "height": 740, "has_touch": True},
}


@pytest.mark.parametrize("way", WAYS)
def test_axe_finds_no_violation(open_page, way):
    page = open_page(**WAYS[way])
    check(page)
    write(page, TEXT)
    translated(page, TRANSLATED)
    check(page)
    word(page, "improved").focus()
    check(page)
    refuse(page, 400, path="translate_file")
    page.set_input_files("#file", [file("report.docx"), file("picture.png")])
    expect(page.locator("#documents .failed")).to_have_count(2)
    check(page)
    refuse(page, 403, "Invalid API key")
    write(page, "Der Bericht")
    expect(page.locator("#problem")).to_be_visible()
    check(page)
    page.select_option("#to", "ar")
    expect(page.locator("#translation:not(.old) .word").first).to_be_visible()
    check(page)
    page.goto(f"{page.url}docs")
    check(page)


HOSTILE_CORPORA = {name: data_pages.describe("files", licence=data_pages.HOSTILE) for name in "ab"}
REPORTS = {"data": lambda: data_pages.render(HOSTILE_CORPORA), "run": run_pages.render}


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("way", WAYS)
def test_axe_finds_no_violation_in_reports(chromium, tmp_path, way, report):
    """The reports make no requests and run no scripts, although their text contains such code."""
    path = tmp_path / "report.html"
    path.write_text(REPORTS[report](), encoding="utf-8")
    told = []
    with chromium.new_context(**as_context(**WAYS[way])) as context:
        page = context.new_page()
        page.on("console", lambda message: told.append(message.text))
        page.on("request", lambda request: told.append(request.url))
        page.goto(path.as_uri())
        check(page)

        assert [path.as_uri()] == told
        width = page.viewport_size["width"]
        assert width == page.evaluate("() => document.documentElement.scrollWidth")


def as_context(*, width=1280, height=800, **options):
    return {"viewport": {"width": width, "height": height}, **options}


def check(page):
    found = Axe().run(page).response
    told = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]

    assert [] == told, json.dumps(told, indent=1)
    assert len(found["passes"]) > 20
