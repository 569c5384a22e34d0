"""Word documents; the tests write their XML as Word does."""

import re
import tracemalloc
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents import archive as module
from nmt_core.documents.document import Reason
from nmt_core.documents.docx import read_word_document
from tests.support.echoes import answer, keep, shout, show_passages
from tests.support.formats import unzipped, zipped

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DECLARED = f'xmlns:w="{W}" xmlns:wp="wp"'


def run(text, look=""):
    properties = f"<w:rPr><w:{look}/></w:rPr>" if look else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def make_control(content, kind="text"):
    properties = f"<w:sdtPr><w:{kind}/></w:sdtPr>"
    return f"<w:sdt>{properties}<w:sdtContent>{content}</w:sdtContent></w:sdt>"


def make_document(*contents):
    paragraphs = "".join(f"<w:p><w:pPr/>{content}</w:p>" for content in contents)
    return zipped(**{"word/document.xml": f"<w:body {DECLARED}>{paragraphs}</w:body>"})


TAB = "<w:r><w:tab/></w:r>"
PICTURE = '<w:r><w:drawing><wp:docPr id="1" descr="{}"/></w:drawing></w:r>'


@pytest.mark.parametrize(
    "content",
    [
        run("Hello ") + run("bold", "b") + run(" and ") + run("italic words", "i") + run(" here."),
        run("Second one.") + TAB + run("A cell"),
        run("See ") + f'<w:hyperlink r="x">{run("this page")}</w:hyperlink>' + run(" for more."),
        run("Note: ", "b") + run("go."),
        f"<w:tbl><w:tr><w:tc><w:p>{run('Cell one')}</w:p></w:tc></w:tr></w:tbl>",
        run("- 1 -"),
    ],
)
def test_text_is_translated_in_place(content):
    written = unzipped(shout(read_word_document(make_document(content))))["word/document.xml"]

    shouted = re.sub(">[^<]+<", lambda text: text[0].upper(), content)
    assert f"<w:pPr/>{shouted}</w:p>" in written.decode()


def test_headers_and_descriptions_are_translated():
    parts = {name: f"<w:{name} {DECLARED}><w:p>{{}}</w:p></w:{name}>" for name in ("hdr", "ftr")}
    picture = f"<w:p>{PICTURE.format('two men &amp; a dog')}</w:p>"
    files = {
        "word/media/a.png": "<w:p>kept</w:p>",
        "word/styles.xml": f"<w:styles {DECLARED}><w:p>{run('kept')}</w:p></w:styles>",
        "word/document.xml": f"<w:body {DECLARED}>{picture}</w:body>",
        "word/header1.xml": parts["hdr"].format(run("The header")),
        "word/footer2.xml": parts["ftr"].format(run("The footer")),
    }
    data = zipped(**files)
    expected = [text.encode() for text in files.values()]
    for old, new in (("two men &amp; a dog", "TWO MEN &amp; A DOG"), ("The header", "THE HEADER")):
        expected = [text.replace(old.encode(), new.encode()) for text in expected]
    expected[-1] = expected[-1].replace(b"The footer", b"THE FOOTER")

    written = shout(read_word_document(data))

    assert [*unzipped(written).items()] == [*zip(files, expected, strict=True)]
    assert keep(read_word_document(data)) == data


parts = st.sampled_from(
    [
        "<w:r><w:t>One two. </w:t></w:r>",
        "<w:r><w:rPr><w:b/></w:rPr><w:t xml:space='preserve'>three </w:t></w:r>",
        "<w:r><w:rPr><w:i/></w:rPr><w:t>four</w:t><w:tab/><w:t>five</w:t><w:br/></w:r>",
        "<w:r><w:t>12</w:t><w:footnoteReference w:id='2'/></w:r>",
        "<w:hyperlink w:anchor='x'><w:r><w:t>six seven</w:t></w:r></w:hyperlink>",
        "<w:ins w:id='1'><w:r><w:t>eight</w:t></w:r></w:ins>",
        "<w:del w:id='2'><w:r><w:delText>gone</w:delText></w:r></w:del>",
        "<w:bookmarkStart w:id='3' w:name='m'/>",
        "<w:bookmarkEnd w:id='3'/>",
        "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText>PAGE</w:instrText></w:r>",
        "<w:r><w:fldChar w:fldCharType='separate'/></w:r>",
        "<w:r><w:fldChar w:fldCharType='end'/></w:r>",
        "<w:fldSimple w:instr='DATE'><w:r><w:t>nine</w:t></w:r></w:fldSimple>",
        make_control("<w:r><w:t>ten</w:t></w:r>"),
        make_control("<w:r><w:t>x</w:t></w:r><w:bookmarkStart/>" + make_control("<w:r/>")),
        make_control("<w:r><w:t>one of</w:t></w:r>", "dropDownList"),
        "<w:r><w:noBreakHyphen/><w:softHyphen/><w:t>el</w:t></w:r>",
        "<w:r><w:pict><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:pict></w:r>",
    ]
)
KEPT = (
    "hyperlink ins del bookmarkStart bookmarkEnd fldChar instrText fldSimple sdt sdtPr sdtContent "
    "softHyphen footnoteReference tab br pict delText pPr"
)


