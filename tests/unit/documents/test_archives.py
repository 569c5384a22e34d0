"""Documents that are archives of XML: workbooks, presentations, OpenDocument texts, books."""

import io
import random
import re
import zipfile

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from nmt_core.base.errors import DocumentError
from nmt_core.documents.epub import read_book
from nmt_core.documents.odt import read_open_document
from nmt_core.documents.ooxml import read_presentation
from nmt_core.documents.xlsx import read_workbook
from tests.support.echoes import Echo, garble, keep, shout, show_passages
from tests.support.formats import unzipped, zipped


def pack(**files):
    """Return an archive of files by name, of which ``__`` is a slash and ``_`` a full stop."""
    return zipped(**{n.replace("__", "/").replace("_", "."): text for n, text in files.items()})


def unpack(data):
    return {name: content.decode() for name, content in unzipped(data).items()}


A = ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
OFFICE = ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:draw="urn:draw"'
OFFICE += ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'


def slide(text):
    return pack(ppt__presentation_xml="<p/>", ppt__slides__slide1_xml=slide_text(text))


def slide_text(text):
    return f'<p:sld xmlns:p="p"{A}>{text}</p:sld>'


def workbook(text, **others):
    return pack(xl__workbook_xml="<w/>", xl__sharedStrings_xml=f"<sst>{text}</sst>", **others)


def letter(text):
    return pack(
        mimetype="application/vnd.oasis.opendocument.text",
        content_xml=f"<office:document-content{OFFICE}>{text}</office:document-content>",
        styles_xml=f"<office:document-styles{OFFICE}/>",
    )


def book(text):
    return pack(
        mimetype="application/epub+zip",
        **{
            "META-INF__container_xml": "<container/>",
            "OEBPS__a_xhtml": f"<html><body>{text}</body></html>",
        },
    )


KINDS = {
    "xlsx": (
        read_workbook,
        workbook,
        "xl/sharedStrings.xml",
        "<si>{}</si>",
        [
            *("<r><t>Hello </t></r>", "<r><rPr><b/></rPr><t>you &amp; me</t></r>"),
            *('<r><rPr><i/></rPr><t xml:space="preserve"> now</t></r>', "<rPh><t>x</t></rPh>"),
            *(
                "<r><t>two\nlines\n</t></r>",
                "<r><t>a&#10;b</t></r>",
                "<r><t>\n \ntwo\nLines\n </t></r>",
            ),
        ],
    ),
    "pptx": (
        read_presentation,
        slide,
        "ppt/slides/slide1.xml",
        "<a:p><a:pPr/>{}<a:endParaRPr/></a:p>",
        [
            *('<a:r><a:rPr lang="en"/><a:t>Hello </a:t></a:r>', "<a:br/>"),
            *('<a:r><a:rPr lang="en" b="1"/><a:t>you &amp; me</a:t></a:r>', "<!-- c -->"),
            *('<a:fld id="1"><a:rPr/><a:t>7</a:t></a:fld>', "<a:r><a:t> now</a:t></a:r>"),
        ],
    ),
    "odt": (
        read_open_document,
        letter,
        "content.xml",
        "<text:p>{}</text:p>",
        [
            *("Hello ", '<text:span text:style-name="a">you &amp; me</text:span>', " now"),
            *("<text:s/>", "<text:tab/>", "<text:a><text:span>so</text:span> it</text:a>"),
            "<text:note><text:note-body><text:p>A note</text:p></text:note-body></text:note>",
            "<office:annotation><text:p>Kept</text:p></office:annotation>",
        ],
    ),
    "epub": (
        lambda data: read_book(data, None),
        book,
        "OEBPS/a.xhtml",
        "<p>{}</p>",
        ["Hello ", "<b>you &amp; me</b>", " now", "<br/>", '<img src="a"/>', "<i>so <u>it</u></i>"],
    ),
}
all_kinds = pytest.mark.parametrize("kind", KINDS)


def compose(kind, seed):
    draw = random.Random(seed)
    _, make, _, paragraph, bits = KINDS[kind]
    texts = ["".join(draw.choices(bits, k=draw.randint(0, 6))) for _ in range(draw.randint(0, 3))]
    return make("\n".join(paragraph.format(text) for text in texts))


