"""What is wrong with a corpus as a whole is said, and nothing is said of a sound one."""

import random
import re
from functools import cache

import pytest

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.repairs import REPAIRS
from nmt_core.corpora.screening import shifts
from nmt_core.corpora.screening.findings import Finding, settle_findings
from nmt_core.corpora.screening.inspection import inspect_sample
from nmt_core.corpora.screening.language_scores import LanguageScorer
from nmt_core.corpora.screening.shifts import check_alignment
from nmt_core.corpora.screening.word_pairs import LEARNING
from tests.support.demo import draw_corpus
from tests.support.formats import read_as_windows


@pytest.fixture(autouse=True)
def _blocks(monkeypatch):
    """Compare fewer pairs together: sound ones are explained by 2.5 nats, others by less than 0."""
    monkeypatch.setattr(shifts, "BLOCK", 300)


@cache
def long_text():
    """Sound pairs without times of day, which not everybody writes with the same digits."""
    pairs = [pair for pair in draw_corpus()["train"][:1500] if "Uhr" not in pair.source]
    random.Random(1).shuffle(pairs)
    return pairs[:1300]


@cache
def text():
    """Return two blocks of pairs, even where one side is late."""
    return long_text()[:640]


def shift(pairs, lines):
    return [
        Pair(one.source, other.target) for one, other in zip(pairs, pairs[lines:], strict=False)
    ]


def shuffle(pairs):
    targets = [pair.target for pair in pairs]
    random.Random(2).shuffle(targets)
    return [Pair(pair.source, target) for pair, target in zip(pairs, targets, strict=True)]


def find_faults(pairs, languages=("de", "en")):
    """Return what is wrong with all of a corpus."""
    return [found for found in inspect_sample(pairs, languages) if found.stops]


def align(pairs):
    return [*check_alignment(pairs, range(1, len(pairs) + 1))]


def change(pairs, of_target):
    return [Pair(source, of_target(target)) for source, target in pairs]


WRONG = {
    "swapped": lambda pairs: [pair[::-1] for pair in pairs[:200]],
    "wrong_language": lambda pairs: change(
        pairs[:200], lambda _: "Les enfants jouent dans la cour de l'école depuis ce matin."
    ),
    "shifted": lambda pairs: shift(pairs, 2),
    "unrelated": shuffle,
    "header": lambda pairs: [Pair("de", "en"), *pairs[:300]],
    "entities": lambda pairs: change(pairs[:200], lambda line: line.replace(" ", "&nbsp;", 1)),
    "mojibake": lambda pairs: change(
        pairs[:200], lambda line: read_as_windows(f"{line} (für 5 €)")
    ),
    "tokenized": lambda pairs: change(pairs[:200], lambda line: re.sub(r"([.,?])", r" \1", line)),
    "lower_case": lambda pairs: change(pairs[:200], str.lower),
}


@pytest.mark.parametrize("kind", WRONG)
def test_each_fault_is_found_and_no_other(kind):
    [found] = find_faults(WRONG[kind](text()))
    assert found.kind == kind
    assert found.examples


def draw_noise(lines):
    draw = random.Random(3)
    return ["".join(draw.choices("abcdefghijklmnop  ", k=60)) for _ in range(lines)]


def test_nobody_is_told_to_set_no_language():
    """Letters by chance are likeliest in none, of which the code is no advice."""
    noise = draw_noise(200)
    (alone, *_) = inspect_sample([(line,) for line in noise], ("en",))
    assert alone.sentence.startswith("the text is en in few lines, and no language in most")
    pairs = [Pair(*pair) for pair in zip(noise, draw_noise(200), strict=True)]
    told = [found.sentence for found in inspect_sample(pairs, ("de", "en"))]
    assert [line.split(";")[1] for line in told[:2]] == [" give other text"] * 2
    assert "zxx" not in str(told)


ALONE = {
    "mojibake": lambda lines: [read_as_windows(f"{line} – ’") for line in lines],
    "wrong_language": lambda lines: [WRONG["wrong_language"](text())[0].target] * 60,
    "header": lambda lines: ["English", *lines],
    "entities": lambda lines: [line.replace(" ", "&nbsp;", 1) for line in lines],
    "tokenized": lambda lines: [re.sub(r"([.,?])", r" \1", line) for line in lines],
    "lower_case": lambda lines: [line.lower() for line in lines],
}


