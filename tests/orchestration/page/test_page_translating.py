"""Typing and reading: text, languages, alternatives, copying."""

import math

from playwright.sync_api import expect

from tests.support.page import SLOW
from tests.support.page_reading import (
    TEXT,
    TRANSLATED,
    options,
    record,
    shown,
    translated,
    wait_for_requests,
    word,
    write,
)

# translation


def test_typed_text_is_translated_with_its_paragraphs(page):
    asked = record(page)
    write(page, TEXT)

    translated(page, TRANSLATED)
    assert {
        "q": TEXT,
        "source": "de",
        "target": "en",
        "format": "text",
        "alternatives": 3,
        "details": True,
    } == asked[-1]


def test_late_answer_does_not_replace_a_newer_one(page):
    asked, failed = record(page), []
    page.on("requestfailed", lambda request: failed.append(request.failure))
    write(page, f"{SLOW} Bericht")
    wait_for_requests(page, asked, 1)
    write(page, "Das Gesetz")

    translated(page, "The law")
    page.wait_for_timeout(2000)
    assert "The law" == shown(page)
    assert ["net::ERR_ABORTED"] == failed


def test_translation_of_another_text_is_marked_outdated(page):
    write(page, "Der Bericht")
    translated(page, "The report")
    write(page, f"{SLOW}")

    expect(page.locator("#translation")).to_have_class("text old")
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "true")
    assert "The report" == shown(page)
    assert page.locator(".beside").evaluate("one => one.inert")
    translated(page, SLOW)
    expect(page.locator("#translation")).to_have_attribute("aria-busy", "false")
    assert not page.locator(".beside").evaluate("one => one.inert")


def test_white_space_sends_no_request_and_clears_all(page):
    asked = record(page)
    write(page, TEXT)
    translated(page, TRANSLATED)
    page.click("#clear")
    write(page, " \n\t")
    page.wait_for_timeout(500)

    assert 1 == len(asked)
    assert "" == shown(page)
    expect(page.locator("#copy")).to_be_disabled()
    expect(page.locator("#others")).to_be_hidden()


def test_text_is_not_interpreted_as_html(page):
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script> &amp; ${1} Bericht"
    write(page, attack)

    expect(page.locator("#translation:not(.old) .word").first).to_be_visible()
    assert "img" in shown(page)
    assert "&" in shown(page)
    assert 0 == page.locator("main img, main script, main b").count()


# languages


def test_only_served_pairs_can_be_chosen(page):
    assert ["Detect language", "Arabic", "English", "German"] == options(page, "from")
    assert ["Arabic", "English"] == options(page, "to")
    assert "en" == page.input_value("#to")

    page.select_option("#from", "en")

    assert ["German"] == options(page, "to")


def test_languages_are_swapped_with_their_texts(page):
    asked = record(page)
    write(page, "Der Bericht ist lang.")
    translated(page, "The report is long.")
    page.click("#swap")

    assert ("en", "de") == (page.input_value("#from"), page.input_value("#to"))
    assert "The report is long." == page.input_value("#text")
    wait_for_requests(page, asked, 2)
    assert ("en", "de") == (asked[-1]["source"], asked[-1]["target"])


def test_detected_language_is_shown_and_can_be_swapped(page):
    page.select_option("#from", "auto")
    expect(page.locator("#swap")).to_be_disabled()
    write(page, "Der Bericht ist lang.")
    translated(page, "The report is long.")

    assert "German (detected)" == options(page, "from")[0]
    page.click("#swap")
    assert ("en", "de") == (page.input_value("#from"), page.input_value("#to"))
    assert "Detect language" == options(page, "from")[0]


def test_screen_readers_get_languages_and_directions(page):
    page.select_option("#to", "ar")
    write(page, "Der Ausschuss hat das Gesetz verbessert.")
    expect(page.locator("#translation:not(.old) .word").first).to_be_visible()

    assert "ar" == page.get_attribute("#translation", "lang")
    assert "de" == page.get_attribute("#text", "lang")
    boxes = [one.bounding_box()["x"] for one in page.locator(".word").all()]
    assert sorted(boxes, reverse=True) == boxes  # right-to-left


# alternatives


def test_alternative_can_be_chosen_and_undone(page):
    write(page, TEXT)
    translated(page, TRANSLATED)
    word(page, "improved").click()
    others = page.locator("#alternatives button")
    expect(page.locator("#of")).to_have_text("Der Ausschuss hat das Gesetz gestern verbessert.")

    others.nth(1).click()
    improved = TRANSLATED.replace("improved.", "improved. 2")
    assert improved == shown(page)
    expect(others.nth(1)).to_have_text("The committee has the law yesterday improved.")
    expect(others.nth(1)).to_be_focused()
    assert 0 == page.locator(".sentence").nth(1).locator(".fair").count()  # unknown confidence

    others.nth(1).click()
    assert TRANSLATED == shown(page)
    assert 1 == page.locator(".sentence").nth(1).locator(".fair").count()


def test_alternatives_are_distinct_and_close_in_score(page):
    def repeat(route):
        own = route.fetch()
        answer = own.json()
        (sentence,) = answer["details"]["sentences"]
        best, tokens = sentence["score"], len(sentence["probabilities"])
        behind = {"A report": 1 / 2, "Report": 1 / 2.9, "The reports": 1 / 3.1, "Thereport": 1e-3}
        others = [
            {"text": text, "score": best + math.log(share) / tokens}
            for text, share in behind.items()
        ]
        sentence["alternatives"] = [{"text": sentence["text"], "score": best}, *others, others[0]]
        route.fulfill(response=own, json=answer)

    page.route("**/translate", repeat)
    write(page, "Der Bericht")
    translated(page, "The report")

    assert ["A report", "Report"] == page.locator("#alternatives button").all_text_contents()


# copying


def test_copied_translation_has_no_annotations(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    write(page, TEXT)
    translated(page, TRANSLATED)
    page.click("#copy")

    expect(page.locator("#status")).to_have_text("Copied")
    assert TRANSLATED == page.evaluate("() => navigator.clipboard.readText()")
