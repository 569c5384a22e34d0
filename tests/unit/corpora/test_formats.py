"""Files with both sides: files of other programs are read, and errors name their place."""

import io
import re
import sys
import zipfile
from contextlib import nullcontext

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nmt_core.base import raw_lines
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.formats import tables
from nmt_core.corpora.formats.opening import open_units
from nmt_core.corpora.formats.paired_units import pick_pair
from nmt_core.corpora.formats.translations import iterate_elements
from nmt_core.corpora.parallel_text import (
    DAMAGED,
    UNUSABLE,
    CorpusReading,
    Text,
    cut_rows,
    read_pairs,
)
from nmt_core.corpora.text_files import TextFiles
from tests.support.formats import (
    COMPRESSORS,
    WRITERS,
    XLIFF1,
    XLIFF2,
    moses,
    table,
    tmx,
    workbook,
    xlsx,
    zipped,
)

GERMAN = Languages(source="de", target="en")
PAIRS = [("Guten Tag.", "Good day."), ("Ja & nein", 'a "quoted" <b>word</b>')]
BREAKS = re.compile("\r\n|[\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


@pytest.fixture
def read(tmp_path):
    """Write a file and read its pairs, one row at a time, as many processes would."""

    def read(name, content, *, languages=GERMAN, drop=UNUSABLE, reading=None):
        path = tmp_path / name
        path.write_bytes(content)
        text = Text((TextFiles(source=path).paths,), tuple(drop), languages)
        return [
            pair
            for rows in cut_rows(text, 1, scratch=tmp_path)
            for _, pair in read_pairs(
                rows, drop=drop, reading=CorpusReading() if reading is None else reading
            )
        ]

    return read


@pytest.fixture
def refusal(read, tmp_path):
    def refusal(name, content, **options):
        with pytest.raises(CorpusError) as caught:
            read(name, content, **options)
        told = str(caught.value)
        assert "\n" not in told
        return told.replace(f"{tmp_path}/", "")

    return refusal


sentences = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r\x85\u2028&<>\"';,=\\ "),
    max_size=20,
).map(lambda line: f"x{line}")
texts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)


@pytest.mark.parametrize("suffix", WRITERS)
@settings(max_examples=30)
@given(pairs=texts, compressor=st.sampled_from(["", *COMPRESSORS, ".zip"]))
def test_files_of_other_programs_are_read(tmp_path_factory, suffix, pairs, compressor):
    """Line ends and tabs in a unit become spaces, as in all formats."""
    assume(suffix != "tsv" or not any("\t" in side and "\n" in side for side in sum(pairs, ())))
    content = WRITERS[suffix](pairs)
    if compressor == ".zip":
        content = zipped(**{f"folder/my.{suffix}": content, "README": b""})
    elif compressor:
        content = COMPRESSORS[compressor](content)
    path = tmp_path_factory.mktemp("text") / f"my.{suffix}{compressor}"
    path.write_bytes(content)
    text = Text((TextFiles(source=path).paths,), (), GERMAN)
    rows = cut_rows(text, 2, scratch=path.parent)
    found = [
        pair for each in rows for _, pair in read_pairs(each, drop=(), reading=CorpusReading())
    ]

    assert [tuple(BREAKS.sub(" ", side) for side in pair) for pair in pairs] == found


@pytest.mark.parametrize("suffix", WRITERS)
def test_sides_are_found_by_their_languages(read, suffix):
    """Also in the opposite direction, and with other forms of the language codes."""
    turned = [pair[::-1] for pair in PAIRS]

    assert turned == read(f"a.{suffix}", WRITERS[suffix](PAIRS, "en_US", "de-AT"))
    assert PAIRS == read(f"a.{suffix}", WRITERS[suffix](PAIRS, "DE", "en-GB"))


def test_two_languages_of_three_are_taken(read, refusal):
    content = tmx(PAIRS).replace(b"<tu>", b'<tu><tuv xml:lang="fr"><seg>Bonjour.</seg></tuv>')
    french = Languages(source="fr", target="de")

    assert PAIRS == read("a.tmx", content)
    assert [("Bonjour.", one) for one, _ in PAIRS] == read("a.tmx", content, languages=french)
    told = refusal("a.tmx", content, languages=Languages(source="it", target="de"))
    assert all(f"{code} (2)" in told for code in ("de", "en", "fr"))


