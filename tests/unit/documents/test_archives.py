"""Documents that are archives of XML: workbooks, presentations, OpenDocument texts, books."""

import io
import random
import re
import zipfile
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.ooxml import read_presentation, read_workbook
from nmt_core.documents.open_formats import read_book, read_open_document
from tests.support.echoes import Echo, garble, keep, shout, show_passages
from tests.support.formats import unzipped, zipped

A = ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
OFFICE = ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:draw="urn:draw"'
OFFICE += ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:svg="svg"'


def unpack(data):
    return {name: content.decode() for name, content in unzipped(data).items()}


def slide(text):
    slide = f'<p:sld xmlns:p="p"{A}>{text}</p:sld>'
    return zipped(**{"ppt/presentation.xml": "<p/>", "ppt/slides/slide1.xml": slide})


def workbook(text, **others):
    return zipped(
        **{"xl/workbook.xml": "<w/>", "xl/sharedStrings.xml": f"<sst>{text}</sst>"}, **others
    )


def letter(text):
    return zipped(
        mimetype="application/vnd.oasis.opendocument.text",
        **{"content.xml": f"<office:c{OFFICE}>{text}</office:c>", "styles.xml": "<s/>"},
    )


def book(text, **others):
    container = {"META-INF/container.xml": "<container/>"}
    page = {"OEBPS/a.xhtml": f"<html><body>{text}</body></html>"}
    return zipped(mimetype="application/epub+zip", **container, **page, **others)


CELLS = (
    "<r><t>Hello </t></r>|<r><rPr><b/></rPr><t>you &amp; me</t></r>|<rPh><t>x</t></rPh>|"
    '<r><rPr><i/></rPr><t xml:space="preserve"> now</t></r>|<r><t>two\nlines\n</t></r>|'
    "<r><t>a&#10;b</t></r>|<r><t>\n \ntwo\nLines\n </t></r>|<r>\n <rPr/> <t>as\nis</t>\n</r>|"
    "<r><rPr/></r>"
)
SLIDES = (
    '<a:r><a:rPr lang="en"/><a:t>Hello </a:t></a:r>|<a:br/>|<!-- c -->|<a:r><a:t> now</a:t></a:r>|'
    '<a:r><a:rPr lang="en" b="1"/><a:t>you &amp; me</a:t></a:r>|'
    '<a:fld id="1"><a:rPr/><a:t>7</a:t></a:fld>'
)
LETTER = (
    'Hello |<text:span text:style-name="a">you &amp; me</text:span>| now|<text:s/>|<text:tab/>|'
    "<text:a><text:span>so</text:span> it</text:a>|"
    "<text:note><text:note-body><text:p>A note</text:p></text:note-body></text:note>|"
    "<office:annotation><text:p>Kept</text:p></office:annotation>"
)
PAGE = 'Hello |<b>you &amp; me</b>| now|<br/>|<img src="a"/>|<i>so <u>it</u></i>'
KINDS = {
    "xlsx": (read_workbook, workbook, "xl/sharedStrings.xml", "<si>{}</si>", CELLS),
    "pptx": (
        *(read_presentation, slide, "ppt/slides/slide1.xml"),
        *("<a:p><a:pPr/>{}<a:endParaRPr/></a:p>", SLIDES),
    ),
    "odt": (read_open_document, letter, "content.xml", "<text:p>{}</text:p>", LETTER),
    "epub": (lambda data: read_book(data, None), book, "OEBPS/a.xhtml", "<p>{}</p>", PAGE),
}
"""Reader, maker, text file, and paragraphs with possible contents, by format."""

all_kinds = pytest.mark.parametrize("kind", KINDS)


def compose(kind, seed):
    draw = random.Random(seed)
    _, make, _, paragraph, bits = KINDS[kind]
    texts = [
        "".join(draw.choices(bits.split("|"), k=draw.randint(0, 6)))
        for _ in range(draw.randint(0, 3))
    ]
    return make("\n".join(paragraph.format(text) for text in texts))


