import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.documents.declarations import recode
from nmt_core.documents.files import translate_data
from tests.support.echoes import Echo

META = '<meta charset="%s">'
OLD_META = '<META http-equiv=Content-Type content="text/html; charset=%s" >'
XHTML = "<?xml version='1.0' encoding='%s'?>"


def translate(data, kind="html", encoding=None, by=str.upper):
    return translate_data(data, kind, Echo(by).translator, encoding).data


@pytest.mark.parametrize("declaration", [META, OLD_META, XHTML])
@pytest.mark.parametrize(
    ("label", "codec"),
    [
        *(("iso-8859-1", "cp1252"), ("windows-1250", "cp1250"), ("Shift_JIS", "shift_jis")),
        *(("koi8-r", "koi8-r"), ("UTF-8", "utf-8")),
    ],
)
def test_pages_are_in_the_encoding_they_declare(declaration, label, codec):
    text = {"cp1252": "ä – €", "cp1250": "ąő", "shift_jis": "あ a"}.get(codec, "ж")
    page = f"<p>{declaration % label}\n<p>{text}</p>".removeprefix("<p>")

    assert translate(page.encode(codec)) == page.replace(text, text.upper()).encode(codec)


def test_signs_that_an_encoding_lacks_are_written_by_number():
    page = META % "iso-8859-1" + '<p title="a">b</p>'

    written = translate(page.encode(), by=lambda _: "☃ é").decode("cp1252")

    assert written == META % "iso-8859-1" + '<p title="&#9731; é">&#9731; é</p>'


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_page_declares_what_it_is_in(codec):
    page = OLD_META % "iso-8859-1" + "<p>ä</p>"

    written = translate(page.encode(codec)).decode(codec)

    assert written == OLD_META % codec.removesuffix("-sig") + "<p>Ä</p>"


@pytest.mark.parametrize("kind", ["text", "markdown", "subtitles", "html"])
def test_an_encoding_may_be_named(kind):
    text = "1\n00:00:01,000 --> 00:00:02,000\nä –\n" if kind == "subtitles" else "ä –\n"

    written = translate(text.encode("cp1252"), kind, "Windows-1252")

    assert written == b"\xef\xbb\xbf" + text.replace("ä", "Ä").encode()


def test_text_with_a_mark_of_utf16_is_read():
    for codec in ("utf-16-le", "utf-16-be"):
        assert translate("\ufeffä\r\n".encode(codec), "text") == "\ufeffÄ\r\n".encode(codec)


@pytest.mark.parametrize(
    ("kind", "data", "encoding", "told"),
    [
        ("subtitles", b"\xe4", None, "not UTF-8 .* --encoding windows-1252"),
        ("html", b"<meta charset=cp1252>\x81", None, "not in cp1252"),
        ("html", b"<meta charset=x-old>\xe4", None, "'x-old' is not an encoding of text"),
        ("text", b"a", "rot13", "'rot13' is not an encoding of text"),
        ("text", b"a", "punycode", "'punycode' is not an encoding of text"),
        ("xliff", b"<xliff/>", "cp1252", "--encoding is not for xliff"),
        ("text", b"\xe4", "ascii", "not in ascii"),
    ],
)
def test_what_cannot_be_read_is_told(kind, data, encoding, told):
    with pytest.raises(DocumentError, match=told):
        translate(data, kind, encoding)


def test_a_file_is_recoded_with_one_mark():
    assert recode("\ufeffä".encode("utf-16-le"), "utf-16-le") == "\ufeffä".encode()
