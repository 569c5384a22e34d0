"""Files of all formats: their encodings, names, errors and damaged documents."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents import formats as module
from nmt_core.documents.document import name_translation, recode
from nmt_core.documents.formats import (
    FORMATS,
    find_format,
    list_suffixes,
    translate_data,
    translate_file,
)
from tests.support.echoes import Echo
from tests.support.formats import zipped

SHOUT = Echo(str.upper).translator
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
def test_declared_encoding_is_kept(declaration, label, codec):
    text = {"cp1252": "ä – €", "cp1250": "ąő", "shift_jis": "あ a"}.get(codec, "ж")
    page = f"<p>{declaration % label}\n<p>{text}</p>".removeprefix("<p>")

    assert translate(page.encode(codec)) == page.replace(text, text.upper()).encode(codec)


def test_missing_characters_are_written_by_number():
    page = META % "iso-8859-1" + '<p title="a">b</p>'

    written = translate(page.encode(), by=lambda _: "☃ é").decode("cp1252")

    assert written == META % "iso-8859-1" + '<p title="&#9731; é">&#9731; é</p>'


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("text", ["ä", "a"])
def test_wrong_declaration_is_corrected(codec, text):
    page = (OLD_META % "iso-8859-1" + f"<p>{text}</p>").encode(codec)
    is_right = (codec, text) == ("utf-8", "a")  # ASCII has the same bytes in both encodings
    name = "iso-8859-1" if is_right else codec.removesuffix("-sig")

    written = translate(page)

    assert written.decode(codec) == OLD_META % name + f"<p>{text.upper()}</p>"
    assert written[:2] == page[:2]  # the byte order mark


@pytest.mark.parametrize("kind", ["text", "markdown", "subtitles", "html"])
def test_user_may_name_the_encoding(kind):
    text = "1\n00:00:01,000 --> 00:00:02,000\nä –\n" if kind == "subtitles" else "ä –\n"

    written = translate(text.encode("cp1252"), kind, "Windows-1252")

    assert written == b"\xef\xbb\xbf" + text.replace("ä", "Ä").encode()


@pytest.mark.parametrize(
    ("kind", "before", "after", "codec"),
    [
        ("text", "Ä b\r\n", "Ä B\r\n", "utf-8"),
        ("text", "ä\r\n", "Ä\r\n", "utf-16-le"),
        ("text", "ä\r\n", "Ä\r\n", "utf-16-be"),
        ("markdown", "---\nkey: a\n---\nb", "---\nkey: a\n---\nB", "utf-8"),
        ("json", '{"key": "a"}', '{"key": "A"}', "utf-8"),
    ],
)
def test_byte_order_mark_stays_and_is_not_text(kind, before, after, codec):
    assert translate(f"\ufeff{before}".encode(codec), kind).decode(codec) == f"\ufeff{after}"
    assert recode("\ufeffä".encode("utf-16-le"), "utf-16-le") == "\ufeffä".encode()


@pytest.mark.parametrize(
    ("kind", "data", "encoding", "message"),
    [
        *((kind, b"ab\xff", None, "byte 3 is 0xff") for kind in ("text", "html", "markdown")),
        ("subtitles", b"\xe4", None, "--encoding windows-1252"),
        ("html", b"<meta charset=cp1252>\x81", None, "not in cp1252"),
        ("html", b"<meta charset=x-old>\xe4", None, "'x-old' is not an encoding"),
        ("text", b"a", "rot13", "'rot13' is not an encoding"),
        ("text", b"a", "punycode", "'punycode' is not an encoding"),
        ("xliff", b"<xliff/>", "cp1252", "xliff declares its encoding"),
        ("text", b"\xe4", "ascii", "not in ascii"),
    ],
)
def test_wrong_encoding_is_refused(kind, data, encoding, message):
    with pytest.raises(DocumentError, match=message):
        translate(data, kind, encoding)


CHOICE = "{n, plural, one {a file} other {files}}"
PO = f'#, fuzzy\nmsgid "x {CHOICE}"\nmsgid_plural "a {CHOICE}"\nmsgstr[0] ""\n\n'
PO += f'msgid "b {CHOICE}"\nmsgstr "done"\n\nmsgid "x"\nmsgid_plural "b {CHOICE}"\nmsgstr[0] ""\n'


@pytest.mark.parametrize(
    ("kind", "data", "count"),
    [
        ("json", f'{{"a": "{CHOICE}", "b": "a {CHOICE}", "@b": {{"c": "{CHOICE}"}}}}', 2),
        ("po", PO, 3),
        ("json", '["a {n}", "b"]', 1),
        ("text", f"a {CHOICE}", 0),
    ],
)
def test_untranslated_texts_are_counted(kind, data, count):
    assert translate_data(data.encode(), kind, SHOUT).untranslated.total() == count


def test_size_is_limited(monkeypatch):
    monkeypatch.setattr(module, "MAX_DOCUMENT_BYTES", 3)

    assert translate(b"abc", "text") == b"ABC"
    with pytest.raises(DocumentError, match="has 4 bytes, more than 3"):
        translate(b"abcd", "text")


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RUN = "<w:r><w:rPr><w:b/></w:rPr><w:t>Hi</w:t><w:tab/></w:r>"
FIELD = "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r>"
PAGE = '<html lang="en"><p title="a">One <b>two</b> &amp; <i translate=no>x</i></p><script>'
UNIT = '<trans-unit><source>a <g id="1">b</g> &lt;i>c&lt;/i></source><target/></trans-unit>'
FILE = f'<file source-language="en"><body>{UNIT}</body></file>'
SAMPLES = {
    "text": b"One.\n- two | three\n",
    "html": PAGE.encode(),
    "markdown": b'# a *b*\n\n> [c](d "e") `f`\n\n| g |\n|---|\n| ![h](i) |\n\n!!! note\n    j\n',
    "subtitles": b"1\n00:00:01,000 --> 00:00:02,000\n- <i>Hello</i>\nyou {\\an8}\n",
    "po": b'#, fuzzy, c-format\nmsgid "%d a"\nmsgid_plural "b"\nmsgstr[0] "x\\n"\nmsgstr[1] ""\n',
    "xliff": f'<?xml version="1.0"?><xliff version="1.2">{FILE}</xliff>'.encode(),
    "json": b'{"@@locale": "en", "a": ["b {{n}}", {"c": "<b>d</b> \\u00e9 {n, plural, one {b}}"}]}',
    "docx": {"word/document.xml": f"<w:body {W}><w:p>{RUN}{FIELD}{RUN}</w:p></w:body>"},
    "xlsx": {"xl/workbook.xml": "<w/>", "xl/sharedStrings.xml": "<sst><si><t>a</t></si></sst>"},
    "pptx": {
        "ppt/presentation.xml": "<p/>",
        "ppt/slides/slide1.xml": "<s xmlns:a='a'><a:p><a:r><a:t>Hi</a:t></a:r></a:p></s>",
    },
    "odt": {"content.xml": "<d xmlns:text='t'><text:p>a<text:span>b</text:span></text:p></d>"},
    "epub": {"META-INF/container.xml": "<c/>", "a.xhtml": "<p>a<br/>b</p>", "a.opf": "<p><t/></p>"},
}


@pytest.mark.parametrize("kind", [*FORMATS])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_damaged_document_is_translated_or_refused(kind, seed):
    draw = random.Random(seed)
    signs = [b"<", b"&x;", b"]]>", b"<!--", b"{", b"}", b"\0", b'"', b"\xff", b"<p>", b"\n\n", b"`"]

    def damage(data):
        data = bytearray(data)
        for _ in range(draw.randint(0, 3)):
            at = draw.randint(0, len(data))
            data[at : at + draw.choice((0, 0, 1, 20))] = draw.choice(signs)
        return bytes(data)

    sample = SAMPLES[kind]
    if isinstance(sample, dict):
        files = {name: damage(text.encode()) for name, text in sample.items()}
        data = zipped(**files) if draw.random() < 0.7 else damage(zipped(**sample))
    else:
        data = damage(sample)
    message = "none"
    try:
        translate_data(data, kind, Echo(lambda line: line[::-1]).translator)
    except DocumentError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


def test_format_is_found_by_name():
    assert find_format("Letter.HTM") == "html"
    assert {find_format(f"x{suffix}") for suffix in list_suffixes()} == {*FORMATS}
    with pytest.raises(DocumentError, match=r"letter.pdf .* \.txt, .*, \.docx$"):
        find_format("letter.pdf")


def test_file_is_translated_to_another(tmp_path):
    source = tmp_path / "my.letter.md"
    source.write_text("# One *two*\n")
    out = name_translation(source, "en")

    assert translate_file(source, out, SHOUT)[:2] == (out, b"# ONE *TWO*\n")
    assert (out.name, out.read_text()) == ("my.letter.en.md", "# ONE *TWO*\n")
    assert source.read_text() == "# One *two*\n"


@pytest.mark.parametrize(
    ("name", "content", "out", "message"),
    [
        ("a.txt", b"b", "a.txt", "already exists"),
        ("a.txt", b"\xff", "b.txt", r"a\.txt: .* is not UTF-8"),
        *(("a.txt", b"b", out, "cannot be written") for out in ("no/b.txt", "a.txt/b", "no/c/d")),
        ("c.txt", b"b", "b.txt", "c.txt is not a file"),
    ],
)
def test_refused_file_leaves_nothing(tmp_path, monkeypatch, name, content, out, message):
    echo = Echo(str.upper)
    (tmp_path / "a.txt").write_bytes(content)
    (tmp_path / "no").mkdir()
    monkeypatch.setattr("os.access", lambda folder, _: Path(folder).name != "no")

    with pytest.raises(DocumentError, match=message):
        translate_file(tmp_path / name, tmp_path / out, echo.translator)
    assert echo.calls == []
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "no"]
    assert (tmp_path / "a.txt").read_bytes() == content


def test_force_overwrites(tmp_path):
    (tmp_path / "a.txt").write_text("b")
    translate_file(tmp_path / "a.txt", tmp_path / "a.txt", SHOUT, force=True)

    assert (tmp_path / "a.txt").read_text() == "B"
