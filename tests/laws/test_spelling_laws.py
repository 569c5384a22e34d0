"""A mistyped word comes back where one is sure of it; words that are right stay."""

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.files import write_json
from nmt_core.data.modifiers import TypingErrors
from nmt_core.text import spelling_correction
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import FILE, Restorer
from nmt_core.text.spelling_correction import SpellingCorrector, TypingError

WORDS = st.text("abé", min_size=3, max_size=6)
ALIKE = st.text("ab", min_size=3, max_size=5)
COUNTS = st.dictionaries(WORDS, st.integers(1, 40), max_size=60)
KNOWN = ("danke", "sehr", "ihren", "bericht", "haus", "rat")


def name_error(meant, typed):
    """Return 0 for a slip, 1 for an exchange, 2 for an addition, None for anything else."""
    if len(meant) == len(typed):
        differ = [at for at, pair in enumerate(zip(meant, typed, strict=True)) if len({*pair}) > 1]
        if len(differ) == 1:
            return 1
        swapped = len(differ) == 2 and differ[1] == differ[0] + 1
        return 0 if swapped and sorted(meant) == sorted(typed) else None
    longer, shorter = sorted((meant, typed), key=len, reverse=True)
    left_out = [at for at in range(len(longer)) if longer[:at] + longer[at + 1 :] == shorter]
    if not left_out:
        return None
    twice = any(longer[at : at + 1] == longer[at + 1 : at + 2] for at in left_out)
    return 0 if longer is meant or twice else 2


@given(
    st.lists(ALIKE, unique=True, min_size=10, max_size=40) | st.lists(WORDS, unique=True),
    st.integers(0, 40),
    ALIKE | WORDS,
)
def test_what_is_meant_is_the_most_frequent_word_of_the_likeliest_error(words, frequent, typed):
    frequent = min(frequent, len(words))
    candidates = [
        (kind, rank)
        for rank, word in enumerate(words[:frequent])
        if (kind := name_error(word, typed)) is not None
    ]
    expected = words[min(candidates)[1]] if candidates and len(typed) >= 4 else None
    if typed not in words:
        assert SpellingCorrector(words, frequent).find_meant(typed) == expected


@given(COUNTS)
def test_few_words_of_sound_text_are_taken_for_mistyped(counts):
    learnt = SpellingCorrector.learn(Counter(counts))
    once = [word for word, count in counts.items() if count == 1]
    taken = sum(learnt.find_meant(word) is not None for word in once)
    assert taken <= spelling_correction.FALSE * sum(counts.values())
    assert all(counts[word] >= 10 for word in learnt.words[: learnt.frequent])
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    assert [*learnt.words] == (ordered if learnt.frequent else [])


def test_as_many_words_are_believed_as_sound_text_allows():
    others = {f"{first}{second}uvwxyz": 100 for first in "ab" for second in "cd"}
    counts = Counter({"haus": 30_000, "maus": 20_000, "laut": 20, "naut": 1, **others})
    learnt = SpellingCorrector.learn(counts)
    assert learnt.find_meant("mmaus") == "maus"
    assert learnt.find_meant("alut") == "laut"  # one wrong in 50,000 words
    letters = "bcdefghijklmnopqrsvwxyz"
    counts.update(dict.fromkeys((f"la{letter}ut" for letter in letters), 2))
    counts.update(dict.fromkeys((f"l{letter}aut" for letter in letters), 2))
    learnt = SpellingCorrector.learn(counts)
    assert learnt.find_meant("alut") == "laut"  # what stands there twice is no new word
    counts.update({"lauz": 1, **dict.fromkeys((f"lau{letter}" for letter in "bcdfghijkl"), 1)})
    counts.update(dict.fromkeys((f"{letter}aut" for letter in "bcdefghijkmopqr"), 1))
    learnt = SpellingCorrector.learn(counts)
    assert learnt.find_meant("mmaus") == "maus"
    assert learnt.find_meant("aluut") is None