@all_kinds
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_what_is_translated_to_itself_stays_byte_for_byte(kind, seed):
    data = compose(kind, seed)

    written = keep(KINDS[kind][0](data))

    assert unpack(written) == unpack(data)
    assert next(iter(unpack(written))) == "mimetype" or kind not in {"odt", "epub"}


@all_kinds
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), garbled=st.integers(0, 9))
def test_whatever_is_answered_the_structure_stays(kind, seed, garbled):
    data = compose(kind, seed)
    read, _, name, *_ = KINDS[kind]
    before, after = (
        etree.fromstring(unpack(each)[name].encode())
        for each in (data, garble(read(data), garbled))
    )
    if kind in {"odt", "epub"}:
        assert sorted(map(str, (e.tag for e in after.iter()))) == sorted(
            map(str, (e.tag for e in before.iter()))
        )
        return
    for old, new in zip(before.iter("{*}p", "si"), after.iter("{*}p", "si"), strict=True):
        assert list_others(new) == list_others(old)
        for run in new.iter("{*}r"):
            assert {etree.QName(each).localname for each in run} <= {"rPr", "t"}
            assert not (run.text or "").strip()


def list_others(element):
    """Return the names of elements beside runs; text beside them is wrong."""
    assert not (element.text or "").strip()
    assert not any((each.tail or "").strip() for each in element)
    names = [etree.QName(each).localname for each in element.iterchildren(etree.Element)]
    return sorted(name for name in names if name not in {"r", "t"})


def test_texts_of_cells_are_translated_and_nothing_else(tmp_path):
    book = openpyxl.Workbook()
    for row in [["name", "count"], ["an apple\nand a pear", 3], ["an apple\nand a pear", "=B2+1"]]:
        book.active.append(row)
    book.active.add_table(openpyxl.worksheet.table.Table(displayName="T", ref="A1:B3"))
    book.save(tmp_path / "a.xlsx")

    (tmp_path / "b.xlsx").write_bytes(shout(read_workbook((tmp_path / "a.xlsx").read_bytes())))

    rows = openpyxl.load_workbook(tmp_path / "b.xlsx").active.values
    assert [list(row) for row in rows] == [
        ["name", "count"],
        ["AN APPLE\nAND A PEAR", 3],
        ["AN APPLE\nAND A PEAR", "=B2+1"],
    ]


def test_lines_of_a_cell_are_translated_apart_unless_a_sentence_goes_on():
    text = "One thing\nAnother_x000D_\n- a\n  unit\nprice.\n"
    data = workbook(f"<si><t>{text}</t></si><si><r><t>A\n</t></r><r><t>B c</t></r></si>")
    echo = Echo(str.upper)

    written = unpack(echo.translate(read_workbook(data)))["xl/sharedStrings.xml"]
    written = written.replace("&#10;", "\n")

    assert [line for lines, _ in echo.calls for line in lines] == [
        *("One thing", "Another", "- a unit price.", "A", "B c")
    ]
    assert "ONE THING\nANOTHER\n- A\nUNIT\nPRICE.\n<" in written
    assert "A\nB C" in re.sub("<[^>]*>", "", written)


def test_rich_text_keeps_its_looks():
    bold = "<r><rPr><b/></rPr><t>bold</t></r>"
    data = workbook(f"<si><r><t>some </t></r>{bold}<r><t> text</t></r></si>")

    assert show_passages(read_workbook(data)) == ["some <bold> text"]
    written = unpack(shout(read_workbook(data)))["xl/sharedStrings.xml"]
    assert re.sub("<[^>]*>", "", written) == "SOME BOLD TEXT"
    assert '<r><rPr><b/></rPr><t xml:space="preserve">BOLD</t></r>' in written


