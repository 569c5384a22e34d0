"""Signals of pairs, screens learnt from a corpus, and findings."""

import math
import random
import re
from functools import cache

import numpy as np
import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.filters import ScreenConfig
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.repairs import REPAIRS
from nmt_core.corpora.screening.alignment import BLOCK, find_misalignment
from nmt_core.corpora.screening.inspection import Finding, inspect_sample, settle_findings
from nmt_core.corpora.screening.screen import (
    FILTERS,
    Screen,
    count_differing_literals,
    learn_screen,
    measure_repetition,
)
from nmt_core.corpora.screening.word_pairs import LEARNING, LEVELS, MAX_READ, WordPairs, _truncate
from nmt_core.text.language_detection import load_scorer
from tests.support.demo import draw_corpus
from tests.support.formats import read_as_windows

GERMAN = "Wir haben beschlossen, die Sitzung auf die nächste Woche zu verschieben."
ENGLISH = "We have decided to postpone the meeting until the end of next week."
FRENCH = "Nous avons décidé de reporter la réunion à la semaine prochaine."
LANGUAGES = "de", "en"


def level(lift):
    return int(np.searchsorted(LEVELS, lift) - 1)


HOUSE = WordPairs(
    (["baum", "haus"], ["house", "tree"]),
    np.array([[0, 0, 0], [0, 0, level(100)], [0, level(400), 0]], np.uint8),
)
"""Sentences in which Baum is tree, and Haus is house."""


@cache
def text():
    """Return valid pairs without times of day, whose digits could differ."""
    pairs = [pair for pair in draw_corpus()["train"] if "Uhr" not in pair.source]
    random.Random(1).shuffle(pairs)
    return pairs


@cache
def sentences():
    """Return the longer ones, without phrases of a few words."""
    return [pair for pair in text() if min(len(side.split()) for side in pair) > 5]


def shift(pairs, lines):
    return [
        Pair(one.source, other.target) for one, other in zip(pairs, pairs[lines:], strict=False)
    ]


def change(pairs, of_target):
    return [Pair(source, of_target(target)) for source, target in pairs]


# languages


def test_languages_are_those_of_py3langid():
    scorer, classifier = load_scorer(), LanguageIdentifier.from_model_file(MODEL_FILE)
    lines = [GERMAN, ENGLISH, FRENCH, "ÜBER ALLEN GIPFELN IST RUH", "Мы все знаем это хорошо"]
    for line, row in zip(lines, scorer.score(lines), strict=True):
        language, score = classifier.classify(line)
        assert scorer.codes[row.argmax()] == language
        size = len((line.lower() if line.isupper() else line).encode())
        assert row.max() * size**0.5 == pytest.approx(score, rel=1e-4)
    assert scorer.count_languages([*lines, "Ja."]) == {"de": 2, "en": 1, "fr": 1, "ru": 1, "": 1}
    many = [GERMAN, FRENCH] * 501
    assert scorer.score(many)[-2:].tolist() == scorer.score([GERMAN, FRENCH]).tolist()


def test_doubt_compares_with_the_best_other_language():
    scorer = load_scorer()
    scores = dict(zip(scorer.codes, scorer.score([FRENCH])[0].tolist(), strict=True))
    doubt = {code: scorer.measure_doubt([FRENCH], code)[0] for code in ("fr", "en", "en-GB")}
    assert doubt["fr"] == pytest.approx(
        max(score for code, score in scores.items() if code != "fr") - scores["fr"]
    )
    assert doubt["en"] == pytest.approx(scores["fr"] - scores["en"])
    assert doubt["fr"] < -1 < 1 < doubt["en"] == doubt["en-GB"]
    assert scorer.measure_doubt([FRENCH], "xx").tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("line", "judged"),
    [("Ja.", False), ("", False), ("x" * 15, False), ("x" * 16, True),
     ("漢字漢字漢", False), ("漢字漢字漢字", True)],
)  # fmt: skip
def test_short_lines_are_not_judged(line, judged):
    assert bool(load_scorer().score([line]).any()) is judged
    assert np.isfinite(load_scorer().measure_doubt([line], "de")).tolist() == [judged]


# word pairs


def explained(*lifts, chance=0.1):
    """Return the gain of words beside one other word, in nats."""
    lifts = [float(LEVELS[level(lift)]) for lift in lifts]
    return sum(math.log(chance + (1 - chance) * lift) for lift in lifts)


