"""Odd case follows its definition, and accents return only in lines without accents."""

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError
from nmt_core.base.files import write_json
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import FILE, Restorer, find_odd_case

WORDS = ("das", "Haus", "KM", "m²", "1.", "-", "«Äpfel»", "éa", "Ü", "ß", "o'Neil", "x5", "日本")
LINES = st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join)


def define_odd_case(line):
    """The definition in the docstring: letters of words, with at most one exception in ten."""
    words = ["".join(regex.findall(r"[\p{L}\p{M}]", word)) for word in line.split()]
    words = [word for word in words if word]
    if len(words) < 3:
        return None
    capitals = sum(word == word.upper() and word != word.lower() for word in words)
    titles = sum(word[0].isupper() for word in words)
    if 10 * (len(words) - capitals) <= len(words):
        return "upper"
    if 10 * (len(words) - titles) <= len(words):
        return "title" if len(words) >= 5 else None
    return "lower" if all(map(str.islower, words)) else None


@given(LINES)
def test_odd_case_follows_its_definition(line):
    for one in (line, line.upper(), line.lower(), line.title()):
        assert find_odd_case(one) == define_odd_case(one)


ACCENTS = {"fur": "für", "fuer": "für", "schon": "schön"}


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Schon fur dich", "Schön für dich"),
        ("SCHON, FUR UNS", "SCHÖN, FÜR UNS"),
        ("nicht fuer dich", "nicht für dich"),
        ("schon da, schon weg", "schon da, schon weg"),  # one word may be an exception
        ("schon fur die Tür", "schon fur die Tür"),  # the keyboard has these letters
    ],
)
def test_accents_return_to_lines_without_accents(line, read):
    restored = Restorer({}, ACCENTS).restore(line)
    assert restored.line == read
    assert {*restored.restored_words} == {*read.replace(",", "").split()} - {
        *line.replace(",", "").split()
    }


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("WO IST DAS HAUS?", "Wo ist das Haus?"),
        ("wo ist die hauptstraße.", "Wo ist die Hauptstraße."),
        ("am alten wochenmarkt da", "am alten Wochenmarkt da"),  # a suffix of five letters
        ("im alten rathaus da", "im alten rathaus da"),  # a suffix of four letters
        ("2 haus sind da.", "2 Haus sind da."),
        ("Vielen Dank, Herr Haus.", "Vielen Dank, Herr Haus."),
    ],
)
def test_odd_case_becomes_ordinary(line, read):
    restorer = Restorer({"haus": "Haus", "straße": "Straße", "markt": "Markt"}, {})
    restored = restorer.restore(line, case=find_odd_case(line) is not None)
    assert restored.line == read


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fur coeur", "für cœur"),
        ("fuer", "für"),
        ("Strasse", "Strasse"),  # Swiss spelling
        ("GRUESSE", "GRÜSSE"),
        ("gruesse", "grüße"),
        ("Coeur", "Cœur"),
        ("manoeuvre", "manœuvre"),
        ("aarhus", "århus"),
        ("Koebenhavn", "København"),
        ("mueller", "mueller"),  # a different word
        ("neue", "neue"),
    ],
)
def test_text_of_keyboards_without_accents_is_restored(typed, meant):
    text = "für straße grüße cœur manœuvre århus københavn müller neü"
    restorer = Restorer.learn([text, text, "mueller mueller neue neue"])
    assert restorer.restore_accents(typed) == meant


@given(st.lists(st.text("aäoöuüßåæøœée", min_size=1, max_size=4), max_size=12))
def test_words_of_the_training_text_never_change(words):
    accents = Restorer.learn([" ".join(words * 2)]).accents
    assert accents.keys().isdisjoint(words)
    assert {*accents.values()} <= {*words}


@given(
    st.lists(st.sampled_from(["danke", "rat", "Eule", "eule", "ZUG", "x", "12", "東京都"])),
    st.sampled_from(["", "die EULE", "Zug x"]),
)
def test_unknown_words_are_in_neither_training_nor_keep(words, kept):
    line = " ".join(words)
    unknown = Restorer({}, {}, ["danke", "rat"]).restore(line, [kept]).unknown_words
    known = {"danke", "rat", "12", "東京都", *kept.lower().split()}
    assert unknown == tuple(dict.fromkeys(word for word in words if word.lower() not in known))
    assert Restorer({}, {}).restore(line) == (normalize(line), (), ())


@given(st.text("fuür dich\u00ad\u0308\u200b", max_size=20))
def test_all_spellings_of_a_line_are_restored_alike(line):
    restorer = Restorer({}, ACCENTS, ["für", "dich", "ich"])
    restored = restorer.restore(line)
    decomposed = unicodedata.normalize("NFD", line)
    assert restored == restorer.restore(decomposed) == restorer.restore(normalize(line))
    assert restorer.restore("Mün", [decomposed]) == restorer.restore("Mün", [line])


def test_case_is_learnt_within_sentences():
    lines = ["Das Haus", "Das Haus", "Das Rad", "Das Rad"]
    assert Restorer.learn([*lines, *["haus da"] * 3, *["Rad da"] * 3]).case == {"rad": "Rad"}


@given(st.dictionaries(st.text("abé", min_size=3, max_size=6), st.integers(1, 40), max_size=60))
def test_saved_words_load_unchanged(tmp_path_factory, counts):
    line = " ".join(word for word, count in counts.items() for _ in range(count))
    learnt = Restorer.learn([line])
    folder = tmp_path_factory.mktemp("tokenizer")
    learnt.save(folder)
    assert vars(Restorer.load(folder)) == vars(learnt)
    assert learnt.words == ({*counts} if max(counts.values(), default=0) >= 10 else set())


@pytest.mark.parametrize("saved", [[], {}, {"case": [], "accents": {}}, {"case": {"a": 1}}])
def test_damaged_file_is_reported_in_one_sentence(tmp_path, saved):
    write_json(tmp_path / FILE, saved)
    with pytest.raises(BundleError, match=r"restoration\.json cannot be read"):
        Restorer.load(tmp_path)