def test_one_code_is_never_both_sides():
    brazilian = Languages(source="pt", target="pt-BR")

    assert pick_pair(["pt-BR"], brazilian) is None
    assert pick_pair(["pt-BR", "pt"], brazilian) == (1, 0)


def xliff(version, body):
    head = f'<xliff xmlns="{XLIFF1 if version == 1 else XLIFF2}" srcLang="de" trgLang="en">'
    file = '<file source-language="de" target-language="en">'
    return f"{head}{file}{body}</file></xliff>".encode()


def code(name, content):
    unit = f"<{name}><source>a{content}b</source><target>c</target></{name}>"
    return xliff(1 if name == "trans-unit" else 2, unit)


def seg(content):
    return tmx([("S", "T")]).replace(b">S<", b">" + content + b"<")


SHEET = "xl/worksheets/sheet1.xml"
DAY, NINE = '<c s="1"><v>45293</v></c>', '<c s="2"><v>45293.375</v></c>'
"""The 2nd of January 2024, and nine o'clock on that day."""

WITHOUT_TARGET = WRITERS["xlf"](PAIRS).replace(b'target-language="en"', b"")


def rezip(content, name, change):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    if name not in members:
        members[name] = b""
    return zipped(**{each: change(xml) if each == name else xml for each, xml in members.items()})


def encrypt(content):
    """Return an archive whose header says that it is encrypted."""
    content = bytearray(content)
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


CODES = b'a<bpt i="1">&lt;b&gt;</bpt>b<hi>c</hi>d<ph><sub>no</sub></ph>e<ut>x</ut><!-- no -->f'
CUT = (
    "<trans-unit><source>A. B.</source><seg-source><mrk mtype='seg' mid='1'>A.</mrk> "
    "<mrk mtype='seg' mid='2'>B<x/>.</mrk></seg-source><target>"
    "<mrk mtype='seg' mid='2'>b.</mrk> <mrk mtype='seg' mid='1'><g>a</g>.</mrk></target>"
    "<alt-trans><source>C</source><target>c</target></alt-trans></trans-unit>"
    "<trans-unit><source>D</source><target state='new'>D</target></trans-unit>"
    "<trans-unit><source>E</source></trans-unit>"
)
CHARACTERS = (
    "<unit><segment><source>A<ph/><pc>b</pc> c</source>"
    "<target>d</target></segment><ignorable><source> </source></ignorable>"
    "<segment state='initial'><source>E</source><target>E</target></segment></unit>"
)


FORMULA, TRUE = '<c><f>CONCAT("b")</f></c>', '<c t="b"><v>1</v></c>'
FORMULAS = workbook([("de", "en"), ("a", FORMULA), (1, TRUE), ('<c t="e"><v>#N/A</v></c>', "c")])
NARROW = rezip(
    workbook([("de", "en"), *PAIRS]),
    SHEET,
    lambda xml: xml.replace(b"<sheetData>", b'<dimension ref="A1:A2"/><sheetData>'),
)
"""A workbook whose sheet declares too small a size."""