def parse(data):
    return ET.fromstring(unzipped(data)["word/document.xml"])


def qn(name):
    return name.replace("w:", f"{{{W}}}")


def list_elements(data):
    root = parse(data)
    fields = [[each.get(qn("w:fldCharType")) for each in p.iter(qn("w:fldChar"))] for p in root]
    return fields, {
        name: sorted(str(dict(each.attrib)) for each in root.iter(qn(f"w:{name}")))
        for name in KEPT.split()
    }


def text_of(data):
    return "".join(each.text or "" for each in parse(data).iter(qn("w:t")))


@given(st.lists(st.lists(parts, max_size=6).map("".join), max_size=3), st.text(max_size=12))
def test_nothing_but_text_is_lost_or_invented(contents, answered):
    data = make_document(*contents)

    assert list_elements(answer(read_word_document(data), answered)) == list_elements(data)
    assert unzipped(keep(read_word_document(data))) == unzipped(data)


@given(st.lists(parts.filter(lambda part: "fld" not in part), max_size=6).map("".join))
def test_words_stay_where_they_were(content):
    data = make_document(content)
    written = text_of(shout(read_word_document(data))).replace("\N{NON-BREAKING HYPHEN}", "")

    assert written in {text_of(data).upper(), text_of(data)}


BEGIN, SEPARATE, END = (
    f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>" for kind in ("begin", "separate", "end")
)
LINK, SEQUENCE, CITATION, CONTENTS = (
    f"{BEGIN}<w:r><w:instrText> {code} x</w:instrText></w:r>"
    for code in ("Hyperlink", "SEQ", "CITATION", "TOC")
)
WORD = run("a ")


@pytest.mark.parametrize(
    ("content", "passages"),
    [
        ([WORD, LINK, SEPARATE, WORD, END, WORD], ["a <a >a "]),
        ([WORD, SEQUENCE, SEPARATE, WORD, END, WORD], ["a ", "a "]),
        ([LINK, SEPARATE, WORD, CITATION, SEPARATE, WORD, END, WORD, END], ["<a *a >"]),
        ([CITATION, SEPARATE, WORD, LINK, SEPARATE, WORD, END, WORD, END, WORD], ["*a "]),
        ([WORD, "<w:fldSimple w:instr=' REF x'>", WORD, "</w:fldSimple>", WORD], ["a *a "]),
        ([WORD, "<w:fldSimple w:instr=' FORMTEXT'>", WORD, "</w:fldSimple>"], ["a <a >"]),
        ([WORD, "<w:ins>", CITATION, "</w:ins>", SEPARATE, WORD, END, WORD], ["a ", "a "]),
        ([WORD, CITATION, SEPARATE, WORD, "</w:p><w:p>", WORD, END, WORD], ["a ", "a "]),
        ([CONTENTS, SEPARATE, WORD, "</w:p><w:p>", WORD, "</w:p><w:p>", END], ["a ", "a "]),
        ([WORD, BEGIN, END, WORD], ["a *a "]),
        ([WORD, LINK, SEQUENCE, SEPARATE, WORD, END, SEPARATE, WORD, END, WORD], ["a <a >a "]),
        ([WORD, BEGIN, WORD], ["a "]),
        ([WORD, END, WORD], ["a ", "a "]),
        ([WORD, make_control(WORD), WORD], ["a ", "a *a "]),
        ([WORD, make_control(make_control(WORD) + WORD), WORD], ["*a ", "a ", "a *a "]),
        ([WORD, f"<w:hyperlink>{make_control(WORD)}</w:hyperlink>", WORD], ["a ", "a <*>a "]),
        ([WORD, make_control(""), WORD], ["a *a "]),
        ([make_control(f"<w:p>{WORD}</w:p>")], ["*", "a "]),
        ([WORD, f"<w:smartTag><w:smartTagPr/>{WORD}</w:smartTag>"], ["a <a >"]),
    ],
)
def test_passages_of_fields_and_controls(content, passages):
    """Results that Word computes are empty tags; so are controls, whose text is a passage alone."""
    document = read_word_document(make_document("".join(content)))
    assert sorted(show_passages(document)) == sorted(passages)