def list_members(data):
    """Return what an archive says about its files, such as date and compression."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [
            (file.filename, file.date_time, file.compress_type, file.external_attr, file.comment)
            for file in archive.infolist()
        ]


@all_kinds
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_unchanged_document_stays_byte_for_byte(kind, seed):
    data = compose(kind, seed)

    written = keep(KINDS[kind][0](data))

    assert unpack(written) == unpack(data)
    assert list_members(written) == list_members(data)
    assert next(iter(unpack(written))) == "mimetype" or kind not in {"odt", "epub"}


@all_kinds
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), garbled=st.integers(0, 9))
def test_structure_stays(kind, seed, garbled):
    data = compose(kind, seed)
    read, _, name, *_ = KINDS[kind]
    before, after = (
        ET.fromstring(unpack(each)[name]) for each in (data, garble(read(data), garbled))
    )
    if kind in {"odt", "epub"}:
        assert sorted(e.tag for e in after.iter()) == sorted(e.tag for e in before.iter())
        return
    names = {"xlsx": "si", "pptx": "p"}[kind]
    paragraphs = (root.iterfind(f".//{{*}}{names}") for root in (before, after))
    for old, new in zip(*paragraphs, strict=True):
        assert list_others(new) == list_others(old)
        for run in new.iterfind("{*}r"):
            assert {name_of(each) for each in run} <= {"rPr", "t"}
            assert not (run.text or "").strip()


def name_of(element):
    return element.tag.rpartition("}")[2]


def list_others(element):
    """Return the names of elements beside runs; text in them would be an error."""
    assert not (element.text or "").strip()
    assert not any((each.tail or "").strip() for each in element)
    return sorted(name for each in element if (name := name_of(each)) not in {"r", "t"})


def test_texts_of_cells_alone_are_translated():
    strings = "".join(f"<si><t>{text}</t></si>" for text in ("name", "a pear", "=x"))
    sheet = '<sheetData><c t="s"><v>0</v></c><c><f>B2+A1</f></c><c><v>3</v></c>{}</sheetData>'
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    table = {"xl/tables/table1.xml": '<table><tableColumn id="1" name="name"/></table>'}
    sheets = {"xl/worksheets/sheet1.xml": sheet.format(cell.format("an apple"))}

    written = unpack(shout(read_workbook(workbook(strings, **table, **sheets))))

    shouted = strings.replace("a pear", "A PEAR").replace("=x", "=X")
    assert written["xl/sharedStrings.xml"] == re.sub(
        "<t>(?!name)", '<t xml:space="preserve">', f"<sst>{shouted}</sst>"
    )
    assert written["xl/worksheets/sheet1.xml"] == sheet.format(
        cell.format("AN APPLE").replace("<t>", '<t xml:space="preserve">')
    )


def test_each_line_of_a_cell_is_translated_alone():
    text = "One thing\nAnother_x000D_\nunit\n"
    echo = Echo(str.upper)

    data = echo.translate(read_workbook(workbook(f"<si><t>{text}</t></si>")))

    assert echo.calls[0][0] == ["One thing", "Another", "unit"]
    assert "ONE THING&#10;ANOTHER&#10;UNIT&#10;<" in unpack(data)["xl/sharedStrings.xml"]


SOME = (
    '<r><t>some </t></r><r><rPr><b/></rPr><t xml:space="preserve">bold</t></r><r><t> text</t></r>'
)
RUNS = '<a:r><a:rPr lang="en" dirty="0"/><a:t>Hel</a:t></a:r><a:r><a:t>lo </a:t></a:r>'
BOLD = '<a:r><a:rPr lang="en" b="1"/><a:t>you</a:t></a:r>'
SHOUTED = '<a:r><a:rPr b="1"/><a:t>YOU</a:t></a:r>'
NOTE = "<text:note><text:note-body><text:p>{}</text:p></text:note-body></text:note>"
DELETED = "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"


@pytest.mark.parametrize(
    ("kind", "text", "passages", "written"),
    [
        (*("xlsx", f"<si>{SOME}</si>", ["some <bold> text"]),
         '<r><rPr><b/></rPr><t xml:space="preserve">BOLD</t></r>'),
        (*("pptx", f"<a:p>{RUNS}{BOLD}</a:p>", ["Hello <you>"]),
         f"<a:p><a:r><a:t>HELLO </a:t></a:r>{SHOUTED}</a:p>"),
        (*("odt", f"{DELETED}<text:h>one{NOTE.format('a b')} two</text:h>", ["one* two", "a b"]),
         f"{DELETED}<text:h>ONE{NOTE.format('A B')} TWO</text:h>"),
        (*("pptx", '<p:cNvPr descr="b &lt; c" title=\'d "e"\'/>', ["b < c", 'd "e"']),
         "<p:cNvPr descr=\"B &lt; C\" title='D &quot;E&quot;'/>"),
        (*("odt", "<text:p>a <draw:f><svg:desc>b</svg:desc></draw:f>c</text:p>", ["a *c", "b"]),
         "<svg:desc>B</svg:desc>"),
        ("odt", "<text:p>a<text:tab/>b</text:p>", ["a", "b"], "A<text:tab/>B"),
    ],
)  # fmt: skip
def test_runs_notes_and_descriptions(kind, text, passages, written):
    read, make, name, *_ = KINDS[kind]

    assert show_passages(read(make(text))) == passages
    assert written in unpack(shout(read(make(text))))[name]


@pytest.mark.parametrize(
    ("content", "passages"),
    [
        ("a {b-}b c{-b} d", ["a <b c> d"]),
        ("a {b-}b {c-}c{-b} d{-c} e", ["a ", "b ", "c", " d", " e"]),
        ("a {b-}b<text:line-break/>c{-b} d", ["a ", "b", "c", " d"]),
    ],
)
@pytest.mark.parametrize("kind", ["bookmark name", "change change-id", "toc-mark id"])
def test_nested_range_is_a_pair(content, passages, kind):
    element, name = kind.split()
    text = re.sub(r"{(\w)-}", rf'<text:{element}-start text:{name}="\1"/>', content)
    text = re.sub(r"{-(\w)}", rf'<text:{element}-end text:{name}="\1"/>', text)

    assert show_passages(read_open_document(letter(f"<text:p>{text}</text:p>"))) == passages


def test_depth_of_notes_is_limited():
    data = letter("<text:p>a<text:note>" * 100 + "</text:note></text:p>" * 100)

    assert show_passages(read_open_document(data)) == ["a*"] * 11
    assert unpack(shout(read_open_document(data)))["content.xml"].count("A") == 11


CONTENTS = '<!DOCTYPE ncx PUBLIC "x" "y"><ncx><navLabel><{}>two</{}></navLabel></ncx>'
PACKAGE = '<package xmlns:dc="d"><dc:{}>{}</dc:{}><dc:language>{}</dc:language></package>'


@pytest.mark.parametrize(
    ("source", "translated"),
    [
        ("one &lt;b&gt;two&lt;/b&gt;", "ONE &lt;b&gt;TWO&lt;/b&gt;"),
        ("<![CDATA[<p>one</p>]]>", "<![CDATA[<p>ONE</p>]]>"),
        ("&#49;", "&#49;"),
    ],
)
@pytest.mark.parametrize("name", ["title", "description"])
def test_package_of_book_is_translated(name, source, translated):
    package = PACKAGE.format(name, source, name, "en")

    written = unpack(shout(read_book(book("", **{"a.opf": package}), ("en", "de"))))

    assert written["a.opf"] == PACKAGE.format(name, translated, name, "de")


def test_book_names_its_new_language():
    contents, author = CONTENTS.format("text", "text"), CONTENTS.format("docAuthor", "docAuthor")
    package = PACKAGE.format("title", "one", "title", "en-GB")
    files = {"a.opf": package, "a.ncx": contents, "b.ncx": author}
    files["a.xhtml"] = '<html xml:lang="en"><p title="three">four&#160;five<br/></p></html>'

    written = unpack(shout(read_book(book("", **files), ("en", "de"))))

    assert written["a.opf"] == package.replace("one", "ONE").replace("en-GB", "de")
    assert written["a.ncx"] == contents.replace("two", "TWO")
    assert written["b.ncx"] == author
    assert written["a.xhtml"] == (
        '<html xml:lang="de"><p title="THREE">FOUR\N{NO-BREAK SPACE}FIVE<br/></p></html>'
    ).replace("\N{NO-BREAK SPACE}", " ")


BOMB = '<!DOCTYPE a [<!ENTITY a "b">]><a>&a;</a>'
ENCRYPTED = {"META-INF/encryption.xml": '<CipherReference URI="a.xhtml"/>'}
WORD = {"word/document.xml": '<w:body xmlns:w="w"/>'}
DAMAGED = zipped(**WORD)[:60] + bytes(20) + zipped(**WORD)[80:]


def compress(method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("xl/workbook.xml", "<w/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("xlsx", b"no archive", r"not a \.xlsx document"),
        ("docx", b"", r"not a \.docx document"),
        ("docx", b"PK\x03\x04 and no more", r"not a \.docx document"),
        ("docx", DAMAGED, r"not a \.docx document"),
        ("docx", zipped(a="b"), "contains no Word document"),
        ("pptx", zipped(a="b"), "contains no presentation"),
        ("odt", zipped(a="b"), "contains no OpenDocument text"),
        ("epub", zipped(a="b"), "contains no book"),
        ("odt", zipped(**{"content.xml": BOMB}), "content.xml in this document: .* entities"),
        ("odt", zipped(**{"content.xml": "<a>"}), "not well-formed XML"),
        ("docx", zipped(**{"word/document.xml": '<x:a xmlns:x="x"/>'}), "by Word"),
        ("docx", zipped(**WORD, **{"word/vbaProject.bin": "x"}), "macros"),
        ("epub", book("", **ENCRYPTED), "is encrypted"),
        ("xlsx", compress(zipfile.ZIP_BZIP2), "an unusual compression"),
        ("xlsx", compress(zipfile.ZIP_LZMA), "an unusual compression"),
    ],
)
def test_wrong_document_is_refused(kind, data, message):
    with pytest.raises(DocumentError, match=message):
        FORMATS.load(kind).read(data)


@pytest.mark.parametrize(
    ("formula", "kept"),
    [
        ("<f>IF(A1=&quot;YES&quot;,1,0)</f>", ["yes"]),
        ('<f t="shared">COUNTIF(A:A,"&lt;&gt;Yes")&amp;"no ""x"""</f>', ["yes", 'no "x"']),
        ('<x:f>A1="No [1]"</x:f>', ["no [1]"]),
        ('<formula1>"Yes,No"</formula1>', ["yes", "no"]),
        ('<formula>A1="no"</formula>', ["no"]),
        ('<filter val="No"/>', ["no"]),
        ("<f>SUM(A1:A2)</f>", []),
    ],
)
def test_compared_texts_stay(formula, kept):
    words = ["yes", "no", 'no "x"', "no [1]", "or"]
    texts = "".join(f"<si><t>{word}</t></si>" for word in words)
    sheet = {"xl/worksheets/sheet1.xml": f"<s xmlns:x='x'>{formula}</s>"}
    book = read_workbook(workbook(texts, **sheet))
    written = unpack(shout(book))["xl/sharedStrings.xml"]

    assert [word for word in words if f">{word}<" in written] == kept
    assert book.untranslated.total() == len(kept)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<w><x:calcPr calcId='1'/></w>", "<w><x:calcPr calcId='1' fullCalcOnLoad=\"1\"/></w>"),
        ("<w><sheets></sheets><a/></w>",
         '<w><sheets></sheets><calcPr fullCalcOnLoad="1"/><a/></w>'),
        (
            "<x:w><x:sheets></x:sheets>\n<x:definedNames></x:definedNames></x:w>",
            "<x:w><x:sheets></x:sheets>\n<x:definedNames></x:definedNames>"
            '<x:calcPr fullCalcOnLoad="1"/></x:w>',
        ),
    ],
)  # fmt: skip
def test_formulas_are_recalculated(before, after):
    for formula, written in (("<f>1</f>", after), ("", before)):
        files = {"xl/workbook.xml": before, "xl/worksheets/sheet1.xml": f"<s>{formula}</s>"}
        assert unpack(shout(read_workbook(zipped(**files))))["xl/workbook.xml"] == written
