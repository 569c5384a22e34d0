import io
import struct
import tracemalloc
import zlib

import docx
import pytest
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents import archive as module
from nmt_core.documents.document import Reason
from nmt_core.documents.docx import read_word_document
from tests.support.echoes import answer, keep, shout, show_passages
from tests.support.formats import unzipped, zipped


def make_picture():
    def chunk(kind, data):
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    return io.BytesIO(b"\x89PNG\r\n\x1a\n" + body)


def add_link(paragraph, text, address):
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(address, kind, is_external=True))
    link.append(parse_xml(f"<w:r {nsdecls('w')}><w:t>{text}</w:t></w:r>"))
    paragraph._p.append(link)


@pytest.fixture(scope="module")
def letter():
    document = docx.Document()
    document.add_heading("My big title", 1)
    mixed = document.add_paragraph("Hello ")
    mixed.add_run("bold").bold = True
    mixed.add_run(" and ")
    mixed.add_run("italic words").italic = True
    mixed.add_run(" here. Second one.\tA cell")
    linked = document.add_paragraph("See ")
    add_link(linked, "this page", "http://x.y")
    linked.add_run(" for more.")
    table = document.add_table(2, 2)
    table.cell(0, 0).text = "Cell one"
    table.cell(1, 1).text = "Cell four"
    document.sections[0].header.paragraphs[0].text = "The header"
    document.sections[0].footer.paragraphs[0].text = "The footer"
    pictured = document.add_paragraph("A picture ")
    pictured.add_run().add_picture(make_picture())
    pictured.add_run(" after it.")
    [picture] = document.element.iter(qn("wp:docPr"))
    picture.set("descr", "two men & a dog")
    document.add_paragraph("- 1 -", style="List Bullet")
    document.add_paragraph().add_run("Note: ").bold = True
    document.paragraphs[-1].add_run("go.")
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def read(data):
    """Return the text of a document, with its looks, links and pictures."""
    document = docx.Document(io.BytesIO(data))
    shown = []
    for each in document.paragraphs:
        runs = [(run.text, run.bold, run.italic) for run in each.runs if run.text]
        links = [(link.text, link.address) for link in each.hyperlinks]
        pictures = [picture.get("descr") for picture in each._p.iter(qn("wp:docPr"))]
        shown.append((each.style.name, runs, links, pictures))
    section = document.sections[0]
    cells = [cell.text for row in document.tables[0].rows for cell in row.cells]
    return shown, cells, section.header.paragraphs[0].text, section.footer.paragraphs[0].text


def plain(*texts):
    return [(text, None, None) for text in texts]


def test_letter_is_translated_where_it_stands(letter):
    bold, italic = ("BOLD", True, None), ("ITALIC WORDS", None, True)
    mixed = [*plain("HELLO "), bold, *plain(" AND "), italic]
    mixed += plain(" HERE. SECOND ONE.", "\t", "A CELL")
    picture = plain("A PICTURE ", " ", "AFTER IT.")
    paragraphs = [
        ("Heading 1", plain("MY BIG TITLE"), [], []),
        ("Normal", mixed, [], []),
        ("Normal", plain("SEE ", " FOR MORE."), [("THIS PAGE", "http://x.y")], []),
        ("Normal", picture, [], ["TWO MEN & A DOG"]),
        ("List Bullet", plain("- 1 -"), [], []),
        ("Normal", [("NOTE: ", True, None), *plain("GO.")], [], []),
    ]
    cells = ["CELL ONE", "", "", "CELL FOUR"]

    written = shout(read_word_document(letter))

    assert read(written) == (paragraphs, cells, "THE HEADER", "THE FOOTER")
    before, after = unzipped(letter), unzipped(written)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"word/document.xml", "word/header1.xml", "word/footer1.xml"}
    assert unzipped(keep(read_word_document(letter))) == before
    assert [*after] == [*before]


def make_control(content, kind="text"):
    properties = f"<w:sdtPr><w:{kind}/></w:sdtPr>"
    return f"<w:sdt>{properties}<w:sdtContent>{content}</w:sdtContent></w:sdt>"


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


