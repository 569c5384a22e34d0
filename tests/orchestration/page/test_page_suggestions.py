"""Corrections on the page, and approved translations."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from nmt_core.base.languages import Languages
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.memory.store import MemoryScope, MemoryUnit, TranslationMemory
from tests.support.page import serving
from tests.support.page_reading import file, translated, write

ONE, TWO = "Der Bericht.", "Der Gerichtshof."
ATTACK = '<img src=x onerror="document.title = 1"><script>document.title = 2</script>'
PLURAL = "Es gibt {n, plural, one {einen Bericht} other {Berichte}} hier."
DE_EN = Languages(source="de", target="en")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("given")


@pytest.fixture(scope="module")
def address(folder):
    memory = TranslationMemory(folder / "memory")
    units = [MemoryUnit("Das Parlament!", f"Our house {ATTACK}"), MemoryUnit("Der Berichter.", "x")]
    memory.put(MemoryScope(DE_EN), units)
    given = {"suggestions": "all", "corrections": folder / "c.jsonl", "memory": memory.path}
    with serving(max_characters=5000, **given) as address:
        yield address


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["Das Parlament!", "Der Berichter.", PLURAL], "2 sentences from the translation memory"),
        (["Das Parlament!", PLURAL, PLURAL], "1 sentence from the translation memory"),
        (["Der Bericht.", PLURAL], ""),
    ],
)
def test_file_reports_memory_matches_and_untranslated_text(open_page, messages, told):
    page = open_page()
    content = json.dumps({f"m{n}": message for n, message in enumerate(messages)})
    with page.expect_download() as download:
        page.set_input_files("#file", [file("app.json", content)])
    assert PLURAL in download.value.path().read_text()
    left = messages.count(PLURAL)
    told += f"{left} text{'s' * (left > 1)} not translated"
    expect(page.locator("#documents .state")).to_have_text(
        re.compile(f"^Download the translation of app.json{told}$")
    )


def read(folder):
    kept = CorrectionJournal(folder / "c.jsonl").read()
    return [(e.suggestion.source, e.suggestion.target, e.suggestion.before) for e in kept]


def test_corrected_sentence_is_sent_to_the_server(open_page, folder):
    page = open_page()
    write(page, f"{TWO}\n{ONE}")
    expect(page.locator("#better")).to_be_visible()
    page.locator("#translation .sentence").nth(1).click()
    before = page.locator("#suggestion").input_value()
    expect(page.locator("#corrected")).to_have_text(ONE)
    expect(page.locator("#suggest")).to_be_disabled()
    page.get_by_label("Translation of: Der Bericht.").fill(ATTACK)
    page.locator("#translation .sentence").nth(0).click()
    page.locator("#translation .sentence").nth(1).click()
    assert ATTACK == page.locator("#suggestion").input_value()  # unchanged
    page.locator("#suggestion").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#suggested")).to_contain_text("Sent.")
    expect(page.locator("#translation .sentence").nth(1)).to_have_text(ATTACK)
    assert "Translate" == page.title()
    assert [(ONE, ATTACK, before)] == read(folder)
    expect(page.locator("#but")).to_be_visible()


def test_approved_and_similar_translations_are_shown(open_page):
    page = open_page()
    write(page, "Das Parlament!")
    translated(page, f"Our house {ATTACK}")
    expect(page.locator("#status")).to_contain_text("1 approved translation")
    expect(page.locator("#similar")).to_be_hidden()
    write(page, "Dies Parlament!")
    expect(page.locator("#similar del")).to_have_text("only in the memory: Das")
    expect(page.locator("#similar ins")).to_have_text("only in your text: Dies")
    page.locator("#matches button").click()

    translated(page, f"Our house {ATTACK}")
    assert "Translate" == page.title()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_and_phone_layout_fits(open_page, scheme):
    page = open_page(width=360, height=740, color_scheme=scheme)
    write(page, f"Dies Parlament!\n{ONE}")
    expect(page.locator("#similar")).to_be_visible()
    expect(page.locator("#better")).to_be_visible()

    assert [] == Axe().run(page).response["violations"]
    assert 360 == page.evaluate("() => document.documentElement.scrollWidth")
    for button in page.locator("#better button, #matches button").all():
        assert button.bounding_box()["height"] >= 44


def test_no_correction_is_offered_without_suggestions(chromium):
    with serving() as address:
        page = chromium.new_page()
        page.goto(address)
        expect(page.locator("#from")).to_be_enabled()
        write(page, ONE)
        expect(page.locator("#translation .sentence")).to_be_visible()
        expect(page.locator("#better")).to_be_hidden()
        expect(page.locator("#but")).to_be_hidden()
        page.close()
