import io
import struct
import tracemalloc
import zlib
from xml.sax.saxutils import escape

import docx
import pytest
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents import archive as module
from nmt_core.documents.docx import read_word_document
from tests.support.echoes import answer, keep, shout, show_passages
from tests.support.formats import unzipped, zipped


def make_picture():
    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    return io.BytesIO(b"\x89PNG\r\n\x1a\n" + body)


def add_link(paragraph, text, address):
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(address, kind, is_external=True))
    link.append(parse_xml(f"<w:r {nsdecls('w')}><w:t>{text}</w:t></w:r>"))
    paragraph._p.append(link)


def to_bytes(document):
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


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
    document.add_paragraph("- 1 -", style="List Bullet")
    return to_bytes(document)


def read(data):
    """Return the text of a document, with its looks, links and pictures."""
    document = docx.Document(io.BytesIO(data))
    return {
        "paragraphs": [
            (
                paragraph.text,
                paragraph.style.name,
                [(run.text, run.bold, run.italic) for run in paragraph.runs if run.text],
                [(link.text, link.address) for link in paragraph.hyperlinks],
                len(paragraph._p.findall(f".//{qn('w:drawing')}")),
            )
            for paragraph in document.paragraphs
        ],
        "cells": [cell.text for row in document.tables[0].rows for cell in row.cells],
        "header": document.sections[0].header.paragraphs[0].text,
        "footer": document.sections[0].footer.paragraphs[0].text,
    }


def paragraph(text, *runs, style="Normal", links=(), pictures=0):
    """Return what is read of a paragraph of some runs, or of one."""
    looks = {"BOLD": (True, None), "ITALIC WORDS": (None, True)}
    shown = [(run, *looks.get(run, (None, None))) for run in runs or [text]]
    return text, style, shown, [*links], pictures


def test_text_is_translated_where_it_stands(letter):
    runs = ["HELLO ", "BOLD", " AND ", "ITALIC WORDS", " HERE. SECOND ONE.", "\t", "A CELL"]
    link = ("THIS PAGE", "http://x.y")

    assert read(shout(read_word_document(letter))) == {
        "paragraphs": [
            paragraph("MY BIG TITLE", style="Heading 1"),
            paragraph("".join(runs), *runs),
            paragraph("SEE THIS PAGE FOR MORE.", "SEE ", " FOR MORE.", links=[link]),
            paragraph("A PICTURE  AFTER IT.", "A PICTURE ", " ", "AFTER IT.", pictures=1),
            paragraph("- 1 -", style="List Bullet"),
        ],
        "cells": ["CELL ONE", "", "", "CELL FOUR"],
        "header": "THE HEADER",
        "footer": "THE FOOTER",
    }


def test_plain_text_stays_plain_where_most_is_bold():
    document = docx.Document()
    paragraph = document.add_paragraph()
    paragraph.add_run("An important note: ").bold = True
    paragraph.add_run("read it.")

    written = docx.Document(io.BytesIO(shout(read_word_document(to_bytes(document)))))

    [paragraph] = written.paragraphs
    assert [(run.text, run.bold) for run in paragraph.runs] == [
        ("AN IMPORTANT NOTE: ", True),
        ("READ IT.", None),
    ]


def test_what_is_translated_to_itself_stays_as_it_was(letter):
    assert unzipped(keep(read_word_document(letter))) == unzipped(letter)


def test_no_file_is_touched_but_those_with_text(letter):
    before, after = unzipped(letter), unzipped(shout(read_word_document(letter)))

    assert [*before] == [*after]
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"word/document.xml", "word/header1.xml", "word/footer1.xml"}


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


def elements_of(data):
    root = parse_xml(unzipped(data)["word/document.xml"])
    return {
        name: [dict(each.attrib) for each in root.iter(qn(f"w:{name}"))] for name in KEPT.split()
    }, [[each.get(qn("w:fldCharType")) for each in p.iter(qn("w:fldChar"))] for p in root]


def text_of(data):
    root = parse_xml(unzipped(data)["word/document.xml"])
    return "".join(each.text or "" for each in root.iter(qn("w:t")))


def sorted_by_text(elements):
    return {name: sorted(map(str, each)) for name, each in elements.items()}


@given(st.lists(st.lists(parts, max_size=6).map("".join), max_size=3), st.text(max_size=12))
def test_nothing_but_text_is_lost_or_invented(contents, answered):
    data = make_document(*contents)
    (before, fields), (after, new_fields) = (
        elements_of(each) for each in (data, answer(read_word_document(data), answered))
    )

    assert sorted_by_text(after) == sorted_by_text(before)
    assert new_fields == fields
    assert unzipped(keep(read_word_document(data))) == unzipped(data)


@given(st.lists(parts.filter(lambda part: "fld" not in part), max_size=6).map("".join))
def test_words_in_capitals_stay_where_they_were(content):
    data = make_document(content)
    hyphen = "\N{NON-BREAKING HYPHEN}"

    assert text_of(shout(read_word_document(data))).replace(hyphen, "") in {
        text_of(data).upper(),
        text_of(data),
    }


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
    ],
)
def test_results_that_word_computes_are_points(content, passages):
    assert show_passages(read_word_document(make_document("".join(content)))) == passages