@pytest.mark.parametrize("language", ["de", "fr", "en"])
def test_typing_errors_are_undone_where_no_other_word_is_near(language):
    words = ["regierung", "wirtschaft", "abstimmung", "parlament", "beschluss"]
    corrector = SpellingCorrector(words, len(words))
    draw = np.random.default_rng(3)
    errors = TypingErrors(language)
    for word in words * 50:
        typed = errors.mistype(word, draw)
        assert typed == word or corrector.find_meant(typed) == word


def test_a_letter_typed_twice_is_likelier_than_another_letter():
    assert SpellingCorrector(["hanlo", "halo"], 2).find_meant("hallo") == "halo"


@pytest.mark.parametrize("word", ["rta", "q" + "haus" * 6, "hasu" * 6 + "x"])
def test_short_and_long_words_are_left_alone(word):
    assert SpellingCorrector(["rat", "haus" * 6], 2).find_meant(word) is None


@pytest.mark.parametrize(
    ("line", "corrected"),
    [
        ("Dnake für Ihren sehr guten Beircht!", "Danke für Ihren sehr guten Bericht!"),
        ("danke sehr fürr ihren beirhct", "danke sehr fürr ihren beirhct"),  # two errors in one
        ("Danke sehr: ihern ihren", "Danke sehr: ihren ihren"),
        ("Sehr guten, Dake sehr", "Sehr guten, Dake sehr"),  # a name, for all it says
        ("Sehr guten. Dake sehr", "Sehr guten. Danke sehr"),
        ("Danke sehr für aHus", "Danke sehr für Haus"),
        ("Danke sehr für HUAS", "Danke sehr für HUAS"),
        ("danke dir serh", "danke dir sehr"),
        ("dake dir für ihren sehr guten beriht", "danke dir für ihren sehr guten bericht"),
        ("danke serh serh", "danke sehr sehr"),
        ("Dnake für serh", "Danke für sehr"),  # many are unknown, and something is meant by each
        ("danke dri serh", "danke dri serh"),  # many are unknown, and one of them for good
        ("serh dri danke", "serh dri danke"),
        ("danke serh dri sehr danke dir", "danke sehr dri sehr danke dir"),  # a third are unknown
        ("dri dri serh danke sehr danke", "dri dri serh danke sehr danke"),
        ("Serh HUAS", "Serh HUAS"),
        ("Dnake", "Danke"),
    ],
)
def test_a_line_keeps_its_case_and_the_words_that_may_be_names(line, corrected):
    words = [*KNOWN, "für", "guten", "dir"]
    case = {"bericht": "Bericht", "haus": "Haus"}
    restorer = Restorer(case, {}, SpellingCorrector(words, len(words)))
    assert restorer.restore(line)[0] == corrected
    assert restorer.restore(corrected)[:2] == (corrected, ())


@given(st.lists(st.sampled_from([*KNOWN, "hasu", "Dnake", "x", "12", "«Serh»"])).map(" ".join))
def test_words_that_are_to_be_kept_and_known_ones_stay(line):
    restorer = Restorer({}, {}, SpellingCorrector(KNOWN, len(KNOWN)))
    assert restorer.restore(line, [line]) == (line, (), ())
    assert restorer.restore(line, ["Hasu serh", "DNAKE"])[:2] == (line, ())
    corrected = restorer.restore(line)[0].split()
    for word, after in zip(line.split(), corrected, strict=True):
        assert word == after or word in ("hasu", "Dnake", "«Serh»")


@given(
    st.lists(st.sampled_from([*KNOWN, "Eule", "eule", "ZUG", "x", "12", "«Serh»"])).map(" ".join),
    st.sampled_from(["", "die EULE", "Zug x"]),
)
def test_unknown_words_are_those_that_neither_training_nor_what_is_kept_has(line, kept):
    restorer = Restorer({}, {}, SpellingCorrector(KNOWN, len(KNOWN)))
    unknown = restorer.list_unknown_words(line, [kept])
    words = [word.strip("«»") for word in line.split() if word != "12"]
    assert len({*unknown}) == len(unknown)
    assert {*unknown} <= {*words}
    for word in words:
        known = word.lower() in KNOWN or word.lower() in kept.lower().split()
        assert (word in unknown) != known
    assert Restorer({}, {}).list_unknown_words(line) == ()
    restored = restorer.restore(line, [kept])
    assert restored.unknown_words == restorer.list_unknown_words(restored.line, [kept])


