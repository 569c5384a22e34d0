import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.document import Untranslated, make_document
from nmt_core.documents.messages import find_placeholders, has_same_placeholders, read_message
from nmt_core.documents.segments import InlineTag, Role
from tests.support.echoes import keep, shout, show_passages


def read(text):
    untranslated = Untranslated()
    return make_document(read_message(text, untranslated), untranslated)


CHOICE = "{n, plural, =0 {none} one {One file} other {{n} files}}"

KEPT = "code kbd pre samp script style var"
BLOCKS = "p br div li ul ol table tr td th h1 h6 hr blockquote"


@given(st.one_of(st.text("{}',# npluraosetc=1<&>;/-!"), st.text()))
def test_unchanged_message_stays(text):
    assert keep(read(text)) == text


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("See <a href='%s'>this</a> &amp; that", ["See <this> & that"]),
        ("See <0/> <12>this <1>it</1></12>", ["See *<this <it>>"]),
        ("See <Terms to='/x'>our <nb>terms</nb></Terms> <Icon/> !", ["See <our <terms>> *!"]),
        ("a <p>b</p> <file> <!-- c --> d<br>e", ["a ", "b", "*d", "e"]),
        ("a <code>b c</code> d <Code>e</CODE>", ["a *d*"]),
        ("%<b> c", ["%<b> c"]),
        *((f"a <{name}>b</{name}> c", ["a *c"]) for name in KEPT.split()),
        *((f"a <{name}>b", ["a ", "b"]) for name in BLOCKS.split()),
        *((f"a <{name}> b", ["a *b"]) for name in ("img", "input", "wbr")),
    ],
)
def test_tags_are_markup(text, passages):
    assert show_passages(read(text)) == passages


@pytest.mark.parametrize(
    "text", [CHOICE, f"You have {CHOICE}", "{x , select,}", "{a,selectordinal,x"]
)
def test_choice_stays_and_is_counted(text):
    message = read(text)

    assert shout(message) == text
    assert message.untranslated.total() == 1


@pytest.mark.parametrize(
    ("text", "shouted"),
    [
        ("- a\n- b < c", "- A\n- B < C"),
        ("a <1>b</1> <0/> c", "A <1>B</1> <0/> C"),
        *((text, text.upper()) for text in ("<1>a</1> <0/> b", "a <1> b", "a <3 and b> 4 c")),
        ("a &amp; b&nbsp;c", "A &amp; B C"),
        ("fl&uuml;ssig", "FLÜSSIG"),
        ("don&#39;t <b>go</b>", "DON&#x27;T <b>GO</b>"),
        ("R&D <b>x & y</b> a < b", "R&D <b>X & Y</b> A < B"),
        ("a &amp; b\n- c?x=1&amp;y", "A &amp; B\n- C?X=1&amp;Y"),
        ("&product; &copy=1", "&PRODUCT; &COPY=1"),
        ("&product; <b>a</b>", "&PRODUCT; <b>A</b>"),
    ],
)
def test_translation_is_escaped_as_its_source(text, shouted):
    assert shout(read(text)) == shouted


@pytest.mark.parametrize("bit", ["<code>", "<!--", "<b ", "<b>", "</b>", "&a"])
def test_long_message_takes_no_time(bit):
    text = bit * (99_000 // len(bit))

    assert keep(read(text)) == text


NAMED = "%1 %L2 %n %1% %name% :name $NAME$ @:key.a @.lower:(key) {{{a}}} $t(key,{x:1}) <%=@a%>"


@pytest.mark.parametrize("name", NAMED.split())
def test_placeholders_of_all_formats_are_found(name):
    assert find_placeholders(f"a {name} b") == [name]


@pytest.mark.parametrize(
    "text",
    [
        *("a: b", "12:30", "a::b", "it is :)", "5 %", "10%", "%12", "%1.5", "a:hover", "5 $"),
        *("Nutzer:innen", "50 %.", "A4", "CO2"),
    ],
)
def test_other_signs_are_not_placeholders(text):
    assert find_placeholders(text) in ([], [text])


TAG = InlineTag(Role.EMPTY, 1)


@pytest.mark.parametrize(
    ("source", "translation", "is_same"),
    [
        (["all {n} files"], ["alle {n} Dateien"], True),
        (["{n} files"], ["Dateien"], False),
        (["all of {n}"], ["alle {n} von {n}"], False),
        (["%s of %d"], ["%d von %s"], False),
        (["%s of %s"], ["%s von %s"], True),
        (["%1$s of %2$d"], ["%2$d von %1$s"], True),
        (["%1 of %2 for %name%"], ["%name%: %2 von %1"], True),
        (["of {n}"], ["von {n", "}"], False),
        (["a {b"], ["c {d"], True),
        (["a {b"], ["c d"], False),
        (["%s a ", TAG, "{n}"], ["{n} a ", TAG, "%s"], True),
        (["%s a ", TAG], ["%", TAG, "s a"], False),
    ],
)
def test_lost_placeholder_is_noticed(source, translation, is_same):
    assert has_same_placeholders(source, translation) == is_same


def test_percent_sign_of_format_string_counts():
    assert has_same_placeholders(["a 5"], ["b 5 %"])
    assert not has_same_placeholders(["a 5"], ["b 5 %"], "{}%")
