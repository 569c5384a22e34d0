"""Paragraphs, HTML and files keep their format."""

import pytest

from tests.support.formats import zipped
from tests.support.stand_in import ask, client_of, in_a_loop, serve_stand_in

PAIR = {"source": "de", "target": "en"}


async def translate(q, **fields):
    return (await ask(json={"q": q, **PAIR, **fields})).json()


async def send(name, content, fields=PAIR, **settings):
    """Return the answer to a file, and the translated file."""
    async with client_of(serve_stand_in(**settings)) as client:
        sent = {"file": (name, content)}
        answer = await client.post("/translate_file", files=sent, data=PAIR | fields)
        if answer.status_code == 200:
            return answer, await client.get(answer.json()["translatedFileUrl"])
        return answer, None


LONG = " ".join(f"wort{number}" for number in range(600))
PAGE = '<p class="x">{} <b>{}</b> {}.</p><script>var a = "b";</script><p>{} &amp; {}.</p>'
WORDS = ("Das", "Haus", "steht", "Ja", "so")


@pytest.mark.parametrize(
    ("format_", "text", "translation"),
    [
        ("text", "Das ist gut. Ist es das?\n\n- Eins.\n", "DAS IST GUT. IST ES DAS?\n\n- EINS.\n"),
        ("text", LONG, LONG.upper()),
        ("text", "\n" * 5_001, "\n" * 5_001),
        ("html", PAGE.format(*WORDS), PAGE.format(*map(str.upper, WORDS))),
        (
            "html",
            "<p lang=de>das <i lang=fr>une</i></p>",
            '<p lang="en">DAS <i lang=fr>une</i></p>',
        ),
    ],
    ids=["text", "long", "empty", "html", "languages"],
)
@in_a_loop
async def test_translation_keeps_the_format(format_, text, translation):
    assert await translate(text, format=format_) == {"translatedText": translation}


@in_a_loop
async def test_language_of_html_is_detected_from_its_text():
    text = f"<html><body>{'<div class=content>' * 50}Das ist ein Satz über die Häuser der Stadt."
    answer = await translate(text, format="html", source="auto")

    assert answer["detectedLanguage"]["language"] == "de"


GERMAN = "Das ist ein Satz über die Häuser.\r\n\r\n\tUnd noch einer.\r\n"
ENGLISH = "This is a sentence about the houses."


SENT = [
    ("mein brief.txt", GERMAN, "de", "mein%20brief.en.txt", GERMAN.upper()),
    ("mein brief.txt", GERMAN, "auto", "mein%20brief.en.txt", GERMAN.upper()),
    ("a.txt", ENGLISH, "auto", "a.txt", ENGLISH),
    ("../../etc/passwd.txt", "Ja.", "de", "passwd.en.txt", "JA."),
    ("\x00\r\nX: y.txt", "Ja.", "de", "%2500%250D%250AX%3A%20y.en.txt", "JA."),
]


@in_a_loop
async def test_file_is_translated_and_named():
    for name, text, source, translated_name, translation in SENT:
        answer, file = await send(name, text.encode(), {"source": source})

        assert ["translatedFileUrl"] == list(answer.json())
        assert answer.json()["translatedFileUrl"].startswith("http://localhost/download_file/")
        assert file.content.decode() == translation
        disposition = f"attachment; filename*=UTF-8''{translated_name}"
        assert file.headers["Content-Disposition"] == disposition
        assert file.headers["Content-Type"].startswith("text/plain")


FRENCH = b'<xliff version="1.2"><file source-language="fr" target-language="en"/></xliff>'


WRONG = [
    ("a.txt", b"a\xff", 400, "is not UTF-8"),
    ("a.docx", zipped(nothing="here"), 400, ""),
    ("a.xlf", FRENCH, 400, "like this model"),
    ("a.txt", b"a" * 30_000, 413, "the request exceeds 11000 bytes"),
]


@in_a_loop
async def test_wrong_file_is_refused():
    for name, content, status, reason in WRONG:
        answer, _ = await send(name, content, max_file_bytes=1000)

        assert answer.status_code == status
        assert reason in answer.json()["error"]


@pytest.mark.parametrize(
    ("review_below", "mark", "review"),
    [
        (0.5, "#, fuzzy\n", "1 of 2 segments needs review: segment 2: confidence 0.15"),
        (0.1, "", None),
    ],
)
@in_a_loop
async def test_units_are_marked_for_review(review_below, mark, review):
    """The stand-in is not confident of questions; a choice within other text stays unchanged."""
    text = 'msgid "das ist {N}"\nmsgstr ""\n\nmsgid "ist es das?"\nmsgstr ""\n'
    left = 'msgid "ja {n, plural, other {#}}"\nmsgstr ""\n'
    answer, file = await send("a.po", (text + left).encode(), review_below=review_below)

    assert (answer.json()["left"], answer.json().get("review")) == (1, review)
    assert file.content.decode() == (
        'msgid "das ist {N}"\nmsgstr "DAS IST {N}"\n\n'
        f'{mark}msgid "ist es das?"\nmsgstr "IST ES DAS?"\n{left}'
    )
