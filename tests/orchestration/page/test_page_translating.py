"""Typing on the left, reading on the right: text, languages, alternatives, copying."""

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

# translating


def test_what_is_typed_is_translated_with_its_paragraphs(page):
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


def test_an_old_answer_never_comes_over_a_newer_one(page):
    asked, failed = record(page), []
    page.on("requestfailed", lambda request: failed.append(request.failure))
    write(page, f"{SLOW} Bericht")
    wait_for_requests(page, asked, 1)
    write(page, "Das Gesetz")

    translated(page, "The law")
    page.wait_for_timeout(2000)
    assert "The law" == shown(page)
    assert ["net::ERR_ABORTED"] == failed


def test_a_translation_of_another_text_is_marked_as_old(page):
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


def test_nothing_is_asked_for_white_space_and_nothing_is_left(page):
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


def test_text_stays_text(page):
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script> &amp; ${1} Bericht"
    write(page, attack)

    expect(page.locator("#translation:not(.old) .word").first).to_be_visible()
    assert "img" in shown(page)
    assert "&" in shown(page)
    assert 0 == page.locator("main img, main script, main b").count()


# languages


def test_only_pairs_that_are_served_can_be_chosen(page):
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


def test_a_detected_language_is_told_and_can_be_swapped(page):
    page.select_option("#from", "auto")
    expect(page.locator("#swap")).to_be_disabled()
    write(page, "Der Bericht ist lang.")
    translated(page, "The report is long.")

    assert "German, detected" == options(page, "from")[0]
    page.click("#swap")
    assert ("en", "de") == (page.input_value("#from"), page.input_value("#to"))
    assert "Detect language" == options(page, "from")[0]


def test_languages_and_directions_are_told_to_whoever_reads_aloud(page):
    page.select_option("#to", "ar")
    write(page, "Der Ausschuss hat das Gesetz verbessert.")
    expect(page.locator("#translation:not(.old) .word").first).to_be_visible()

    assert "ar" == page.get_attribute("#translation", "lang")
    assert "de" == page.get_attribute("#text", "lang")
    boxes = [one.bounding_box()["x"] for one in page.locator(".word").all()]
    assert sorted(boxes, reverse=True) == boxes  # from right to left


# alternatives


def test_an_alternative_is_taken_and_given_back(page):
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
    assert 0 == page.locator(".sentence").nth(1).locator(".fair").count()  # nothing is known of it

    others.nth(1).click()
    assert TRANSLATED == shown(page)
    assert 1 == page.locator(".sentence").nth(1).locator(".fair").count()


def test_alternatives_are_offered_once_and_none_that_is_shown_or_far_behind(page):
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


def test_the_translation_is_copied_without_what_is_told_of_it(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    write(page, TEXT)
    translated(page, TRANSLATED)
    page.click("#copy")

    expect(page.locator("#status")).to_have_text("Copied")
    assert TRANSLATED == page.evaluate("() => navigator.clipboard.readText()")