def test_runs_that_look_alike_are_one_text():
    runs = '<a:r><a:rPr lang="en" dirty="0"/><a:t>Hel</a:t></a:r><a:r><a:t>lo </a:t></a:r>'
    bold = '<a:r><a:rPr lang="en" b="1"/><a:t>you</a:t></a:r>'
    data = slide(f'<a:p>{runs}{bold}<a:endParaRPr lang="en"/></a:p>')

    assert show_passages(read_presentation(data)) == ["Hello <you>"]
    assert unpack(shout(read_presentation(data)))["ppt/slides/slide1.xml"] == slide_text(
        '<a:p><a:r><a:t>HELLO </a:t></a:r><a:r><a:rPr b="1"/><a:t>YOU</a:t></a:r>'
        '<a:endParaRPr lang="en"/></a:p>'
    )


def test_notes_and_frames_are_translated_apart():
    note = "<text:note><text:note-body><text:p>a note</text:p></text:note-body></text:note>"
    deleted = "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
    data = letter(f"{deleted}<text:h>one{note} two</text:h><text:p>a<text:tab/>b</text:p>")

    assert show_passages(read_open_document(data)) == ["one* two", "a note", "a", "b"]
    written = unpack(shout(read_open_document(data)))["content.xml"]
    assert note.replace("a note", "A NOTE") in written
    assert deleted in written


@pytest.mark.parametrize(
    ("content", "passages"),
    [
        ("a {b-}b c{-b} d", ["a <b c> d"]),
        ("a {b-}b {c-}c{-b} d{-c} e", ["a *b <c* d> e"]),
        ("a {b-}b <text:span>c{-b} d</text:span> e", ["a *b <c* d> e"]),
        ("a <text:span>b {b-}c</text:span> d{-b} e", ["a <b *c> d* e"]),
        ("a {b-}b<text:line-break/>c{-b} {-d}d {d-}e", ["a *b", "c* *d *e"]),
    ],
)
def test_a_range_in_which_all_is_nested_is_a_pair(content, passages):
    for kind, name in (("bookmark", "name"), ("change", "change-id"), ("toc-mark", "id")):
        text = re.sub(r"{(\w)-}", rf'<text:{kind}-start text:{name}="\1-start"/>', content)
        text = re.sub(r"{-(\w)}", rf'<text:{kind}-end text:{name}="\1-start"/>', text)
        document = read_open_document(letter(f"<text:p>{text}</text:p>"))
        assert show_passages(document) == passages


def test_notes_within_notes_end():
    data = letter("<text:p>a<text:note>" * 2000 + "</text:note></text:p>" * 2000)

    assert show_passages(read_open_document(data)) == ["a*"] * 11
    assert unpack(shout(read_open_document(data)))["content.xml"].count("A") == 11