@pytest.mark.parametrize("kind", ALONE)
def test_each_fault_of_text_of_one_language_is_found_and_no_other(kind):
    """A line counts once, though it is read as a pair with itself, and it is called text."""
    lines = ALONE[kind]([pair.target for pair in text()[:200]])
    (found,) = find_faults([Pair(line, line) for line in lines], ("en",))
    assert found.kind == kind
    assert all(len(example) == 1 for example in found.examples)
    assert {example[0] for example in found.examples} <= {*lines}
    assert not re.search("source|target|pair|side|column", found.sentence)
    assert " beside " not in str(found)
    sound = [(pair.target,) for pair in text()]
    assert inspect_sample(sound, ("en",)) == []


@pytest.mark.parametrize("first", ["Deutsch", "german", "de", "DE", "Source", "src"])
def test_a_header_has_names_as_that_of_a_table(first):
    pairs = [Pair(first, "English"), *text()[:60]]
    assert [found.kind for found in inspect_sample(pairs, ("de", "en"))] == ["header"]
    assert inspect_sample([Pair(f"{first} .", "English"), *text()[:60]], ("de", "en")) == []


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("losses", [[(1, 2)], [(900, 3)], [(301, 1), (601, 2)]])
def test_shift_names_offset_and_line(side, losses):
    """Each loss is a line and how many are missing from there on, on one side."""
    pairs = long_text()
    columns = [[pair[at] for pair in pairs] for at in (0, 1)]
    late, expected = 0, []
    for line, lost in reversed(losses):
        del columns[side][line - 1 : line - 1 + lost]
    for line, lost in losses:
        late += lost
        expected.append((("target", "source")[side], late, line))
    [found] = align([*map(Pair, *columns)])
    told = re.findall(r"the (\w+) is late by (\d) lines? from about line ([\d,]+)", found.sentence)
    assert [(late, int(by)) for late, by, _ in told] == [(late, by) for late, by, _ in expected]
    for (*_, named), (*_, line) in zip(told, expected, strict=True):
        assert abs(int(named.replace(",", "")) - line) <= 4


def test_shift_between_runs_names_both_lines():
    """A sample has runs of neighbours, between which nothing was read."""
    pairs = [*text()[:300], *shift(text()[300:], 1)]
    lines = [*range(1, 301), *range(9001, 9001 + len(pairs) - 300)]
    [found] = check_alignment(pairs, lines)
    assert "late by 1 line from lines 300 to 9,001 on" in found.sentence


SOUND = (
    "за цену",
    "την τιμή",
    "l’été à Nîmes",
    "5 °C",
    "« CAFÉ »",
    "NÃO, IRMÃ.",
    "à » et Â",
    "TÃO",
)


@pytest.mark.parametrize("line", SOUND)
def test_mojibake_is_told_from_accents(line):
    assert REPAIRS["mojibake"](line) == line
    assert REPAIRS["mojibake"](read_as_windows(line)) == line


@pytest.mark.parametrize("pairs", [5, 10, 50])
def test_small_text_is_judged(pairs):
    swapped = [Pair(*pair[::-1]) for pair in text()[:pairs]]
    assert [finding.kind for finding in find_faults(swapped)] == ["swapped"]
    assert find_faults(text()[:pairs]) == []


@pytest.mark.parametrize(
    ("line", "code", "kinds"),
    [
        ("Jeg ved ikke hvad du mener.", "no", ["wrong_language"]),
        ("Vi har det bra her i huset.", "da", ["wrong_language"]),
        ("Huset er stort og gammelt.", "da", []),
    ],
)
def test_a_related_language_is_wrong_where_most_lines_are_in_it(line, code, kinds):
    """A third of the doubt that makes one line plainly wrong suffices; less does not."""
    doubt = LanguageScorer().measure_doubt([line], code)[0]
    assert (doubt < 0.5, doubt < 1.5) == (not kinds, True)
    assert [one.kind for one in find_faults([Pair(line, line)] * 10, (code, code))[:1]] == kinds


def test_nothing_is_said_of_sound_text():
    assert inspect_sample(text(), ("de", "en")) == []
    assert inspect_sample(text()[:3], ("de", "en")) == []
    assert inspect_sample([], ("de", "en")) == []


def test_a_script_without_words_is_related_where_pairs_tell_more_than_neighbours():
    """Its signs stand in many words: two thousand pairs of Japanese looked like no translations."""
    draw, signs = random.Random(3), [chr(0x3042 + 2 * number) for number in range(40)]
    known = {}

    def spell(line):
        words = (known.setdefault(word, "".join(draw.choices(signs, k=3))) for word in line.split())
        return "".join(words)

    pairs = [Pair(spell(pair.source), pair.target) for pair in text()]
    assert align(pairs) == []
    assert [found.kind for found in align(shuffle(pairs))] == ["unrelated"]
    assert [found.kind for found in align(shift(pairs, 1))] == ["shifted"]


