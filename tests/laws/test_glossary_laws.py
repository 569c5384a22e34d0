"""Laws of glossaries: terms match whole words, inflected or not, and nothing else."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError
from nmt_core.literals.checking import check_literals
from nmt_core.literals.finding import find_literals
from nmt_core.literals.glossary import (
    Glossary,
    TermFinder,
    find_stem,
    join_glossaries,
    matches_case,
    stem_words,
)
from nmt_core.literals.masking import write_literal

LANGUAGES = ("de", "en")
WORDS = ("Ausschuss", "ausschuss", "Bericht", "gut", "C++", "EU", "eu", "x", "neuer")
TERMS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
FORMS = st.text("abc XY", min_size=1, max_size=8).filter(lambda form: form == form.strip())
ENTRIES = st.dictionaries(TERMS, st.lists(FORMS, max_size=3, unique=True).map(tuple), max_size=8)


def find_by_trying(terms, line, language):
    """Return the spans of terms, by comparing every term with every word."""
    words, at, spans = stem_words(line, language), 0, []
    while at < len(words):
        fitting = [0]
        for term in terms:
            wanted = stem_words(term, language)
            there = words[at : at + len(wanted)]
            if [w.stem for w in there] == [w.stem for w in wanted] and all(
                matches_case(one.text, other.text) for one, other in zip(there, wanted, strict=True)
            ):
                fitting.append(len(wanted))
        if length := max(fitting):
            spans.append((words[at].start, words[at + length - 1].end))
        at += length or 1
    return spans


@given(
    st.lists(TERMS, max_size=6),
    st.lists(st.sampled_from([*WORDS, "Ausschüsse", "EUs", "-", "Berichte"])).map(" ".join),
)
def test_terms_equal_an_exhaustive_search(terms, line):
    found = [(start, end) for start, end, _ in TermFinder(terms, "de").find(line)]
    assert found == find_by_trying(terms, line, "de")


@given(ENTRIES)
@settings(max_examples=30)
def test_saved_glossary_loads_unchanged(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("glossary") / "terms.tsv"
    given_one = Glossary(entries, LANGUAGES)
    given_one.save(path)
    assert Glossary.load(path, LANGUAGES).translations == entries


@given(ENTRIES, st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
@settings(max_examples=30)
def test_first_translations_of_all_terms_are_accepted(entries, line):
    kinds = Glossary(entries, LANGUAGES).finders
    literals = find_literals(line, "de", kinds)
    written = " ; ".join(write_literal(one, line, LANGUAGES) for one in literals)
    assert check_literals(line, written, LANGUAGES, kinds) == []
    if literals:
        assert check_literals(line, "nothing", LANGUAGES, kinds)


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", ["Ausschuss", "Ausschusses", "Ausschüsse", "Ausschüssen"]),
        ("en", ["committee", "committees", "Committee", "COMMITTEES"]),
        ("fr", ["parlementaire", "parlementaires"]),
        ("de-AT", ["Parlament", "Parlamente", "Parlamentes"]),
        ("fi", ["valiokunta", "valiokunnan"][:1]),
        ("xx", ["tlhIngan", "TLHINGAN"]),
    ],
)
def test_forms_of_a_word_have_one_stem(language, forms):
    assert len({find_stem(form, language) for form in forms}) == 1


@pytest.mark.parametrize(
    ("term", "line", "texts"),
    [
        ("Ausschuss", "Der Ausschuss des Ausschusses", ["Ausschuss", "Ausschusses"]),
        ("Ausschuss", "der ausschuss, AUSSCHUSS", ["AUSSCHUSS"]),
        ("gut", "Gut, gut, GUT; gutgläubig", ["Gut", "gut", "GUT"]),
        ("EU", "EU eu Eu EUs", ["EU"]),
        ("C++", "C++ und C+", ["C++"]),
        ("New York", "New\tYork Newyork", ["New\tYork"]),
        ("東京", "私は東京都に", ["東京"]),
        ("a b", "a a b", ["a b"]),
    ],
)
def test_term_matches_whole_words_in_fitting_case(term, line, texts):
    kinds = Glossary({term: ("x",)}, ("ja" if term == "東京" else "de", "en")).finders
    found = find_literals(line, "ja" if term == "東京" else "de", kinds)
    assert [one.text for one in found] == texts


def test_composed_and_decomposed_letters_match():
    """macOS writes ü as u and a combining mark, and so does text copied from PDF."""
    terms = {"prüfen": ("examine",), "Müller": (), "EÜ": ("ET",)}
    kinds = Glossary(terms, LANGUAGES).finders
    line = unicodedata.normalize("NFD", "Wir prüfen Müller und PRÜFEN Müllers EÜ, eü.")
    found = [one.text for one in find_literals(line, "de", kinds)]

    assert found == [
        unicodedata.normalize("NFD", one) for one in ("prüfen", "Müller", "PRÜFEN", "EÜ")
    ]
    assert check_literals(line, f"We examine {found[1]}, examine ET", LANGUAGES, kinds) == []


def test_each_translation_of_a_term_counts_once():
    kinds = Glossary({"Ausschuss": ("panel", "board"), "Gremium": ("board",)}, LANGUAGES).finders

    def check(source, translation):
        return [(b.text, b.expected) for b in check_literals(source, translation, LANGUAGES, kinds)]

    assert check("Der Ausschuss", "The panels and the panel") == [("panel", "")]
    assert check("Die Ausschüsse", "Boards") == []
    assert check("Das Gremium", "The board") == []
    assert check("Das Gremium", "The body") == [("Gremium", "board")]
    assert check("Der Ausschuss und der Ausschuss", "The panel") == [("Ausschuss", "panel")]
    assert check("Nichts", "The panel") == []


def test_first_of_several_glossaries_has_precedence():
    one, other = Glossary({"a": ("b",)}, LANGUAGES), Glossary({"a": ("c",), "d": ()}, LANGUAGES)
    assert join_glossaries([one, other]).translations == {"a": ("b",), "d": ()}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["x\ty", "a\t\tb"], ["line 2", "empty"]),
        (["\tb"], ["line 1", "empty"]),
        (["a\tb", "", "a\tc"], ["line 3", "'a'", "line 1"]),
        (["a", "a\tb"], ["line 2", "line 1"]),
        (["{x}"], ["'{x}'", "remove the line"]),
        (["42"], ["'42'", "remove the line"]),
        (["a" * 201], ["201", "200"]),
        (["a\x07\tb"], ["control"]),
        (["a\tb\ue010"], ["control"]),
        (["Hof Tribunal"], ["line 1", "'Hof Tribunal'", "by a tab or ' = '"]),
    ],
)
def test_wrong_entry_is_reported_with_its_line(lines, says):
    with pytest.raises(ConfigError) as error:
        Glossary.parse(lines, LANGUAGES, name="terms.tsv")
    assert all(word in str(error.value) for word in ["terms.tsv", *says])


def test_equals_sign_or_tab_separates_an_entry():
    lines = ["Hof = High Tribunal", "New York\t", "C =\td"]
    expected = {"Hof": ("High Tribunal",), "New York": (), "C =": ("d",)}
    assert Glossary.parse(lines, LANGUAGES).translations == expected


def test_glossary_of_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeffa\tb\t\t\r\n# comment\r\nc \t d\r\n\r\na\tb\r\n".encode())
    assert Glossary.load(path, LANGUAGES).translations == {"a": ("b",), "c": ("d",)}
    path.write_bytes(b"\xff")
    for wrong in (path, tmp_path / "none"):
        with pytest.raises(ConfigError, match="cannot be read"):
            Glossary.load(wrong, LANGUAGES)


def test_case_length_and_line_conditions_are_checked():
    kinds = Glossary({"McDonald": ("x",)}, LANGUAGES).finders
    assert [one.text for one in find_literals("MCDONALD mcdonald", "de", kinds)] == ["MCDONALD"]
    assert Glossary.parse(["a" * 200, "e\u0301"], LANGUAGES).translations == {
        "a" * 200: (),
        "é": (),
    }
    with pytest.raises(ConfigError, match="another translation in line 1"):
        Glossary.parse(["a\tb", "a\tb", "a\tc"], LANGUAGES)
