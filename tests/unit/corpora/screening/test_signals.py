"""Each signal of a pair, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.screening import flat_text, shifts, signals
from nmt_core.corpora.screening.flat_text import (
    WordNumbers,
    find_usual_scripts,
    flatten_lines,
    measure_copied,
    measure_foreign_letters,
    measure_repetition,
)
from nmt_core.corpora.screening.language_scores import LanguageScorer, load_langid
from nmt_core.corpora.screening.signals import (
    FILTERS,
    LengthModel,
    Signals,
    count_differing_literals,
    find_sound,
    learn_signals,
)
from nmt_core.corpora.screening.word_pairs import LEARNING, LEVELS, MAX_READ, WordPairs

GERMAN = "Wir haben beschlossen, die Sitzung auf die nächste Woche zu verschieben."
ENGLISH = "We have decided to postpone the meeting until the end of next week."
FRENCH = "Nous avons décidé de reporter la réunion à la semaine prochaine."

HOUSE = WordPairs(
    ["baum", "haus", "house", "tree"],
    np.array([0 * 4 + 3, 1 * 4 + 2]),
    np.array([100.0, 400.0], np.float32),
    np.array([[True, True, False, False], [False, False, True, True]]),
)
"""Baum is tree, and Haus is house."""

LENGTHS = LengthModel(mean=0.1, every=0.04, short=2.0, unended=(0.01, 0.02))

SIGNALS = Signals(
    ("de", "en"), ["de", "en", "fr"], (["LATIN"], ["LATIN"]), HOUSE, LENGTHS, (3.0, 4.0)
)


def quantize(lift):
    return float(LEVELS[np.searchsorted(LEVELS, lift) - 1])


def explained(lift, chance=0.1):
    """The gain of a word beside one other, in nats."""
    return math.log(chance + (1 - chance) * quantize(lift))


@pytest.mark.parametrize(
    ("source", "target", "of_target", "of_source"),
    [
        ("haus", "house", explained(400), explained(400)),
        ("baum", "tree", explained(100), explained(100)),
        ("haus", "tree", math.log(0.1), math.log(0.1)),
        ("haus", "house house", 2 * explained(400), explained(400)),
        ("unbekannt", "house", math.log(0.1), 0.0),
        ("haus", "unknown", 0.0, math.log(0.1)),
        ("name", "name", math.log(0.1 + 0.9 * 50), math.log(0.1 + 0.9 * 50)),
        ("haus", "", 0.0, 0.0),
    ],
)
def test_words_explain_each_other(source, target, of_target, of_source):
    numbers = WordNumbers(HOUSE.words)
    read = [numbers.read([line]) for line in (source, target)]
    target_side, source_side = HOUSE.explain(*read)

    assert target_side.score.tolist() == pytest.approx([of_target] if target else [0.0], rel=1e-5)
    if target:
        assert source_side.score.tolist() == pytest.approx([of_source], rel=1e-5)


def test_near_words_explain_more():
    """Of two words of the source, the one at the same place counts more, as the diagonal says."""
    numbers = WordNumbers(HOUSE.words)
    source, target = (numbers.read([line]) for line in ("haus baum", "house tree"))
    score, words = (column[0] for column in HOUSE.explain(source, target)[0])
    far = math.exp(-LEARNING.diagonal / 2)

    expected = [quantize(lift) / (1 + far) for lift in (400, 100)]
    assert score == pytest.approx(sum(math.log(0.1 + 0.9 * lift) for lift in expected), rel=1e-5)
    assert words == 2


def test_pairs_are_explained_alone_up_to_a_length():
    numbers = WordNumbers(HOUSE.words)
    lines = ["haus " * n for n in (1, MAX_READ, MAX_READ + 9)], ["house"] * 3
    score = HOUSE.explain(*map(numbers.read, lines))[1].words

    assert score.tolist() == [1, MAX_READ, MAX_READ]


def test_frequent_words_are_learnt():
    pairs = [("haus baum", "house tree"), ("haus hund", "house dog")] * 5
    learnt = WordPairs.learn([*pairs, ("selten", "rare")])
    rows = dict(zip(learnt.words, learnt.known.T.tolist(), strict=True))

    assert rows["haus"] == [True, False]
    assert rows["house"] == [False, True]
    assert not {"selten", "rare"} & {*rows}
    with pytest.raises(CorpusError, match="3 pairs"):
        WordPairs.learn([("selten", "rare")])


@pytest.mark.parametrize("pair", [("haus", "house"), ("haus", "house tree"), ("haus baum", "tree")])
def test_alignment_is_smoothed_by_the_usual_gain(pair):
    measured = SIGNALS.measure(*([line] for line in pair))["alignment"]
    numbers = WordNumbers(HOUSE.words)
    sides = HOUSE.explain(*(numbers.read([line]) for line in pair))
    gains = [
        (side.score[0] + 6 * usual) / (side.words[0] + 6)
        for side, usual in zip(sides, SIGNALS.gains, strict=True)
    ]

    assert measured.tolist() == pytest.approx([-min(gains)], abs=1e-6)


@pytest.mark.parametrize(
    ("source", "target", "extra"),
    [
        (97, 197, 0.0),
        (197, 97, 0.0),
        (47, 47, 0.0),
        ("a" * 96 + ".", 197, 0.0),
        (97, "b" * 196 + ".", -math.log(0.01)),
        ("a" * 196 + ".", 97, -math.log(0.02)),
        (" " + "a" * 97 + " ", "b" * 197 + "\u3000", 0.0),
    ],
)
def test_length_surprises(source, target, extra):
    """A side of n letters counts n + 3; a shorter side without final punctuation adds surprise."""
    lines = [letter * side if isinstance(side, int) else side
             for letter, side in (("a", source), ("b", target))]  # fmt: skip
    ours, theirs = (len(line.strip()) + 3 for line in lines)
    away = math.log(theirs / ours) - 0.1
    expected = away**2 / (2 * (0.04 + 2.0 / math.sqrt(ours * theirs))) + extra

    assert LENGTHS.measure([lines[0]], [lines[1]]).tolist() == pytest.approx([expected])


def test_blanks_at_the_end_change_no_length():
    plain = LENGTHS.measure(["Ein Satz.", "Ein Satz"], ["A sentence.", "A sentence."])
    blank = LENGTHS.measure(["Ein Satz. ", " Ein Satz"], ["A sentence.\u3000", "A sentence. "])
    assert blank.tolist() == plain.tolist()


@pytest.mark.filterwarnings("error")
def test_lengths_are_fitted_by_medians():
    source = ["x" * 97] * 9
    target = ["y" * 197] * 8 + ["y" * 997 + "."]
    model = LengthModel.fit(source, target)

    assert model.mean == pytest.approx(math.log(2))
    assert (model.every, model.short) == (0.01, 0.0)
    assert model.unended == (2 / 11, 1 / 11)
    lines = ["Ein Satz mit Wörtern." * number for number in range(1, 11)]
    assert np.isfinite(LengthModel.fit(lines, lines).measure(lines, lines[::-1])).all()


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Am 3. Mai kamen 12 Leute", "On 3 May 15 people came", 3),
        ("nichts", "nothing", 0),
        ("siehe https://a.example/b", "see there", 1),
        ("Wir sind da.", "We are 15.", 2),
        ("Wir sind 15.", "We are here.", 1),
        ("Wir sind 15.", "We are 15.", 0),
    ],
)
def test_differing_literals_are_counted(source, target, expected):
    assert count_differing_literals([source], [target], ("de", "en")).tolist() == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [("abc", 0), ("αβc", 2 / 3), ("12 !?", 0), ("ｆｕｌｌ", 0), ("", 0), ("яблоко", 1)],
)
def test_foreign_letters_are_those_of_other_scripts(line, expected):
    assert measure_foreign_letters([line], ["LATIN"]).tolist() == pytest.approx([expected])


def test_usual_scripts_have_a_share_of_letters():
    latin = "Das ist ein langer Satz und nicht mehr als das"
    assert find_usual_scripts([latin] * 9 + ["Ω"]) == ["LATIN"]
    assert find_usual_scripts([latin, "ΩΩ"]) == ["GREEK", "LATIN"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", 0),
        ("a b c", 0),
        ("a a", 1),
        ("a b a b", 2),
        ("a b c a b", 0),
        ("a b c a b c a", 4),
        ("a a a b b", 2),
        ("a b c d e f g h a b c d e f g h", 8),
        ("a b c d e f g h i a b c d e f g h i", 0),
    ],
)
def test_repeated_words_are_counted(line, expected):
    assert measure_repetition(WordNumbers().read([line, "x", line])).tolist() == [
        expected,
        0,
        expected,
    ]


@given(st.lists(st.lists(st.integers(0, 2), max_size=25), max_size=6))
def test_repetition_is_what_a_plain_search_finds(lines):
    def search(line):
        most = 0
        for size in range(1, 9):
            run = 0
            for place in range(size, len(line)):
                run = run + 1 if line[place] == line[place - size] else 0
                most = max(most, run) if run >= size else most
        return most

    assert measure_repetition(flatten_lines(lines)).tolist() == [search(line) for line in lines]


@given(st.lists(st.tuples(*[st.lists(st.sampled_from("abcde"), max_size=9)] * 2), min_size=1))
def test_copies_are_what_sets_share(pairs):
    numbers = WordNumbers()
    read = [numbers.read([" ".join(pair[side]) for pair in pairs]) for side in (0, 1)]
    expected = [
        len({*one} & {*other}) / (max(len({*one}), len({*other})) + 3) for one, other in pairs
    ]
    assert measure_copied(*read).tolist() == pytest.approx(expected)


def test_languages_are_scored_as_py3langid_scores_them():
    scorer, classifier = LanguageScorer(), load_langid()
    lines = [GERMAN, ENGLISH, FRENCH, "ÜBER ALLEN GIPFELN IST RUH", "Мы все знаем это хорошо"]
    for line, row in zip(lines, scorer.score(lines), strict=True):
        language, score = classifier.classify(line)
        assert scorer.codes[row.argmax()] == language
        size = len((line.lower() if line.isupper() else line).encode())
        assert row.max() * size**0.5 == pytest.approx(score, rel=1e-4)


def test_doubt_compares_with_the_best_other_language():
    scorer = LanguageScorer(["de", "en", "fr"])
    scores = dict(zip(scorer.codes, scorer.score([FRENCH])[0].tolist(), strict=True))

    doubt = {code: scorer.measure_doubt([FRENCH], code)[0] for code in ("fr", "en", "de", "en-GB")}
    assert doubt["fr"] == pytest.approx(max(scores["de"], scores["en"]) - scores["fr"])
    assert doubt["en"] == pytest.approx(scores["fr"] - scores["en"])
    assert doubt["fr"] < -1 < 1 < doubt["en"]
    assert doubt["en-GB"] == doubt["en"]
    assert scorer.measure_doubt([FRENCH], "xx").tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("line", "judged"),
    [("Ja.", False), ("", False), ("x" * 15, False), ("x" * 16, True),
     ("漢字漢字漢", False), ("漢字漢字漢字", True)],
)  # fmt: skip
def test_short_lines_are_not_judged(line, judged):
    assert bool(LanguageScorer(["de", "en", "zh"]).score([line]).any()) is judged


def test_either_side_counts():
    """The signal of a pair is that of its worse side."""
    language = SIGNALS.measure([FRENCH, GERMAN, GERMAN], [ENGLISH, FRENCH, ENGLISH])["language"]
    assert (language > 1.5).tolist() == [True, True, False]
    script = SIGNALS.measure(["абв", "abc"], ["abc", "абв"])["script"]
    assert script.tolist() == [1, 1]
    repeated = SIGNALS.measure(["a b", "a a a a", "a a a a"], ["a a a a", "a b", "a a a a"])
    assert repeated["repetition"].tolist() == [3, 3, 0]


def test_batches_change_no_measure(monkeypatch):
    sides = [GERMAN, "haus 5", "", "baum"] * 2, [ENGLISH, "house 6", "x", "house"] * 2
    whole = SIGNALS.measure(*sides)
    monkeypatch.setattr(signals, "PAIRS_AT_ONCE", 3)
    parts = SIGNALS.measure(*sides)

    assert {name: parts[name].tolist() for name in FILTERS} == {
        name: whole[name].tolist() for name in FILTERS
    }
    assert all(len(values) == 0 for values in SIGNALS.measure([], []).values())


@pytest.mark.parametrize(
    ("source", "target", "sound"),
    [
        (GERMAN, ENGLISH, True),
        (FRENCH, ENGLISH, False),
        (GERMAN, FRENCH, False),
        (GERMAN, GERMAN, False),
        (f"{GERMAN} ja ja ja ja ja ja", ENGLISH, False),
        (GERMAN, f"{ENGLISH} yes yes yes yes yes yes", False),
    ],
)
def test_signals_learn_from_sound_pairs(source, target, sound):
    rows = find_sound(([source], [target]), ("de", "en"), LanguageScorer(["de", "en", "fr"]))
    assert rows == ([0] if sound else [])


def test_many_trusted_pairs_teach_lengths_and_gains(monkeypatch):
    """A noisy sample does not; few trusted pairs are no better than the sample."""
    monkeypatch.setattr(signals, "ENOUGH_TRUSTED", 4)
    sample = [GERMAN] * 9, [ENGLISH + "y" * 300] * 9
    trusted = [GERMAN] * 4, [ENGLISH] * 4
    learnt = learn_signals(sample, trusted, ("de", "en"))
    few = learn_signals(sample, ([GERMAN], [ENGLISH]), ("de", "en"))

    assert learnt.lengths == LengthModel.fit(*trusted)
    assert learnt.gains == replace(learnt, gains=(0.0, 0.0)).find_gains(*trusted)
    assert few.lengths == LengthModel.fit(*sample)
    assert few.gains == few.find_gains(*sample)


def test_words_are_forgotten_where_there_are_many(monkeypatch):
    monkeypatch.setattr(flat_text, "MAX_WORDS", 5)
    numbers = WordNumbers(["haus"])
    for word in ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"):
        numbers.forget_many()
        read = numbers.read([f"haus {word}"]).values.tolist()
        assert read[0] == 0
        assert read[1] <= 6


def test_the_side_that_is_explained_worse_counts():
    """Otherwise a target with much more than the source would pass for a translation."""
    whole = shifts._score(HOUSE, [("haus", "house")] * shifts.BLOCK, 0)
    more = shifts._score(HOUSE, [("haus", "house tree tree tree")] * shifts.BLOCK, 0)
    assert whole.blocks[0] > shifts.RELATED > more.blocks[0]
    assert whole.pairs[0] > 0 > more.pairs[0]