def test_paragraphs_are_looked_at_by_their_beginnings():
    draw = random.Random(4)
    drawn = [draw.sample(text(), 12) for _ in range(620)]
    pairs = [Pair(*map(" ".join, zip(*some, strict=True))) for some in drawn]
    assert min(len(line.split()) for line in pairs[0]) > LEARNING.max_words
    assert align(pairs) == []


def test_sides_are_swapped_where_one_is_too_short_to_tell():
    """Nobody is told to set twice the same language, either."""
    lines = [pair.source for pair in text()[:200]]
    pairs = [Pair(("You see it.", "We know this.")[n % 2], line) for n, line in enumerate(lines)]
    (found,) = find_faults(pairs)
    assert found.kind == "swapped"
    (found,) = find_faults([Pair(line, line) for line in lines])
    assert found.kind == "wrong_language"
    assert "download.languages" not in found.sentence


def test_text_of_which_no_word_is_repeated_is_unrelated():
    """Such as numbers alone."""
    (found,) = find_faults([Pair(str(n), str(n)) for n in range(600)])
    assert found.kind == "unrelated"


@pytest.mark.parametrize(("spoilt", "kinds"), [(9, []), (10, ["entities"])])
def test_a_few_entities_are_an_accident(spoilt, kinds):
    pairs = [*change(text()[:spoilt], lambda line: f"{line} &amp;"), *text()[spoilt:200]]
    assert [finding.kind for finding in find_faults(pairs)] == kinds


def test_a_fault_stops_unless_a_person_accepts_it():
    found = [Finding("lower_case", "the target is in lower case", (Pair("A", "a"),))]
    with pytest.raises(CorpusError, match=r"own.*lower case.*look\.accepted"):
        settle_findings("own", found)
    found.append(Finding("tokenized", "the target was tokenized", (Pair("A", "a ."),)))
    with pytest.raises(CorpusError, match=r"look\.accepted=\[lower_case,tokenized\]$"):
        settle_findings("own", found)  # a space would part the setting in a shell
    assert settle_findings("own", found, ["lower_case", "tokenized"]) == []


@pytest.mark.parametrize("codes", [("de-AT", "en-GB"), ("de", "en-US"), ("de-1996", "en")])
def test_a_region_hides_no_fault(codes):
    """The classifier knows languages alone."""
    assert inspect_sample(text(), codes) == []
    (found,) = find_faults(WRONG["swapped"](text()), codes)
    assert found.kind == "swapped"
    (found,) = find_faults(WRONG["wrong_language"](text()), codes)
    assert "or set download.languages.target=fr" in found.sentence


def test_stop_names_the_repair_to_type():
    spoilt = change(text()[:200], lambda line: f"<b>{line}</b> &amp; {read_as_windows('für')}")
    with pytest.raises(CorpusError, match=r"own\.filter\.repair=\[entities,mojibake,tags\];"):
        settle_findings("own", inspect_sample(spoilt, ("de", "en")))


PROPERTIES = {
    "numbers": lambda line: f"{line} (13)",
    "tags": lambda line: f'<p class="x">{line}<br/></p>',
    "entities": lambda line: f"{line} &amp;",
    "mojibake": lambda line: read_as_windows(f"{line} (für 5 €)").replace("5", "x"),
    "stray_language": lambda _: "Nous avons décidé de reporter la réunion à la semaine prochaine.",
    "repeated": lambda _: "All rights reserved.",
}


@pytest.mark.parametrize("kind", PROPERTIES)
@pytest.mark.parametrize(("share", "reported"), [(0, False), (2, False), (25, True)])
def test_spoilt_pairs_are_counted_with_example(kind, share, reported):
    """Wherever in the text they stand; a few are an accident."""
    rows = range(len(text()) - share, len(text()))
    spoilt = [
        Pair(f"{source} (12)", PROPERTIES[kind](target)) if row in rows else Pair(source, target)
        for row, (source, target) in enumerate(text())
    ]
    found = [one for one in inspect_sample(spoilt, ("de", "en")) if one.kind == kind]
    assert bool(found) is reported
    for one in found:
        assert one.sentence.startswith("25 pairs (3.9%) ")
        assert spoilt[rows[12]] in one.examples
