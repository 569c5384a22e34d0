import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.documents.messages import DEEPEST_CHOICE, read_message
from nmt_core.documents.passage import Kind, Mark, Passage
from nmt_core.documents.placeholders import (
    find_placeholders,
    keep_placeholders,
)
from tests.support.echoes import answer, keep, shout, show_passages

CHOICE = (
    "{n, plural, =0 {none} one {One file} other {{n} files of {who, select, a {his} other {x}}}}"
)
NESTED = (
    "{g, select, female {{n, plural, one {She has # file.} other {She has # files.}}} other {}}"
)
WORDS = st.sampled_from(["%s", "%d", "{a}", "{{b}}", "%%", "word", "{", "}", "%", " "])
TEXTS = st.lists(WORDS, max_size=8).map(" ".join)


def test_branches_of_a_choice_are_translated():
    assert show_passages(read_message(NESTED)) == ["She has # file.", "She has # files."]
    assert shout(read_message("{n, plural, one {a file} other {files}}")) == (
        "{n, plural, one {A FILE} other {FILES}}"
    )


@pytest.mark.parametrize(("depth", "read"), [(DEEPEST_CHOICE, True), (DEEPEST_CHOICE + 1, False)])
def test_choices_within_each_other_are_read_to_a_depth(depth, read):
    text = "{n, plural, other {" * depth + "a file" + "}}" * depth

    assert bool(read_message(text).passages) == read


@pytest.mark.parametrize(
    "text",
    [
        *(CHOICE, f"You have {NESTED}", f"{NESTED} more", "{n, plural, one {'{'} other {b}}"),
        *("{n, plural, one {a}", "{n, plural, one {a} other {b}}}", "{n, plural,}x"),
    ],
)
def test_what_cannot_be_read_stays(text):
    assert read_message(text).passages == []
    assert shout(read_message(text)) == text


@given(st.one_of(st.text("{}',# npluraosetc=1"), st.sampled_from([CHOICE, NESTED])))
def test_what_is_translated_to_itself_stays_as_it_was(text):
    assert keep(read_message(text)) == text


@pytest.mark.parametrize("answered", ["l'", "c'est", "l'#", "'''"])
def test_an_apostrophe_quotes_nothing(answered):
    written = answer(read_message("{n, plural, one {a} other {b}}"), answered)

    assert "'}" not in written
    assert "'#" not in written


def test_tags_are_markup_and_lines_are_lines():
    assert show_passages(read_message("See <a href='%s'>this</a> &amp; that")) == [
        "See <this> & that"
    ]
    assert shout(read_message("- a\n- b < c")) == "- A\n- B < C"


def test_tags_that_are_numbers_are_markup():
    assert show_passages(read_message("See <0/> <12>this <1>it</1></12>")) == ["See *<this <it>>"]
    for text in ("<1>a</1> <0/> b", "a <1> b", "a </2> b", "a <3 and b> 4 c"):
        assert keep(read_message(text)) == text
    assert shout(read_message("a <1>b</1> <0/> c")) == "A <1>B</1> <0/> C"


def test_tags_of_components_are_markup():
    assert show_passages(
        read_message("See <Terms to='/x'>our <nb>terms</nb></Terms> <Icon/> !")
    ) == ["See <our <terms>> *!"]
    assert show_passages(read_message("a <p>b</p> <file> <!-- c --> d")) == ["a ", "b", "*d"]


@pytest.mark.parametrize(
    ("text", "shouted"),
    [
        ("a &amp; b&nbsp;c", "A &amp; B C"),
        ("fl&uuml;ssig", "FLÜSSIG"),
        ("don&#39;t <b>go</b>", "DON&#x27;T <b>GO</b>"),
        ("R&D <b>x & y</b> a < b", "R&D <b>X & Y</b> A < B"),
        ("a &amp; b\n- c?x=1&amp;y", "A &amp; B\n- C?X=1&amp;Y"),
        ("&product; &copy=1", "&PRODUCT; &COPY=1"),
        ("&product; <b>a</b>", "&PRODUCT; <b>A</b>"),
    ],
)
def test_characters_are_written_by_their_names_where_the_source_does_so(text, shouted):
    assert shout(read_message(text)) == shouted
    assert keep(read_message(text)) == text


def count_placeholders(items):
    return sorted(
        place.text for item in items if isinstance(item, str) for place in find_placeholders(item)
    )


@settings(max_examples=60)
@given(TEXTS, st.lists(st.one_of(TEXTS, st.just(Mark(Kind.POINT, 1))), max_size=4))
def test_no_placeholder_is_lost_or_doubled(source, items):
    kept = keep_placeholders(Passage((source,)), items)

    assert count_placeholders(kept) == count_placeholders([source])
    assert [item for item in kept if isinstance(item, Mark)] == [
        item for item in items if isinstance(item, Mark)
    ]


@given(TEXTS)
def test_what_has_all_placeholders_stays(text):
    assert keep_placeholders(Passage((text,)), (text,)) == (text,)


@pytest.mark.parametrize(
    ("source", "translated", "kept"),
    [
        ("{n} files", "Dateien", "{n} Dateien"),
        ("all {n} files", "alle Dateien", "alle {n} Dateien"),
        ("all of {n}", "alle {n} von {n}", "alle {n} von"),
        ("%s of %d", "%d von %s", "%s von %d"),
        ("%1$s of %2$d", "%2$d von %1$s", "%2$d von %1$s"),
        ("of {n}", "von {n", "von {n} n"),
        ("a {b", "c {d", "c {d"),
        ("a {n} b", "a {n}{n}s%{s b", "a {n}s% s b"),
    ],
)
def test_placeholders_are_put_right(source, translated, kept):
    assert keep_placeholders(Passage((source,)), (translated,)) == (kept,)


NAMED = "%1 %L2 %n %1% %name% :name $NAME$ @:key.a @.lower:(key) {{{a}}} $t(key,{x:1}) <%=@a%>"


@pytest.mark.parametrize("name", NAMED.split())
def test_placeholders_of_all_formats_are_found(name):
    assert [place.text for place in find_placeholders(f"a {name} b")] == [name]


@pytest.mark.parametrize(
    "text",
    [
        *("a: b", "12:30", "a::b", "it is :)", "5 %", "10%", "%12", "%1.5", "a:hover", "5 $"),
        *("Nutzer:innen", "50 %.", "A4", "CO2"),
    ],
)
def test_other_signs_are_not_placeholders(text):
    assert [place.text for place in find_placeholders(text)] in ([], [text])


def test_named_placeholders_may_change_places():
    passage = Passage(("%1 of %2 for %name%",))

    assert keep_placeholders(passage, ("%name%: %2 von %1",)) == ("%name%: %2 von %1",)


def test_marks_leave_placeholders():
    mark = Mark(Kind.POINT, 1)

    kept = keep_placeholders(Passage(("%s a {n}",)), ("%", mark, "s {", mark, "n", mark, "} b"))

    assert kept == ("%s", mark, " {n}", mark, "", mark, " b")