@pytest.mark.parametrize(
    ("name", "content", "pairs"),
    [
        ("a.tmx", tmx(PAIRS).replace(b"xml:lang", b"lang"), PAIRS),  # before 1.2
        ("a.tmx", b"\xef\xbb\xbf" + tmx(PAIRS), PAIRS),
        ("a.tmx", seg(CODES), [("abcdef", "T")]),
        ("a.tmx", seg(b'a<ph type="lb">{}</ph>b<ph type="fnote">c</ph>d'), [("a bd", "T")]),
        ("a.xlf", WITHOUT_TARGET, PAIRS),
        ("a.xlf", code("trans-unit", '<x id="LINE_BREAK" ctype="lb"/>'), [("a b", "c")]),
        ("a.xlf", code("segment", '<ph id="1" type="fmt" subType="xlf:lb"/>'), [("a b", "c")]),
        ("a.xlf", xliff(1, CUT), [("A.", "a."), ("B.", "b.")]),
        ("a.xlf", xliff(2, CHARACTERS), [("Ab c", "d")]),
        ("a.po", WRITERS["po"](PAIRS).replace(b"Language: en", b"X: y"), PAIRS),
        ("a.po", b"\xef\xbb\xbf" + WRITERS["po"](PAIRS), PAIRS),
        ("a.csv", b"de;en;note, if any\na, b;c;\n", [("a, b", "c")]),
        ("a.csv", b"id,de,en\n1,a,b\n", [("a", "b")]),
        ("a.csv", b"", []),
        ("a.csv", b"de,en,note\na\n\nb,c\n", [("b", "c")]),
        ("a.csv", b'\xef\xbb\xbf"a, b",c\n', [("a, b", "c")]),
        ("a.csv", b"Ja, gut;a\nHallo, du;b\n", [("Ja, gut", "a"), ("Hallo, du", "b")]),
        ("a.csv", b'"Ja, gut";a\n"Nein";"b, c"\n', [("Ja, gut", "a"), ("Nein", "b, c")]),
        ("a.tsv", b"\xef\xbb\xbfa\tb\n", [("a", "b")]),
        ("a.tsv", b'de\ten\n"a\nb\tc"\td\n', [("a b c", "d")]),
        ("a.tsv", b'"Ja", sagt er.\t"Yes."\n', [('"Ja", sagt er.', '"Yes."')]),
        ("a.tsv", b'de\ten\n"Ja ""x""\nnein"\tYes "no"\n', [('Ja "x" nein', 'Yes "no"')]),
        ("a.jsonl", b"\n", []),
        ("a.xlsx", rezip(xlsx(PAIRS), "xl/media/image1.png", lambda _: b"\x89PNG"), PAIRS),
        ("a.xlsx", NARROW, PAIRS),
        ("a.xlsx", workbook([("de", "en"), (DAY, DAY)]), [("2024-01-02", "2024-01-02")]),
        ("a.xlsx", workbook([("x", NINE)]), [("x", "2024-01-02 09:00:00")]),
        ("a.xlsx", FORMULAS, [("1", "True")]),
    ],
)  # fmt: skip
def test_units_are_read(read, name, content, pairs):
    assert read(name, content) == pairs


@pytest.mark.parametrize(
    ("name", "content", "languages", "pairs"),
    [
        ("a.xlf", WITHOUT_TARGET, ("en", "de"), [pair[::-1] for pair in PAIRS]),
        ("a.csv", b"id,source,target\n1,a,b\n", ("id", "en"), [("a", "b")]),
        ("a.csv", b"id,de,en\na,c,b\n", ("id", "en"), [("a", "b")]),
    ],
)
def test_units_are_read_for_other_languages(read, name, content, languages, pairs):
    """A column of identifiers is not Indonesian if source and target columns are named."""
    source, target = languages
    assert read(name, content, languages=Languages(source=source, target=target)) == pairs


LATIN = [("sch\u00f6n", "b")]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        *((f"a.{suffix}", WRITERS[suffix](PAIRS, "it", "fr"), r"de and en.*fr|fr.*de and en")
          for suffix in ("tmx", "xlf", "xliff", "po", "csv", "jsonl")),
        *((f"a.{suffix}", content[: len(content) // 3], rf"a\.{suffix} ")
          for suffix in ("tmx", "xlf", "xliff", "xlsx", "jsonl")
          for content in [WRITERS[suffix](PAIRS * 50)]),
        *((f"a.{suffix}", WRITERS[suffix](LATIN).decode().encode("latin-1"), rf"{suffix} line \d ")
          for suffix in ("tmx", "xlf")),
        *((f"a.{suffix}", "de,en\nja,yes\n".encode("utf-16"), "UTF-16")
          for suffix in ("csv", "tsv", "jsonl", "po")),
        *(("a.jsonl", f'{{"de": "a", "en": "b"}}\n{line}'.encode(), "line 2 is not a JSON object")
          for line in ('[{"de": "a"}]', "7", '{"de": "a"', "[" * 99_999, "9" * 5000)),
        *(("a.csv", content, r"row 2 \(line ")
          for content in (b'de,en\n"a"b,c\n', b'de,en\na,"b\n', b"de,en\na\rb,c\n")),
        ("a.csv", b"1,a; b,c\n2,d,e\n", "3 columns"),
        ("a.csv", b"a,b,c\n", "'a', 'b', 'c'"),
        ("a.csv", b"," * 500_000, "1,000 columns"),
        ("a.xlsx", workbook([["x"] * 1100]), "1,000 columns"),
        # a quotation that ends in the next row, with other signs on the other side
        ("a.tsv", 'de\ten\n"A.\t“A.\nB."\tB.”\n'.encode(), r"row 2 \(line 3\)"),
        ("a.zip", encrypt(moses(PAIRS)), "encrypted"),
        ("a.zip", zipped(README=b"about"), "contains no file"),
        ("a.zip", moses([("a\0", "b")]), "line 1 contains a NUL"),
        ("a.zip", zipped(**{"a.de": b"a\nb\n", "a.en": b"a\n"}), "1 lines"),
        ("a.zip", zipped(**{"a.de": b"", "b.de": b"", "a.en": b""}), "one file for de"),
        ("a.zip", zipped(**{"x.doc": b""}), r"x\.doc"),
    ],
)  # fmt: skip
def test_wrong_file_is_refused_with_its_place(refusal, name, content, place):
    told = refusal(name, content)
    assert re.search(place, told)
    assert name in told


