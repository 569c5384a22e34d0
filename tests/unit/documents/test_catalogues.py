import io
import json
from functools import partial

import pytest
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import DocumentError
from nmt_core.documents.catalogues import read_json_strings, read_po_file
from tests.support.echoes import DOUBTFUL, Answer, Echo, answer, keep, shout, show_passages

HEADER = r"""# A comment.
msgid ""
msgstr ""
"Content-Type: text/plain; charset={charset}\n"
"Language: {language}\n"
"Plural-Forms: nplurals={plural};\n"

"""
ROWS = r"""
msgid "Hello %s" | msgstr "" | msgstr "Hello %s"
#. b;#: a.c:1;#, c-format, no-wrap;msgctxt "1";msgid "%(n)d 5%%" | msgstr "" | msgstr "%(n)d 5%%"
msgid "\"a\" <b>b</b>\n" | msgstr "" | msgstr "\"a\" <b>b</b>\n"
msgid "";"a\n";"{é}" | msgstr "" | msgstr "";"a\n";"{é}"
msgid "one";msgid_plural "many" | msgstr[0] "";msgstr[1] "" | msgstr[0] "one";msgstr[1] "many"
msgid "one %d";msgid_plural "many" | msgstr[0] "";msgstr[1] "x" | msgstr[0] "one %d";msgstr[1] "x"
msgid "two" | msgstr "zwei" | msgstr "zwei"
#~ msgid "x" | #~ msgstr "" | #~ msgstr ""
"""
"""Messages, their translations, and the result if each is translated to itself."""


def head(language="de", plural="2; plural=n != 1", charset="UTF-8"):
    return HEADER.format(language=language, plural=plural, charset=charset)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_bytes_but_targets_stay(end):
    rows = [row.replace(";", "\n").split(" | ") for row in ROWS.strip().splitlines()]
    before, after = (
        (head() + "\n\n".join(f"{row[0]}\n{row[side]}" for row in rows)).replace("\n", end)
        for side in (1, 2)
    )

    assert keep(read_po_file(before.encode(), ("en", "de"))).decode() == after
    assert keep(read_po_file(after.encode(), ("en", "de"))).decode() == after


def read_messages(data):
    """Return the messages of a file, as Babel reads it."""
    return [message for message in read_po(io.BytesIO(data)) if message.id]


MESSAGES = r"""
#. Note.
#, fuzzy, c-format
#| msgid "Old"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "alt"
msgstr[1] ""

msgid "Done"
msgstr "Fertig"

#, fuzzy
msgid ""
"Two\n"
"lines"
msgstr "x"

#~ msgid "Gone"
#~ msgstr ""
"""


def test_translation_is_read_by_babel():
    data = (head() + MESSAGES).encode()
    written = Echo(lambda line: line.replace("file", "Datei")).translate(
        read_po_file(data, ("en", "de"))
    )

    assert [(message.string, "fuzzy" in message.flags) for message in read_messages(written)] == [
        (("%d Datei", "%d Dateis"), False),
        ("Fertig", False),
        ("Two\nlines", False),
    ]


@pytest.mark.parametrize("doubtful", DOUBTFUL)
def test_doubtful_translation_is_fuzzy(doubtful):
    data = (head() + '#, c-format\nmsgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n').encode()
    good = Answer("x", confidence=0.4)

    written = Echo(lambda line: doubtful if line == "a" else good).translate(
        read_po_file(data, ("en", "de"))
    )

    assert [message.fuzzy for message in read_messages(written)] == [True, False]
    assert written.decode().count("#, fuzzy, c-format\n") == 1


@pytest.mark.parametrize(
    ("answered", "is_fuzzy"),
    [("%s of %d", False), ("%d of %s", True), ("nothing % here", True), ("%s %s %d", True)],
)
def test_broken_placeholders_are_fuzzy(answered, is_fuzzy):
    data = (head() + '#, c-format\nmsgid "%s has %d of it"\nmsgstr ""\n').encode()

    [message] = read_messages(Echo(lambda _: answered).translate(read_po_file(data, None)))

    assert (message.string, message.fuzzy) == (answered, is_fuzzy)


@pytest.mark.parametrize(
    ("plural", "forms"),
    [
        ("1; plural=0", ["many"]),
        ("2; plural=n != 1", ["one", "many"]),
        ("3; plural=n==1 ? 0 : n%10>=2 ? 1 : 2", ["one", "many", "many"]),
        ("6; plural=n==0 ? 0 : n==1 ? 1 : 5", ["many", "one", *["many"] * 4]),
        ("2; plural=n/0", ["one", "many"]),
        ("99; plural=0", ["one"]),
    ],
)
def test_plural_forms_follow_the_header(plural, forms):
    message = 'msgid "one"\nmsgid_plural "many"\nmsgstr[0] ""\n\nmsgid "a"\nmsgstr ""\n'

    written = keep(read_po_file((head(plural=plural) + message).encode(), ("en", "de"))).decode()

    assert [line for line in written.splitlines() if line.startswith("msgstr[")] == [
        f'msgstr[{number}] "{text}"' for number, text in enumerate(forms)
    ]