TEXT = {"word/document.xml": f"<w:body {DECLARED}/>"}


TEXT_BYTES = len(TEXT["word/document.xml"])


@pytest.mark.parametrize(
    ("name", "size", "unit"),
    [
        ("MAX_BYTES", TEXT_BYTES + 900, "bytes"),
        ("MAX_FILES", 2, "files"),
        ("MAX_TEXT_BYTES", TEXT_BYTES, "bytes of text"),
    ],
)
def test_unpacked_size_is_limited(monkeypatch, name, size, unit):
    data = zipped(**TEXT, picture=bytes(900))
    monkeypatch.setattr(module, name, size)
    read_word_document(data)

    monkeypatch.setattr(module, name, size - 1)
    with pytest.raises(DocumentError, match=f"unpacks to {size:,} {unit}, more than {size - 1:,};"):
        read_word_document(data)


def test_translation_is_escaped():
    written = answer(read_word_document(make_document(run("a"))), "a\0b\x0b\ufffe&<")

    assert text_of(written) == "ab &<"


def test_files_without_text_are_streamed():
    large = zipped(**TEXT, a=bytes(20_000_000))
    tracemalloc.start()
    data = read_word_document(large).write([])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 5_000_000
    assert unzipped(data)["a"] == bytes(20_000_000)


MARKED = "<w:r><w:rPr><w:b/><w:lang {}/></w:rPr><w:t xml:space='preserve'>{}</w:t></w:r>"


@pytest.mark.parametrize(
    ("language", "texts", "passages", "count"),
    [
        ("w:val='fr-FR'", ["b ", "c "], ["a *a "], 1),
        ("w:val='fr-FR'", ["b", " - ", "c", " "], ["a *< >a "], 1),
        ("w:val='fr-FR'", ["1 "], ["a <1 >a "], 0),
        ("w:val='de-AT'", ["b ", "c "], ["a <b c >a "], 0),
        ("w:val='x-none'", ["b "], ["a <b >a "], 0),
        ("w:val='de' w:eastAsia='ja' w:bidi='he'", ["b "], ["a <b >a "], 0),
        ("w:val='de' w:eastAsia='ja' w:bidi='he'", ["\u6f22"], ["a *a "], 1),
        ("w:val='de' w:eastAsia='ja' w:bidi='he'", ["\u05d0"], ["a *a "], 1),
        ("w:val='fr'", ["b" * 38], ["a *a "], 1),
        ("w:val='fr'", ["b" * 39], [f"<a >{'b' * 39}<a >"], 0),  # nearly all: mistaken
    ],
)
def test_other_language_stays(language, texts, passages, count):
    marked = "<w:r/>".join([MARKED.format(language, text) for text in texts])
    data = make_document(WORD + marked + WORD)

    document = read_word_document(data, ("de", "en"))

    assert show_passages(document) == passages
    assert document.untranslated == ({Reason.LANGUAGE: count} if count else {})
    written = unzipped(shout(document))["word/document.xml"]
    assert (language.encode() in written) == bool(count)


def test_other_language_of_text_box_stays():
    other = MARKED.format("w:val='fr'", "b")
    box = f"<w:r><w:pict><w:p>{other}</w:p></w:pict></w:r>"
    data = make_document(WORD + box, other)

    document = read_word_document(data, ("de", "en"))

    assert document.untranslated == {Reason.LANGUAGE: 2}
    assert text_of(shout(document)) == "A bb"