def test_po_has_plurals_fuzzy_and_obsolete_messages(read):
    content = """msgid ""
msgstr ""
"Language: en\\n"
"Content-Type: text/plain; charset=ISO-8859-1\\n"

msgctxt "menu"
msgid "%d Äpfel"
msgid_plural "%d Äpfel "
"alle"
msgstr[0] "%d apple"
msgstr[1] "%d apples"

#, fuzzy
msgid "A"
msgstr "a"

#~ msgid "B"
#~ msgstr "b"

msgid "C"
msgstr ""
"""
    expected = [("%d Äpfel", "%d apple"), ("%d Äpfel alle", "%d apples")]

    assert expected == read("a.po", content.encode("latin-1"))
    one_form = b'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\n'
    assert read("a.po", one_form) == [("a", "c"), ("b", "c")]  # as in Japanese


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "b")], [("a", "b")]),
        ([("English", "Deutsch"), ("b", "a")], [("a", "b")]),
        ([("Englisch", "Deutsch"), ("b", "a")], [("a", "b")]),
        ([("text_en", "text_de"), ("b", "a")], [("a", "b")]),
        ([("Target (en)", "German (Austria)"), ("b", "a")], [("a", "b")]),
        ([("de_id", "en_id", "de_text", "en_text"), ("1", "2", "a", "b")], [("a", "b")]),
        ([("source", "target", "en", "de"), ("u", "v", "b", "a")], [("a", "b")]),
        ([("note", "Target", "Source"), ("n", "b", "a")], [("a", "b")]),
        ([("n", "en-US", "de", "m"), ("n", "b", "a"), ("n", "c", "d", "", "")],
         [("a", "b"), ("d", "c")]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_header_names_the_columns(read, rows, expected, delimiter):
    reading = CorpusReading()

    assert expected == read("a.csv", table(rows, delimiter=delimiter), reading=reading)
    assert reading.noticed == ({"header_row": 1} if len(rows) > 1 else {})


def test_a_row_is_named_by_its_number(refusal, read):
    """If the setting says so, the row is dropped and counted."""
    content = b'de,en\n"a\n",b\nc,d,e\nx,sch\xf6n\n'
    assert refusal("a.csv", content).startswith("a.csv row 3 has 3 columns instead of 2; ")
    told = refusal("a.csv", content, drop=["wrong_columns"])
    assert told.startswith("row 4 of a.csv is not UTF-8 (byte 6 is 0xf6)")
    reading = CorpusReading()
    assert read("a.csv", content, drop=DAMAGED, reading=reading) == [("a ", "b")]
    assert reading.dropped == {"wrong_columns": 1, "invalid_utf8": 1}

    assert "the target of a.xlsx row 3 " in refusal(
        "a.xlsx", xlsx([("a", "b"), ("c", "")]), drop=()
    )
    assert "the source of a.tmx unit 2 " in refusal("a.tmx", tmx([("a", "b"), ("", "d")]), drop=())


def test_objects_of_json(read, refusal):
    """A unit can lack a side, and a line can be blank; both are counted as in all formats."""
    lines = (
        '{"English": "Yes.", "src": "Ja.", "n": 7}\n\n{"src": "Nein."}\n{"src": "J", "English": 1}'
    )
    assert read("a.jsonl", b"\xef\xbb\xbf" + lines.encode()) == [("Ja.", "Yes.")]
    assert "a.jsonl line 2 is empty" in refusal("a.jsonl", lines.encode(), drop=())
    assert read("a.jsonl", b"\n") == []


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
DOCTYPES = {
    "bomb": f'<!DOCTYPE tmx [<!ENTITY e0 "ha">{BOMB}]>',
    "file": '<!DOCTYPE tmx [<!ENTITY e9 SYSTEM "file:///etc/hostname">]>',
    "net": '<!DOCTYPE tmx [<!ENTITY e9 SYSTEM "http://127.0.0.1:1/x">]>',
    "parameter": '<!DOCTYPE tmx [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]>',
}


@pytest.mark.parametrize("kind", DOCTYPES)
def test_entities_read_no_file_and_fill_no_memory(refusal, kind):
    content = tmx([("a", "b")]).partition(b"\n")[2].replace(b">a<", b">&e9;<")

    assert "is not well-formed XML" in refusal("a.tmx", DOCTYPES[kind].encode() + content)


def test_numbered_characters_of_excel(read):
    reading = CorpusReading()
    rows = [("de", "en"), ("Eins_x000D_\nzwei", "_x0031_ two")]

    assert read("a.xlsx", workbook(rows), reading=reading) == [("Eins zwei", "1 two")]
    assert reading.repaired == {"inner_line_break": 1}


@pytest.mark.parametrize("suffix", [*WRITERS])
@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_truncated_archive_is_damaged(refusal, suffix, cut):
    for ending, compress in COMPRESSORS.items():
        content = compress(WRITERS[suffix](PAIRS * 50))
        told = refusal(f"a.{suffix}{ending}", content[: int(cut * len(content))])
        assert f"a.{suffix}{ending} is damaged" in told
        other = refusal(f"a.{suffix}{ending}", b"no archive, whatever its name says " * 9)
        assert f"a.{suffix}{ending} is damaged" in other
    content = moses(PAIRS)
    assert "a.zip is damaged" in refusal("a.zip", content[: int(cut * len(content))])


@pytest.mark.parametrize("ending", [*COMPRESSORS, ".zip"])
def test_unpacked_size_is_limited(refusal, monkeypatch, ending):
    monkeypatch.setattr(raw_lines, "MIN_UNPACKED_LIMIT", 10_000)
    bomb = b"0" * 3_000_000
    content = zipped(**{"a.tsv": bomb}) if ending == ".zip" else COMPRESSORS[ending](bomb)

    assert "times its size" in refusal(f"a.tsv{ending}", content)


def test_unpacked_size_of_a_workbook_is_limited(refusal, monkeypatch):
    monkeypatch.setattr(tables, "MIN_UNPACKED_LIMIT", 10_000)
    content = rezip(xlsx(PAIRS), "xl/media/image1.png", lambda _: b"0" * 3_000_000)

    assert "a.xlsx unpacks to more than" in refusal("a.xlsx", content)


FAR = [
    ('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', 1 << 25, "16,384 columns"),
    ('<row><c r="c17"><v>1</v></c></row>', 50, "3 columns"),
    ('<row><c r="B25"><v>1</v></c></row>', 50, None),
    ('<row><c r="AA2"><v>1</v></c></row>', 50, "27 columns"),
    ('<row><c r="Y2"><v>1</v></c></row>', 50, None),
    ('<row r="17"><c/><c/><c><is><t>x</t></is></c></row>', 50, "3 columns"),
    ('<row r="16"/><row><c/><c/><c><v>1</v></c></row>', 50, "3 columns"),
    ('<row r="25"><c/><c><v>1</v></c></row>', 50, None),
    ('<row r="99"><c r="Z99" s="1"/></row>', 50, None),
]
"""Return rows after the first of a sheet, the limit of cells, and the reason of refusal."""


@pytest.mark.parametrize(("rows", "limit", "reason"), FAR)
def test_sheet_with_far_values_is_refused(tmp_path, monkeypatch, rows, limit, reason):
    monkeypatch.setattr(tables, "MAX_CELLS", limit)
    content = workbook([("de", "en")])
    path = tmp_path / "a.xlsx"
    path.write_bytes(
        rezip(
            content, SHEET, lambda xml: xml.replace(b"</sheetData>", f"{rows}</sheetData>".encode())
        )
    )
    with nullcontext() if reason is None else pytest.raises(CorpusError, match=reason):
        assert open_units(path, GERMAN)


def test_archives_of_aligned_files(read, refusal):
    """In the layout of OPUS."""
    pairs = [("Äpfel", "apples"), ("ja", "yes")]
    assert pairs == read("a.txt.zip", moses(pairs))
    beside = {"__MACOSX/a.en": b"", ".hidden.en": b"", "a.scores": b"", "LICENSE.en": b""}
    plain = dict.fromkeys(("a.de", "a.en"), b"\xef\xbb\xbfja\r\n")
    assert [("ja", "ja")] == read("a.zip", zipped(**beside, **plain))
    turned = Languages(source="en", target="de")
    assert [pair[::-1] for pair in pairs] == read("a.zip", moses(pairs), languages=turned)
    others = Languages(source="fr", target="en")
    assert "Tatoeba.de-en.de" in refusal("a.zip", moses(pairs), languages=others)
    reading = CorpusReading()
    long = zipped(**{"a.de": b"x" * 200_000 + b"\nja", "a.en": b"no\nyes"})
    assert read("a.zip", long, reading=reading) == [("ja", "yes")]
    assert reading.dropped == {"line_too_long": 1}


def test_sides_may_be_compressed_differently(tmp_path):
    paths = [tmp_path / "a.de.zst", tmp_path / "a.en.zip"]
    paths[0].write_bytes(COMPRESSORS[".zst"](b"ja\n"))
    paths[1].write_bytes(zipped(**{"a.en": b"yes\n"}))
    [rows] = cut_rows(Text((tuple(paths),), (), GERMAN), 9, scratch=tmp_path)

    pairs = [pair for _, pair in read_pairs(rows, drop=(), reading=CorpusReading())]
    assert pairs == [("ja", "yes")]


def test_a_file_is_read_as_a_stream(tmp_path, monkeypatch):
    """The first units are read before the last ones arrive."""
    for suffix in ("tmx", "xlf", "xliff", "csv", "tsv"):
        content = WRITERS[suffix](PAIRS * 10_000)
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(content[: len(content) * 9 // 10])
        assert next(iter(open_units(path, GERMAN).rows)) is not None


@given(
    suffix=st.sampled_from([*WRITERS, "zip"]),
    at=st.floats(0, 1),
    cut=st.integers(0, 20),
    put=st.binary(max_size=3) | st.sampled_from([b"&x;", b"<", b'"', b"\0", b"9999999", b"-1"]),
    member=st.integers(0, 20),
)
@example(suffix="zip", at=0.5, cut=0, put=b"\0", member=0)
def test_damaged_file_is_read_or_refused(tmp_path_factory, suffix, at, cut, put, member):
    content = moses(PAIRS) if suffix == "zip" else WRITERS[suffix](PAIRS)

    def damage(whole):
        place = int(at * len(whole))
        return whole[:place] + put + whole[place + cut :]

    if suffix in ("zip", "xlsx") and member:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
        content = rezip(content, names[member % len(names)], damage)
    else:
        content = damage(content)
    path = tmp_path_factory.mktemp("damaged") / f"a.{suffix}"
    path.write_bytes(content)
    told = str(path)
    try:
        for row in open_units(path, GERMAN).rows:
            assert all(isinstance(side, str) for side in row)
    except CorpusError as error:
        told = str(error)
    assert str(path) in told
    assert len(told.splitlines()) == 1


def test_memory_stays_bounded(tmp_path):
    path = tmp_path / "a.tmx"
    path.write_bytes(tmx(PAIRS * 10_000))

    for _, around in iterate_elements(path, ["tu"]):
        assert len(around[-1]) < 1000  # as many units as are read at once


@pytest.mark.parametrize(
    ("name", "package"), [("a.xlsx", "python_calamine"), ("a.tsv.zst", "backports")]
)
def test_missing_package_is_named(refusal, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    if name.endswith(".zst") and sys.version_info >= (3, 14):
        pytest.skip("part of Python")

    told = refusal(name, COMPRESSORS[".zst"](b"ja\tyes\n"))
    assert re.search(r"run: .*pip install '.*\[formats\]'", told)