@pytest.mark.parametrize(
    ("codes", "language"), [(("en", "pt-BR"), rb'"Language: pt_BR\n"'), (None, rb'"Language: \n"')]
)
def test_missing_language_is_written(codes, language):
    data = (head(language="") + 'msgid "a"\nmsgstr ""\n').encode()

    assert language in keep(read_po_file(data, codes))


@pytest.mark.parametrize("before", [b'msgstr ""\n"Con', b'msgstr "Con'])
def test_encoding_stays(before):
    data = (head(charset="ISO-8859-1") + 'msgid "é"\nmsgstr ""\n').encode("latin-1")
    data = data.replace(b'msgstr ""\n"Con', before, 1)

    assert shout(read_po_file(data, None)).endswith('msgstr "É"\n'.encode("latin-1"))
    with pytest.raises(DocumentError, match="ISO-8859-1, which cannot encode"):
        Echo(lambda _: "\N{SNOWMAN}").translate(read_po_file(data, None))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('msgid "a"\nmsgid "b"\n', "line 2 of"),
        ('msgid "a"\n', "line 1 of"),
        ('msgstr "a"\n', "line 1 of"),
        ('msgid "a" b\nmsgstr ""\n', "line 1 of"),
        ("<xml/>", "line 1 of"),
        ("\xff", "is not UTF-8"),
        (head(language="fr"), "translates into 'fr', and not 'de'"),
        (head(charset="rot13"), "not in rot13"),
        (f'msgid "{"a" * 1_000_000}"\nmsgstr ""\n', "1,000,0.. characters"),
    ],
)
def test_wrong_file_is_refused(text, message):
    with pytest.raises(DocumentError, match=message):
        read_po_file(text.encode("latin-1"), ("en", "de"))


CODES = ("en", "de")
BITS = ["Hi you", "{{n}}", "{n}", "$t(key)", "<b>x</b>", '"', "\\", "\n", "é", "100%", "%s", ""]
STRING = st.one_of(st.lists(st.sampled_from(BITS), max_size=4).map(" ".join), st.text(max_size=5))
VALUES = st.recursive(
    st.one_of(STRING, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(STRING, inner, max_size=3)
    ),
    max_leaves=6,
)
LOOKS = st.sampled_from(
    [
        partial(json.dumps, indent=2, ensure_ascii=False),
        partial(json.dumps, indent="\t"),
        partial(json.dumps, separators=(",", " : ")),
    ]
)


@given(VALUES, LOOKS, st.sampled_from(["\n", "\r\n"]))
def test_unchanged_json_stays_byte_for_byte(value, write, end):
    data = write(value).replace("\n", end).encode("utf-8", "surrogatepass")

    assert keep(read_json_strings(data, CODES)) == data


def test_values_are_translated():
    data = b'{"a": "one",\n "one": ["two", {"b": "three \\u00fc {{N}} \\/"}], "n": 1}'

    assert shout(read_json_strings(data, CODES)) == (
        b'{"a": "ONE",\n "one": ["TWO", {"b": "THREE \\u00dc {{N}} /"}], "n": 1}'
    )


ARB = """{
  "@@locale": "en",
  "greeting": "Hi {NAME}",
  "@greeting": {"description": "Says hi", "placeholders": {"name": {"example": "Bob"}}},
  "files": "{n, plural, =0{no files} other{{N} files}}",
  "@files": {"description": "Count"},
  "@bob liked": ["Bye"]
}
"""


def test_figures_alone_and_lost_placeholders_stay():
    data = b'{"version": "1.0", "rate": "1.5 of 5", "share": "100%"}'

    assert show_passages(read_json_strings(data, CODES))[0] == "1.0"
    assert answer(read_json_strings(data, CODES), "x") == data.replace(b"1.5 of 5", b"x")
    assert answer(read_json_strings(b'["a {n}", "b"]', CODES), "x") == b'["a {n}", "x"]'


def test_metadata_stay_and_locale_changes():
    read = read_json_strings(ARB.encode(), ("en", "pt-BR"))

    assert show_passages(read) == ["Hi {NAME}", "Bye"]
    assert read.untranslated.total() == 1
    assert shout(read_json_strings(ARB.encode(), ("en", "pt-BR"))).decode() == (
        ARB.replace('"en"', '"pt_BR"').replace("Hi {NAME}", "HI {NAME}").replace("Bye", "BYE")
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1 of this document is not valid JSON"),
        (b'{"a": "b",}', "not valid JSON"),
        (b'{\n"a": b}', "line 2 of this document is not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\xff", "not UTF-8"),
        (b'["%s"]' % (b"a" * 10**6), "unit of .* 100,000"),
        (b'{"@@locale": "fr"}', "is in 'fr', and not 'en'"),
    ],
)
def test_wrong_json_is_refused(data, message):
    with pytest.raises(DocumentError, match=message):
        read_json_strings(data, CODES)
