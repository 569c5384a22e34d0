"""Failures, and files."""

import re
import time

import pytest
from playwright.sync_api import expect

from nmt_core.server.users import read_keys
from tests.support.page import serving
from tests.support.page_reading import file, record, refuse, translated, wait_for_requests, write

# failures


def test_busy_server_is_retried_after_its_delay(page):
    asked = record(page)
    refuse(page, 429, Retry_After="2")
    write(page, "Der Bericht")

    expect(page.locator("#problem p")).to_have_text(
        "The server is busy; trying again in 2 seconds."
    )
    refused = time.monotonic()
    translated(page, "The report")
    assert time.monotonic() - refused > 1.5
    expect(page.locator("#problem")).to_be_hidden()
    assert 2 == len(asked)


def test_error_is_shown_in_the_servers_words(page):
    asked = record(page)
    page.select_option("#to", "ar")
    page.evaluate("() => { document.getElementById('to').add(new Option('Greek', 'el')) }")
    page.select_option("#to", "el")
    write(page, "Der Bericht")
    expect(page.locator("#problem p")).to_have_text("El is not supported.")
    page.wait_for_timeout(1000)
    assert 1 == len([one for one in asked if one["target"] == "el"])

    page.evaluate("() => { document.getElementById('to').value = 'en' }")
    page.click("#problem button")
    translated(page, "The report")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"status": 500}, "The server failed (500)."),
        ({"status": 413, "json": ["?"]}, "The text or file is too large for the server."),
        ({"status": 503}, "The server is not ready; trying again in 5 seconds."),
        ({"status": 502, "body": "proxy"}, "The server is not ready; trying again in 5 seconds."),
        ({"status": 200, "json": ["?"]}, "The server sent an invalid response."),
        ({"status": 200, "json": {"translatedText": "x"}}, "The server sent an invalid response."),
        ({"status": 200, "body": "<html>"}, "The server sent an invalid response."),
    ],
)
def test_every_failure_is_shown_as_a_sentence(page, answer, sentence):
    write(page, "Das Gesetz")
    translated(page, "The law")
    page.route("**/translate", lambda route: route.fulfill(**answer), times=1)
    write(page, "Der Bericht")

    expect(page.locator("#problem p")).to_have_text(sentence)
    expect(page.locator("#translation")).to_be_empty()  # no result of another text is left
    expect(page.locator("#others")).to_be_hidden()
    expect(page.locator("#copy")).to_be_disabled()
    page.click("#problem button")
    translated(page, "The report")


def test_restarted_server_is_found_again(page):
    page.context.set_offline(offline=True)
    write(page, "Der Bericht")
    expect(page.locator("#problem p")).to_have_text(
        "The server does not respond; trying again in 5 seconds."
    )
    page.context.set_offline(offline=False)

    translated(page, "The report")
    expect(page.locator("#problem")).to_be_hidden()


def test_too_long_text_is_reported_and_not_sent(page):
    asked = record(page)
    text = "𝄞" * 5000
    write(page, text)
    wait_for_requests(page, asked, 1)
    expect(page.locator("#count")).to_have_text("5,000 / 5,000")
    write(page, text + "x")

    expect(page.locator("#problem p")).to_have_text(
        "The text is longer than 5,000 characters; shorten it, or translate it as a file."
    )
    expect(page.locator("#problem button")).to_be_hidden()
    expect(page.locator("#translation")).to_be_empty()
    expect(page.locator("#count")).to_have_class("over")
    page.wait_for_timeout(500)
    assert 1 == len(asked)


@pytest.mark.parametrize("told", [True, False])
def test_key_is_requested_if_required(open_page, tmp_path, told):
    """It is requested at once, or when the server rejects a request without a key."""
    (tmp_path / "keys").write_text("a-secret-key\n")
    with serving(keys=read_keys(tmp_path / "keys")) as address:
        page = open_page(at=address, settings={} if told else {"keyRequired": False})
        assert told == page.locator("#api-key").is_visible()
        write(page, "Der Bericht")
        expect(page.locator("#problem p")).to_have_text(
            "Please contact the server operator to get an API key."
        )
        page.fill("#api-key", "a-secret-key")
        page.press("#api-key", "Enter")

        translated(page, "The report")
        assert {} == page.evaluate("() => ({...localStorage})")


# files


@pytest.fixture
def sent(page):
    """The files that were sent."""
    return record(page, "/translate_file")


@pytest.mark.parametrize("host", [None, "elsewhere.example"])
def test_file_is_translated_and_downloaded(page, sent, host):
    """This works even if the server's own name differs from the browser's."""
    if host:

        def rename(route):
            own = route.fetch()
            address = re.sub(r"//[^/]+", f"//{host}", own.json()["translatedFileUrl"])
            route.fulfill(response=own, json={"translatedFileUrl": address})

        page.route("**/translate_file", rename)
    with page.expect_download() as download:
        page.set_input_files("#file", [file("report.v2.txt", "Der Bericht ist lang.\n")])

    assert "report.v2" in download.value.suggested_filename
    assert "The report is long.\n" == download.value.path().read_text()
    assert 'filename="report.v2.txt"' in sent[0]
    assert re.search(r'name="source"\s+de\s', sent[0])
    assert re.search(r'name="target"\s+en\s', sent[0])
    expect(page.locator("#documents a")).to_be_visible()


def test_unsupported_files_are_rejected_in_the_browser(page, sent):
    page.set_input_files("#file", [file("picture.png"), file("long.txt", "x" * 2000)])

    expect(page.locator("#documents .failed .state")).to_have_text(
        ["This format is not supported.", "Too large (limit 0.001 MB)."]
    )
    assert [] == sent


def test_file_can_be_dropped_anywhere(page, sent):
    with page.expect_download() as download:
        page.evaluate(
            "() => { const dataTransfer = new DataTransfer();"
            " dataTransfer.items.add(new File(['Der Bericht'], 'a.txt'));"
            " for (const kind of ['dragover', 'drop']) document.querySelector('#text')"
            ".dispatchEvent(new DragEvent(kind, {dataTransfer, bubbles: true, cancelable: true})) }"
        )

    assert "a.en.txt" == download.value.suggested_filename
    assert "Der Bericht" in sent[0]