def test_a_book_names_its_new_language():
    package = "<package><dc:title>one</dc:title><dc:language>en-GB</dc:language></package>"
    package = package.replace("<package>", '<package xmlns:dc="d">')
    contents = '<!DOCTYPE ncx PUBLIC "x" "y"><ncx><navLabel><text>two</text></navLabel></ncx>'
    files = {"META-INF__container_xml": "<container/>", "a_opf": package, "a_ncx": contents}
    files["a_xhtml"] = '<html xml:lang="en"><p title="three">four&#160;five<br/></p></html>'

    written = unpack(shout(read_book(pack(**files), ("en", "de"))))

    assert written["a.opf"] == package.replace("one", "ONE").replace("en-GB", "de")
    assert written["a.ncx"] == contents.replace("two", "TWO")
    assert written["a.xhtml"] == (
        files["a_xhtml"]
        .replace("three", "THREE")
        .replace("four&#160;five", "FOUR FIVE")
        .replace('"en"', '"de"')
    )
    described = package.replace("one", "Two").replace("title", "description")
    files["a_opf"] = described.replace("Two", "&lt;p>a &lt;b&gt;b&lt;/b>&lt;/p>")
    files["a_ncx"] = contents.replace("text", "docAuthor")
    book = read_book(pack(**files), ("en", "de"))
    assert show_passages(book)[:1] == ["a <b>"]
    assert unpack(shout(book))["a.ncx"] == files["a_ncx"]
    files["META-INF__encryption_xml"] = '<CipherReference URI="a.xhtml"/>'
    with pytest.raises(DocumentError, match="this book is encrypted"):
        read_book(pack(**files), ("en", "de"))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_compression_is_refused(method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("xl/workbook.xml", "<w/>")
    with pytest.raises(DocumentError, match=r"an unusual method.*as \.xlsx"):
        read_workbook(file.getvalue())


BOMB = '<!DOCTYPE a [<!ENTITY a "b">]><a>&a;</a>'


@pytest.mark.parametrize(
    ("read", "data", "told"),
    [
        (read_workbook, b"no archive", r"no \.xlsx document"),
        (read_presentation, pack(a="b"), "holds no presentation"),
        (read_open_document, pack(a="b"), "holds no OpenDocument text"),
        (lambda data: read_book(data, None), pack(a="b"), "holds no book"),
        (read_open_document, pack(content_xml=BOMB), "content.xml in this document: .* entities"),
        (read_open_document, pack(content_xml="<a>"), "not well-formed XML"),
    ],
)
def test_what_is_wrong_is_told(read, data, told):
    with pytest.raises(DocumentError, match=told):
        read(data)


@pytest.mark.parametrize(
    ("formula", "kept"),
    [
        ("<f>IF(A1=&quot;YES&quot;,1,0)</f>", ["yes"]),
        ('<f t="shared">COUNTIF(A:A,"&lt;&gt;Yes")&amp;"no ""x"""</f>', ["yes", 'no "x"']),
        ('<f>COUNTIF(A:A,"no*")</f>', ["no", 'no "x"', "no [1]"]),
        ('<x:f>A1="No [1]"</x:f>', ["no [1]"]),
        ('<f>ISNUMBER(SEARCH("es",A1))</f>', ["yes"]),
        ('<f>LEFT(A1,1)="y"</f>', []),
        ('<formula1>"Yes,No"</formula1>', ["yes", "no"]),
        ('<formula>A1="no"</formula>', ["no"]),
        ('<filter val="No"/>', ["no"]),
        ("<f>SUM(A1:A2)</f>", []),
    ],
)
def test_texts_that_formulas_compare_with_stay(formula, kept):
    words = ["yes", "no", 'no "x"', "no [1]", "or"]
    texts = "".join(f"<si><t>{word}</t></si>" for word in words)
    book = read_workbook(
        workbook(texts, xl__worksheets__sheet1_xml=f"<s xmlns:x='x'>{formula}</s>")
    )
    written = unpack(shout(book))["xl/sharedStrings.xml"]

    assert [word for word in words if f">{word}<" in written] == kept
    assert book.untranslated.total() == len(kept)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<w><sheets/><oleSize/></w>", '<w><sheets/><calcPr fullCalcOnLoad="1"/><oleSize/></w>'),
        (
            "<!-- a --><x:w xmlns:x='x'><x:sheets/><x:definedNames></x:definedNames></x:w>",
            "<!-- a --><x:w xmlns:x='x'><x:sheets/><x:definedNames></x:definedNames>"
            '<x:calcPr fullCalcOnLoad="1"/></x:w>',
        ),
        ("<w><calcPr calcId='1'/></w>", "<w><calcPr calcId='1' fullCalcOnLoad=\"1\"/></w>"),
    ],
)
def test_formulas_are_calculated_anew(before, after):
    for formula, written in (("<f>1</f>", after), ("", before)):
        data = pack(xl__workbook_xml=before, xl__worksheets__sheet1_xml=f"<s>{formula}</s>")
        assert unpack(shout(read_workbook(data)))["xl/workbook.xml"] == written


def test_descriptions_of_pictures_are_translated():
    picture = '<p:cNvPr id="2" name="a" descr="b &lt; c" title=\'d "e"\'/>'
    written = unpack(shout(read_presentation(slide(picture))))["ppt/slides/slide1.xml"]

    assert '<p:cNvPr id="2" name="a" descr="B &lt; C" title=\'D &quot;E&quot;\'/>' in written
    picture = "<text:p>a <draw:frame xmlns:svg='svg'><svg:desc>b</svg:desc></draw:frame>c</text:p>"
    assert sorted(show_passages(read_open_document(letter(picture)))) == ["a *c", "b"]