@pytest.mark.parametrize(
    ("source", "target", "of_source", "of_target"),
    [
        ("haus", "house", (explained(400), 1), (explained(400), 1)),
        ("Baum!", "Tree.", (explained(100), 1), (explained(100), 1)),
        ("haus", "tree", (math.log(0.1), 1), (math.log(0.1), 1)),
        ("haus", "house house", (explained(400), 1), (explained(400, 400), 2)),
        ("unbekannt", "house", (0.0, 0), (math.log(0.1), 1)),
        ("haus", "unknown", (math.log(0.1), 1), (0.0, 0)),
        ("name", "name", (math.log(0.1 + 0.9 * 50), 1), (math.log(0.1 + 0.9 * 50), 1)),
        ("haus", "", (0.0, 0), (0.0, 0)),
        ("haus " * (MAX_READ + 9), "house", (MAX_READ * explained(400), MAX_READ), None),
    ],
)
def test_words_explain_each_other(source, target, of_source, of_target):
    for gain, expected in zip(HOUSE.explain(source, target), (of_source, of_target), strict=True):
        assert expected is None or gain == (pytest.approx(expected[0], rel=1e-5), expected[1])


def test_near_words_explain_more():
    """Of two words of the source, the word at the same place counts more, as the diagonal says."""
    far = math.exp(-LEARNING.diagonal / 2)
    expected = [float(LEVELS[level(lift)]) / (1 + far) for lift in (400, 100)]
    nats, _ = HOUSE.explain("haus baum", "house tree")[1]
    assert nats == pytest.approx(sum(math.log(0.1 + 0.9 * lift) for lift in expected))


def test_frequent_words_are_learnt():
    pairs = [("haus baum", "house tree"), ("haus hund", "house dog")] * 5
    rare = [("selten", "rare"), *[("hund", "rare"), ("selten", "dog")] * 2]
    learnt = WordPairs.learn([*pairs, *rare])
    assert [sorted(words) for words in learnt.words] == [
        ["baum", "haus", "hund"],
        ["dog", "house", "tree"],
    ]
    row, *others = (learnt.words[0].index(word) + 1 for word in ("baum", "haus"))
    column = learnt.words[1].index("tree") + 1
    assert all(learnt.levels[row, column] > learnt.levels[other, column] for other in others)
    assert not learnt.levels[0].any()
    assert not learnt.levels[:, 0].any()
    with pytest.raises(CorpusError, match="3 pairs"):
        WordPairs.learn([("selten", "rare")])


# signals


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("ja ja ja", "yes", 1.0),
        ("ja", "Yes yes YES", 1.0),
        ("ja ja ja", "yes yes yes", 0.0),
        ("ja ja", "yes", 0.0),
        ("eins zwei drei vier " * 3, "one", 1.0),
        ("eins zwei drei vier fünf " * 3, "one", 0.0),
    ],
)
def test_repetition_counts_on_one_side_alone(source, target, expected):
    assert measure_repetition(Pair(source, target)) == expected


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
    assert count_differing_literals([Pair(source, target)], LANGUAGES).tolist() == [expected]


SIGNALS = Screen(LANGUAGES, HOUSE, (3.0, 4.0), 0.5, dict.fromkeys(FILTERS, 0.0))
"""Return a screen of text whose targets are half as long as their sources."""


def test_worse_side_counts():
    pairs = [Pair(FRENCH, ENGLISH), Pair(GERMAN, FRENCH), Pair(GERMAN, ENGLISH)]
    assert (SIGNALS.measure(pairs)["language"] > 1.5).tolist() == [True, True, False]
    [signal] = SIGNALS.measure([Pair("haus", "house tree tree")])["alignment"]
    nats, _ = HOUSE.explain("haus", "house tree tree")[1]
    assert signal == pytest.approx(-(nats + 6 * 4.0) / (3 + 6), abs=1e-6)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("x" * 80, "y" * 40, 0.0),
        ("x" * 80, "y" * 90, math.log(2)),
        ("x" * 80, " " + "y" * 15, math.log(2)),
        ("漢" * 80, "y" * 120, 0.0),
        ("", "", 0.0),
    ],
)
def test_lengths_are_compared_with_the_usual_ratio(source, target, expected):
    signal = SIGNALS.measure([Pair(source, target)])["length"].tolist()
    assert signal == [pytest.approx(expected, abs=1e-6)]


