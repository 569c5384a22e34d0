"""Actions on the page, and values read from it."""

import time

from playwright.sync_api import expect

TEXT = (
    "Der Gerichtshof wird dem Präsidenten vertrauen.\n\n"
    "\tDer Ausschuss hat das Gesetz gestern verbessert. \nDer Bericht ist lang.\n"
    "Zebra\n"
)
TRANSLATED = (
    "The Court of Justice will the President trust.\n\n"
    "\tThe committee has the law yesterday improved. \nThe report is long.\n"
    "Zebra\n"
)


def write(page, text):
    page.fill("#text", text)


def translated(page, text, *, seconds=20):
    """Wait until a translation is shown that is not outdated."""
    words = page.locator("#translation:not(.old) .word")
    expect(words.first).to_be_visible(timeout=1000 * seconds)
    assert text == shown(page)


def shown(page):
    """Return the visible text, without text only for screen readers."""
    return page.locator("#translation").evaluate(
        "place => { const copy = place.cloneNode(true);"
        " copy.querySelectorAll('.unseen').forEach(one => one.remove());"
        " return copy.textContent }"
    )


def word(page, text):
    return page.locator(".word", has_text=text).first


def marked(page, place):
    """Return the most strongly marked words in a text."""
    return page.locator(f"{place} .attended").evaluate_all(
        "all => all.filter(one => one.style.getPropertyValue('--weight') > 0.5)"
        ".map(one => one.firstChild.textContent)"
    )


def options(page, which):
    return page.locator(f"#{which} option").all_text_contents()


def record(page, path="/translate"):
    """Return a list to which requests are added: JSON, or the form that was sent."""
    asked = []

    def keep(request):
        if request.method == "POST" and request.url.endswith(path):
            asked.append(request.post_data_json if path == "/translate" else request.post_data)

    page.on("request", keep)
    return asked


def wait_for_requests(page, asked, number):
    end = time.monotonic() + 20
    while len(asked) < number and time.monotonic() < end:
        page.wait_for_timeout(20)
    assert number == len(asked)


def refuse(page, status, sentence="no", path="translate", **headers):
    """Answer the next request with this response."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    page.route(
        f"**/{path}",
        lambda route: route.fulfill(status=status, headers=told, json={"error": sentence}),
        times=1,
    )


def file(name, text="Der Bericht"):
    return {"name": name, "mimeType": "application/octet-stream", "buffer": text.encode()}