@pytest.mark.parametrize(
    ("content", "passages"),
    [
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
def test_what_is_typed_into_a_control_is_a_part_of_its_sentence(content, passages):
    """What is chosen from a list, or made by Word, is none: it is a text of its own."""
    document = read_word_document(make_document("".join(content)))
    assert sorted(show_passages(document)) == sorted(passages)


def test_a_control_holds_its_translation_and_its_properties():
    content = make_control("<w:bookmarkStart w:id='1'/>" + WORD.replace("a ", "b "), "text")
    written = unzipped(shout(read_word_document(make_document(WORD + content + WORD))))
    [control] = parse_xml(written["word/document.xml"]).iter(qn("w:sdt"))

    assert [qn("w:sdtPr"), qn("w:sdtContent")] == [child.tag for child in control]
    assert qn("w:text") in {each.tag for each in control[0]}
    assert "B" == "".join(each.text for each in control[1].iter(qn("w:t"))).strip()


def refuse(data):
    with pytest.raises(DocumentError) as refused:
        read_word_document(data)
    assert "\n" not in str(refused.value)
    return str(refused.value)


TEXT = {"word/document.xml": f"<w:body {nsdecls('w')}/>"}


def test_what_is_no_document_is_refused(letter):
    assert "no .docx document" in refuse(b"")
    assert "no .docx document" in refuse(b"PK\x03\x04 and no more")
    assert "no .docx document" in refuse(letter[: len(letter) // 2])
    assert "holds no Word document" in refuse(zipped(a="b"))
    assert "not well-formed XML" in refuse(zipped(**{"word/document.xml": "<w:p>"}))


def test_a_damaged_file_in_it_is_refused(letter):
    place = letter.index(b"word/document.xml") + 60

    assert "no .docx document" in refuse(letter[:place] + bytes(20) + letter[place + 20 :])


def test_macros_are_refused():
    assert "macros" in refuse(zipped(**TEXT, **{"word/vbaProject.bin": "x"}))


def test_what_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10_000)
    bomb = zipped(**TEXT, bomb=bytes(20_000))

    assert len(bomb) < 1000
    assert "unpacks to 20,0" in refuse(bomb)
    monkeypatch.setattr(module, "MOST_FILES", 1)
    assert "2 files" in refuse(zipped(**TEXT, a="b"))
    monkeypatch.setattr(module, "MOST_TEXT_BYTES", 10)
    assert "bytes of text" in refuse(zipped(**TEXT))


def test_entities_are_refused():
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    text = f'<!DOCTYPE w [<!ENTITY a0 "ha">{entities}]><w:p {nsdecls("w")}>&a9;</w:p>'

    assert "document type" in refuse(zipped(**{"word/document.xml": text}))
    harmless = f'<!DOCTYPE w [<!ENTITY a "b">]><w:p {nsdecls("w")}/>'
    assert "document type" in refuse(zipped(**{"word/document.xml": harmless}))


def test_a_strict_document_is_refused_and_not_left_as_it_was():
    """Its elements have other names, so that no text would be found."""
    text = '<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"/>'

    assert "save it as" in refuse(zipped(**{"word/document.xml": text}))


def test_what_xml_cannot_hold_is_left_out(letter):
    data = answer(read_word_document(letter), "a\0b\x0b\ufffe&<")

    assert read(data)["paragraphs"][0][0] == "ab &<"
    assert escape("ab &<").encode() in unzipped(data)["word/document.xml"]


def test_the_language_of_the_source_is_not_that_of_the_translation():
    run = "<w:r><w:rPr><w:b/><w:lang w:val='de-DE'/></w:rPr><w:t>Ein Haus</w:t></w:r>"

    written = unzipped(shout(read_word_document(make_document(run))))["word/document.xml"]

    assert b"<w:b/>" in written
    assert b"de-DE" not in written


def test_files_without_text_are_copied_and_never_held():
    """A small document may hold much, such as a picture of zeros."""
    large = zipped(**TEXT, a=bytes(50_000_000))
    tracemalloc.start()
    data = read_word_document(large).write([])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 5_000_000
    assert unzipped(data)["a"] == bytes(50_000_000)


@pytest.mark.parametrize(
    ("language", "passages"),
    [
        ("w:val='fr-FR'", ["a *a "]),
        ("w:val='de-AT'", ["a b c a "]),
        ("w:val='x-none'", ["a b c a "]),
        ("w:eastAsia='ja-JP'", ["a b c a "]),
    ],
)
def test_text_in_another_language_is_a_point(language, passages):
    marked = f"<w:r><w:rPr><w:lang {language}/></w:rPr><w:t xml:space='preserve'>%s </w:t></w:r>"
    data = make_document(WORD + marked % "b" + "<w:r/>" + marked % "c" + WORD)
    document = read_word_document(data, ("de", "en"))

    assert show_passages(document) == passages
    assert document.untranslated.total() == (passages == ["a *a "])
    assert text_of(shout(read_word_document(data, ("de", "en")))) == (
        "A b c A " if "fr" in language else "A B C A "
    )


def test_a_document_of_one_language_is_translated_whatever_word_marks():
    marked = "<w:r><w:rPr><w:lang w:val='en-US'/></w:rPr><w:t>all of it</w:t></w:r>"

    assert show_passages(read_word_document(make_document(marked), ("de", "en"))) == ["all of it"]


def test_descriptions_of_pictures_are_translated(letter):
    document = docx.Document(io.BytesIO(letter))
    [picture] = document.element.iter(qn("wp:docPr"))
    picture.set("descr", "two men & a dog")
    picture.set("title", "a b")
    written = docx.Document(io.BytesIO(shout(read_word_document(to_bytes(document)))))

    [picture] = written.element.iter(qn("wp:docPr"))
    assert (picture.get("descr"), picture.get("title")) == ("TWO MEN & A DOG", "A B")