@given(st.text("東京都はひらがなカタ裁判所ภาษาไทย。 ", max_size=30))
def test_text_without_spaces_between_words_has_no_unknown_ones(line):
    words = ["東京都は", "ひらがな", "裁判所は", "ภาษาไทย"]
    restorer = Restorer({}, {}, SpellingCorrector(words, len(words)))
    assert restorer.restore(line) == (normalize(line), (), ())


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("L'œuvre", "L'oeuvre"),  # and not "ouvre", though that is more frequent
        ("Œuvre", "Oeuvre"),
        ("chef d'Œuvre", "chef d'Œuvre"),  # as if it were a name
        ("die Straße", "die Strasse"),
        ("Herr Müller", "Herr Mueller"),
        ("ŒUVRE", "ŒUVRE"),
        ("une  œu\u00advre", "une oeuvre"),
        ("oeuvre", "oeuvre"),
    ],
)
def test_words_are_read_as_the_training_text_spells_them(line, read):
    words = ["ouvre", "l", "chef", "die", "herr", "oeuvre", "strasse", "d", "mueller", "une"]
    case = {"mueller": "Mueller", "strasse": "Strasse", "herr": "Herr"}
    restored = Restorer(case, {}, SpellingCorrector(words, 5)).restore(line)
    assert restored.line == read
    assert bool(restored.typing_errors) == (line != read)


@given(st.text("fuür dich\u00ad\u0308\u200b", max_size=20))
def test_a_line_is_restored_alike_however_it_is_written(line):
    restorer = Restorer({}, {"fur": "für"}, SpellingCorrector(["für", "dich", "ich"], 3))
    restored = restorer.restore(line)
    decomposed = unicodedata.normalize("NFD", line)
    assert restored == restorer.restore(decomposed)
    assert restored == restorer.restore(normalize(line))
    assert restorer.restore("Mün", [decomposed]) == restorer.restore("Mün", [line])
    assert restorer.restore("Mün", ["Mu\u0308n"]).unknown_words == ()


def test_words_in_lower_case_are_so_at_the_beginning_of_a_sentence_too():
    lines = ["Das Haus", "Das Haus", "Das Rad", "Das Rad"]
    assert Restorer.learn([*lines, *["haus da"] * 3, *["Rad da"] * 3]).case == {"rad": "Rad"}


def test_accents_come_first_and_case_last():
    corrector = SpellingCorrector(["sehr", "schön", "häuser", "rat"], 4)
    restorer = Restorer({"häuser": "Häuser"}, {"schon": "schön"}, corrector)
    assert restorer.restore("SERH SCHON HÄUESR SEHR SEHR SEHR.", case=True) == (
        "Sehr schön Häuser sehr sehr sehr.",
        (TypingError("serh", "sehr", 0), TypingError("häuesr", "häuser", 11)),
        (),
    )


@given(COUNTS)
def test_what_was_learnt_is_read_again(tmp_path_factory, counts):
    line = " ".join(word for word, count in counts.items() for _ in range(count))
    learnt = Restorer.learn([line])
    folder = tmp_path_factory.mktemp("tokenizer")
    learnt.save(folder)
    read = Restorer.load(folder)
    assert read is not None
    assert vars(read.spelling) == vars(learnt.spelling)
    assert (read.case, read.accents) == (learnt.case, learnt.accents)


def test_what_earlier_versions_learnt_corrects_nothing(tmp_path):
    write_json(tmp_path / FILE, {"case": {"haus": "Haus"}, "accents": {"schon": "schön"}})
    read = Restorer.load(tmp_path)
    assert read is not None
    assert read.restore("Das hasu ist schon alt") == ("Das hasu ist schön alt", (), ())