def make_document(*contents):
    paragraphs = "".join(f"<w:p><w:pPr/>{content}</w:p>" for content in contents)
    return zipped(**{"word/document.xml": f"<w:body {nsdecls('w')}>{paragraphs}</w:body>"})


def parse(data):
    return parse_xml(unzipped(data)["word/document.xml"])


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
WORD = "<w:r><w:t xml:space='preserve'>a </w:t></w:r>"


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
        ([WORD, make_control(WORD), WORD], ["a <a >a "]),
        ([WORD, make_control(make_control(WORD) + WORD), WORD], ["a <<a >a >a "]),
        ([WORD, f"<w:hyperlink>{make_control(WORD)}</w:hyperlink>", WORD], ["a <<a >>a "]),
        ([WORD, make_control(WORD, "dropDownList"), WORD], ["a ", "a ", "a "]),
        ([WORD, make_control(WORD, "docPartObj"), WORD], ["a ", "a ", "a "]),
        ([WORD, make_control(""), WORD], ["a ", "a "]),
        ([make_control(WORD)], ["<a >"]),
        ([WORD, f"<w:customXml>{make_control(WORD)}</w:customXml>", WORD], ["a *a ", "a "]),
    ],
)
def test_passages_of_fields_and_controls(content, passages):
    """Results that Word computes are empty tags; chosen text is a passage of its own."""
    document = read_word_document(make_document("".join(content)))
    assert sorted(show_passages(document)) == sorted(passages)


def test_control_holds_its_translation():
    content = make_control("<w:bookmarkStart w:id='1'/>" + WORD.replace("a ", "b "))
    written = shout(read_word_document(make_document(WORD + content + WORD)))
    [control] = parse(written).iter(qn("w:sdt"))

    assert [qn("w:sdtPr"), qn("w:sdtContent")] == [child.tag for child in control]
    assert "B" == "".join(each.text for each in control[1].iter(qn("w:t"))).strip()


TEXT = {"word/document.xml": f"<w:body {nsdecls('w')}/>"}
BOMB = f'<!DOCTYPE w [<!ENTITY a "b">]><w:p {nsdecls("w")}>&a;</w:p>'
OTHER_PREFIX = '<x:document xmlns:x="http://schemas.openxmlformats.org/x"/>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no .docx document"),
        (b"PK\x03\x04 and no more", "no .docx document"),
        (zipped(**TEXT)[:60] + bytes(20) + zipped(**TEXT)[80:], "no .docx document"),
        (zipped(a="b"), "holds no Word document"),
        (zipped(**{"word/document.xml": "<w:p>"}), "not well-formed XML"),
        (zipped(**{"word/document.xml": BOMB}), "document type"),
        (zipped(**{"word/document.xml": OTHER_PREFIX}), "by Word"),
        (zipped(**TEXT, **{"word/vbaProject.bin": "x"}), "macros"),
    ],
)
def test_wrong_document_is_refused(data, message):
    with pytest.raises(DocumentError, match=message):
        read_word_document(data)


@pytest.mark.parametrize("name", ["MOST_BYTES", "MOST_FILES", "MOST_TEXT_BYTES"])
def test_unpacked_size_is_limited(monkeypatch, name):
    monkeypatch.setattr(module, name, 1)

    with pytest.raises(DocumentError, match=r"unpacks to .*, more than 1"):
        read_word_document(zipped(**TEXT, bomb=bytes(20_000)))


def test_translation_is_escaped(letter):
    written = answer(read_word_document(letter), "a\0b\x0b\ufffe&<")

    assert read(written)[0][0][1] == plain("ab &<")


def test_files_without_text_are_copied_and_never_held():
    large = zipped(**TEXT, a=bytes(50_000_000))
    tracemalloc.start()
    data = read_word_document(large).write([])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 5_000_000
    assert unzipped(data)["a"] == bytes(50_000_000)


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