# screens

KINDS = "shifted", "language", "repetition", "literals", "length"


def spoil(kind, pairs):
    for number, (source, target) in enumerate(pairs):
        match kind:
            case "shifted":
                yield Pair(source, pairs[(number + 7) % len(pairs)].target)
            case "language":
                yield Pair(source, FRENCH)
            case "repetition":
                yield Pair(source, " ".join(target.split()[:2] * 4))
            case "literals":
                yield Pair(source, f"{target} 17 and 3")
            case "length":
                yield Pair(source, " ".join(target.split()[: len(target.split()) // 3]))


@cache
def screen():
    sample = text()[:1500]
    for place, kind in enumerate(KINDS):
        sample[place::25] = spoil(kind, sample[place::25])
    return learn_screen(sample, LANGUAGES, ScreenConfig())


@pytest.mark.parametrize("kind", KINDS)
def test_planted_noise_is_found(kind):
    pairs = [pair for pair in text()[1500:1900] if len(pair.target.split()) > 5]
    dropped = screen().judge([*spoil(kind, pairs)])
    assert sum(name is not None for name in dropped) >= 0.75 * len(pairs)
    if kind != "shifted":
        assert dropped.count(kind) >= 0.9 * len(pairs)


def test_valid_pairs_stay():
    dropped = screen().judge(text()[1500:])
    assert sum(name is not None for name in dropped) <= 0.015 * len(dropped)
    assert all(gain > 1 for gain in screen().gains)


@pytest.mark.slow
def test_alignment_is_the_share_of_mismatched_pairs():
    sound = sentences()[:1000]
    mismatched = [
        Pair(one.source, other.target)
        for one, other in zip(sound, sound[500:] + sound[:500], strict=True)
    ]
    for share in (0.5, 0.9):
        config = ScreenConfig(alignment=share, literals="off", language="off", length="off")
        learnt = learn_screen(sound, LANGUAGES, config)
        found = sum(name is not None for name in learnt.judge(mismatched))
        assert found / len(mismatched) == pytest.approx(share, abs=0.05)


def test_each_pair_is_judged_alike():
    pairs = [*spoil("shifted", text()[:60]), *text()[:60], *spoil("language", text()[:9])]
    whole = screen().judge(pairs)
    assert [name for pair in pairs for name in screen().judge([pair])] == whole
    assert screen().judge(pairs[::-1]) == whole[::-1]
    assert screen().ratio == pytest.approx(0.9, abs=0.1)
    assert screen().judge([]) == []


def test_any_lines_are_judged():
    odd = ["", " ", ".", "\ud800", "🙂" * 50, "x" * 5000, "1 " * 300, "漢字かな", "\u200f\u0301"]
    assert len(screen().judge([Pair(one, other) for one in odd for other in odd])) == 81


def test_settings_are_thresholds():
    config = ScreenConfig(literals="off", language=0.25, length=0.75, alignment="off")
    learnt = learn_screen(text()[:1000], LANGUAGES, config)
    assert learnt.thresholds == {
        "language": 0.25,
        "repetition": 0.0,
        "literals": np.inf,
        "length": 0.75,
        "alignment": np.inf,
    }
    assert not {"literals", "alignment"} & {*learnt.judge([*spoil("literals", text()[:100])])}
    with pytest.raises(CorpusError, match="1,000"):
        learn_screen(text()[:999], LANGUAGES, ScreenConfig())


# alignment of the sides


def align(pairs, lines=None):
    return find_misalignment(pairs, lines or range(1, len(pairs) + 1))


@pytest.mark.parametrize(("side", "line", "lost"), [(0, 1, 2), (1, 300, 1)])
def test_shift_names_offset_and_line(side, line, lost):
    columns = [[pair[at] for pair in text()[:900]] for at in (0, 1)]
    del columns[side][line - 1 : line - 1 + lost]
    if side == 0:
        columns[1] = columns[1][:-lost]
    else:
        columns[0] = columns[0][:-lost]
    kind, sentence, _ = align([*map(Pair, *columns)])
    assert kind == "shifted"
    [(late, by, named)] = re.findall(
        r"the (\w+) is late by (\d) lines? from about line ([\d,]+)", sentence
    )
    assert (late, int(by)) == (("target", "source")[side], lost)
    assert abs(int(named.replace(",", "")) - line) <= 4


def test_shift_names_the_line_of_the_file():
    pairs = [*text()[:BLOCK], *shift(text()[BLOCK : 3 * BLOCK], 1)]
    lines = [*range(1, BLOCK + 1), *range(9001, 9001 + len(pairs) - BLOCK)]
    lines += range(20_000, 20_000 + BLOCK)
    _, sentence, rows = align([*pairs, *shift(text()[:BLOCK], 1)], lines)
    assert "late by 1 line from about line 9,001 on" in sentence
    assert rows[0] == BLOCK


def shuffle(pairs):
    targets = [pair.target for pair in pairs]
    random.Random(2).shuffle(targets)
    return [Pair(pair.source, target) for pair, target in zip(pairs, targets, strict=True)]


@pytest.mark.slow
def test_script_without_words_is_related():
    """Its characters occur in many words, and explain less than words do."""
    draw, signs = random.Random(3), [chr(0x3042 + 2 * number) for number in range(40)]
    known = {}

    def spell(line):
        words = (known.setdefault(word, "".join(draw.choices(signs, k=3))) for word in line.split())
        return "".join(words)

    pairs = [Pair(spell(pair.source), pair.target) for pair in text()[:500]]
    assert align(pairs) is None
    assert align(shuffle(pairs))[0] == "unrelated"
    assert align(shift(pairs, 1))[0] == "shifted"


@pytest.mark.slow
def test_paragraphs_are_compared_by_their_starts():
    draw = random.Random(4)
    drawn = [draw.sample(sentences()[:640], 16) for _ in range(2 * BLOCK)]
    pairs = [Pair(*map(" ".join, zip(*some, strict=True))) for some in drawn]
    assert min(len(line.split()) for line in pairs[0]) > LEARNING.max_words
    assert align(pairs) is None
    assert [*map(len, _truncate((["a"] * 120, ["b"] * 30)))] == [60, 15]


# findings


def find_faults(pairs, languages=LANGUAGES):
    """Return the findings of a whole corpus."""
    return [finding for finding in inspect_sample(pairs, languages) if finding.stops]


WRONG = {
    "swapped": lambda pairs: [pair[::-1] for pair in pairs[:200]],
    "wrong_language": lambda pairs: change(pairs[:200], lambda _: FRENCH),
    "shifted": lambda pairs: shift(pairs, 2),
    "unrelated": shuffle,
    "entities": lambda pairs: change(pairs[:200], lambda line: line.replace(" ", "&nbsp;", 1)),
    "mojibake": lambda pairs: change(
        pairs[:200], lambda line: read_as_windows(f"{line} (für 5 €)")
    ),
    "tokenized": lambda pairs: change(pairs[:200], lambda line: re.sub(r"([.,?])", r" \1", line)),
    "lower_case": lambda pairs: change(pairs[:200], str.lower),
}


@pytest.mark.parametrize("kind", WRONG)
def test_each_fault_is_found_and_no_other(kind):
    [finding] = find_faults(WRONG[kind](text()[:640]))
    assert finding.kind == kind
    assert finding.examples


ALONE = ("wrong_language", "entities", "mojibake", "tokenized", "lower_case")


@pytest.mark.parametrize("kind", ALONE)
def test_each_fault_of_monolingual_text_is_found(kind):
    lines = [pair.target for pair in WRONG[kind](text()[:200])]
    [finding] = find_faults([Pair(line, line) for line in lines], ("en",))
    assert finding.kind == kind
    assert all(len(example) == 1 for example in finding.examples)
    assert not re.search("source|target|pair|side|column", finding.sentence)


@pytest.mark.parametrize("codes", [("de", "en"), ("de-1996", "en-GB")])
def test_valid_text_has_no_finding(codes):
    assert inspect_sample(sentences()[:640], codes) == []
    assert inspect_sample([], codes) == []
    for size in (5, 50):
        assert find_faults(sentences()[:size], codes) == []
        [finding] = find_faults([pair[::-1] for pair in sentences()[:size]], codes)
        assert finding.kind == "swapped"


@pytest.mark.parametrize(
    ("line", "code", "kinds"),
    [
        ("Jeg ved ikke hvad du mener.", "no", ["wrong_language"]),
        ("Vi har det bra her i huset.", "da", ["wrong_language"]),
        ("Huset er stort og gammelt.", "da", []),
    ],
)
def test_text_mostly_in_a_related_language_is_reported(line, code, kinds):
    """A third of the doubt that rejects a single line is enough; less is not."""
    doubt = load_scorer().measure_doubt([line], code)[0]
    assert (doubt < 0.5, doubt < 1.5) == (not kinds, True)
    assert [each.kind for each in find_faults([Pair(line, line)] * 10, (code, code))[:1]] == kinds


def test_advice_names_a_language_that_helps():
    [finding] = find_faults(WRONG["wrong_language"](text()))
    assert "name fr in LANGUAGES=" in finding.sentence
    german = [Pair(pair.source, pair.source) for pair in text()[:200]]
    [finding] = find_faults(german)
    assert finding.kind == "wrong_language"
    assert "LANGUAGES" not in finding.sentence
    draw = random.Random(3)
    noise = [["".join(draw.choices("abcdefghijklmnop  ", k=60)) for _ in range(2)] for _ in text()]
    assert "zxx" not in str(inspect_sample([Pair(*pair) for pair in noise[:200]], LANGUAGES))


def test_sides_are_swapped_although_one_is_short():
    lines = [pair.source for pair in text()[:200]]
    pairs = [Pair(("You see it.", "We know this.")[n % 2], line) for n, line in enumerate(lines)]
    assert [finding.kind for finding in find_faults(pairs)] == ["swapped"]


PROPERTIES = {
    "numbers": lambda line: f"{line} (13)",
    "tags": lambda line: f'<p class="x">{line}<br/></p>',
    "entities": lambda line: f"{line} &amp;",
    "mojibake": lambda line: read_as_windows(f"{line} (für x €)"),
    "stray_language": lambda _: FRENCH,
}


@pytest.mark.parametrize(("times", "reported"), [(19, False), (20, True)])
def test_boilerplate_is_reported(times, reported):
    pairs = [*text()[: 640 - times], *[Pair(text()[700].source, "All rights reserved!")] * times]
    kinds = [finding.kind for finding in inspect_sample(pairs, LANGUAGES)]
    assert kinds == ["repeated"] * reported


@pytest.mark.parametrize("kinds", [["numbers"], [kind for kind in PROPERTIES if kind != "numbers"]])
@pytest.mark.parametrize("share", [2, 10])
def test_damaged_pairs_are_counted_with_example(kinds, share):
    """Two of 640 pairs are an accident; from one percent on, entities and mojibake stop the run."""
    spoilt, rows = sentences()[:640], {}
    for number, kind in enumerate(kinds):
        rows[kind] = range(100 * number, 100 * number + share)
        for row in rows[kind]:
            source, target = spoilt[row]
            spoilt[row] = Pair(f"{source} (12)", PROPERTIES[kind](target))
    findings = {each.kind: each for each in inspect_sample(spoilt, LANGUAGES)}
    for kind in kinds:
        assert (kind in findings) is (share > 2)
    for kind in findings.keys() & kinds:
        assert findings[kind].sentence.startswith(f"{share} pairs ({share / 6.4:.1f}%) ")
        assert spoilt[rows[kind][share // 2]] in findings[kind].examples
        assert findings[kind].stops is (share == 10 and kind in ("entities", "mojibake"))


def test_fault_stops_unless_accepted():
    findings = [Finding("lower_case", "the target is in lower case", (Pair("A", "a"),))]
    with pytest.raises(CorpusError, match=r"own.*lower case.*look\.accepted"):
        settle_findings("own", findings)
    findings.append(Finding("tokenized", "the target was tokenized", (Pair("A", "a ."),)))
    with pytest.raises(CorpusError, match=r"look\.accepted=\[lower_case,tokenized\]$"):
        settle_findings("own", findings)  # a space would split the setting in a shell
    assert settle_findings("own", findings, ["lower_case", "tokenized"]) == []
    spoilt = change(text()[:200], lambda line: f"<b>{line}</b> &amp; {read_as_windows('für')}")
    with pytest.raises(CorpusError, match=r"own\.filter\.repair=\[entities,mojibake,tags\];"):
        settle_findings("own", inspect_sample(spoilt, LANGUAGES))


SOUND = "за цену", "την τιμή", "l’été à Nîmes", "5 °C", "« CAFÉ »", "NÃO, IRMÃ.", "à » et Â"


@pytest.mark.parametrize("line", SOUND)
def test_mojibake_differs_from_accents(line):
    assert REPAIRS["mojibake"](line) == line
    assert REPAIRS["mojibake"](read_as_windows(line)) == line
