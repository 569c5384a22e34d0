"""Paragraphs, HTML and files keep their form."""

import pytest

from nmt_core.server import worker_pool
from tests.support.formats import zipped
from tests.support.stand_in import client_of, in_a_loop, serve_stand_in

PAIR = {"source": "de", "target": "en"}


@pytest.fixture(scope="module", autouse=True)
def _workers():
    """Keep idle workers from test to test, since they start slowly."""
    idle, begin, stop = [], worker_pool._Worker, worker_pool.WorkerPool.stop

    def leave(pool):
        idle.extend(pool._idle)
        pool._idle.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "_Worker", lambda limits: idle.pop() if idle else begin(limits))
        patch.setattr(worker_pool.WorkerPool, "stop", leave)
        yield
    pool = worker_pool.WorkerPool(1, (0, 0))
    pool._idle = idle
    stop(pool)


async def translate(q, **fields):
    async with client_of(serve_stand_in()) as client:
        return (await client.post("/translate", json={"q": q, **PAIR, **fields})).json()


async def send(name, content, app=None, **fields):
    async with client_of(app or serve_stand_in()) as client:
        sent = {"file": (name, content)}
        answer = await client.post("/translate_file", files=sent, data=PAIR | fields)
        if answer.status_code != 200:
            return answer.status_code, answer.json()["error"]
        return answer, await client.get(answer.json()["translatedFileUrl"])


@in_a_loop
async def test_a_paragraph_is_translated_sentence_by_sentence():
    text = "  Das ist gut. Ist es das? Ja!\n\n- Eins.\n- Zwei drei.\n"
    answer = await translate(text, details=True)
    sentences = answer["details"]["sentences"]

    assert answer["translatedText"] == text.upper()
    assert [one["source"] for one in sentences] == [
        *("Das ist gut.", "Ist es das?", "Ja!"),
        *("Eins.", "Zwei drei."),
    ]
    for before, here, whole in (
        ("before", "text", answer["translatedText"]),
        ("source_before", "source", text),
    ):
        told = "".join(one[before] + one[here] for one in sentences)
        assert whole.startswith(told)
        assert whole[len(told) :].strip() == ""


@in_a_loop
async def test_alternatives_of_a_text_are_whole_texts():
    answer = await translate("Das ist gut. Ist es das?\n", alternatives=2)

    assert answer["alternatives"] == [
        "DAS IST GUT.! IST ES DAS?!\n",
        "DAS IST GUT.!! IST ES DAS?!!\n",
    ]


PARTS = ("Das", "Haus", "steht", "Ja")


@in_a_loop
async def test_html_keeps_its_tags():
    html = '<p class="x">{} <b>{}</b> {}.</p><script>var a = "b";</script><p>{} &amp; so.</p>'
    answer = await translate([html.format(*PARTS)], format="html", alternatives=1)

    expected = html.replace("so", "SO").format(*map(str.upper, PARTS))
    assert answer["translatedText"] == [expected]
    assert answer["alternatives"][0][0].count("<b>") == 1


@in_a_loop
async def test_the_language_of_html_is_that_of_its_text():
    text = f"<html><body>{'<div class=content>' * 50}Das ist ein Satz über die Häuser der Stadt."
    answer = await translate(text, format="html", source="auto")

    assert answer["detectedLanguage"]["language"] == "de"


@in_a_loop
async def test_html_in_another_language_stays():
    answer = await translate("<p lang=de>das <i lang=fr>une</i></p>", format="html")

    assert answer["translatedText"] == '<p lang="en">DAS <i lang=fr>une</i></p>'


@in_a_loop
async def test_a_long_sentence_keeps_its_end():
    words = [f"wort{number}" for number in range(600)]
    answer = await translate(" ".join(words))

    assert answer["translatedText"].split() == [word.upper() for word in words]


@pytest.mark.parametrize("source", ["de", "auto"])
@in_a_loop
async def test_a_file_is_translated(source):
    text = "Das ist ein Satz über die Häuser.\r\n\r\n\tUnd noch einer.\r\n"
    answer, found = await send("mein brief.txt", text.encode(), source=source)

    assert ["translatedFileUrl"] == list(answer.json())
    assert answer.json()["translatedFileUrl"].startswith("http://localhost/download_file/")
    assert found.content.decode() == text.upper()
    assert found.headers["Content-Disposition"] == (
        "attachment; filename*=UTF-8''mein%20brief.en.txt"
    )
    assert found.headers["Content-Type"].startswith("text/plain")


@in_a_loop
async def test_a_file_in_the_target_language_comes_back():
    _, found = await send("a.txt", b"This is a sentence about the houses.", source="auto")

    assert found.content == b"This is a sentence about the houses."


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"a\xff", "is not UTF-8"),
        ("a.docx", zipped(nothing="here"), ""),
        ("../../etc/passwd.txt", b"Ein Satz.", None),
        ("\x00\r\nX: y.txt", b"Ein Satz.", None),
    ],
)
@in_a_loop
async def test_what_is_no_document_is_told(name, content, reason):
    answer, found = await send(name, content)

    if reason is None:
        assert found.content == b"EIN SATZ."
        assert not set("/\\\r\n\0") & set(found.headers["Content-Disposition"].partition("''")[2])
    else:
        assert (400, True) == (answer, reason in found)


@in_a_loop
async def test_a_large_file_is_refused_with_the_limit():
    status, told = await send("a.txt", b"a" * 30_000, serve_stand_in(max_file_bytes=1000))

    assert (413, "a request may have 11000 bytes; send less at once") == (status, told)


@in_a_loop
async def test_units_say_what_a_person_must_look_at():
    """The stand-in is not confident of questions; a choice amid other text stays as it is."""
    text = 'msgid "das ist {N}"\nmsgstr ""\n\nmsgid "ist es das?"\nmsgstr ""\n'
    left = 'msgid "ja {n, plural, other {#}}"\nmsgstr ""\n'
    for settings, marks in (({}, "#, fuzzy\n"), ({"review_below": 0.1}, "")):
        answer, found = await send("a.po", (text + left).encode(), serve_stand_in(**settings))
        assert answer.json()["left"] == 1
        assert answer.json().get("review") == (
            (marks and "1 of 2 segments needs review: segment 2: confidence 0.15") or None
        )
        assert found.content.decode() == (
            'msgid "das ist {N}"\nmsgstr "DAS IST {N}"\n\n'
            f'{marks}msgid "ist es das?"\nmsgstr "IST ES DAS?"\n{left}'
        )


@in_a_loop
async def test_a_file_of_other_languages_is_refused():
    xliff = '<xliff version="1.2"><file source-language="fr" target-language="en"/></xliff>'
    status, told = await send("a.xlf", xliff.encode())

    assert (status, "as this model does" in told) == (400, True)
