"""What is wrong with a corpus as a whole is said, and nothing is said of a sound one."""

import random
import re
from functools import cache

import pytest

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening import findings
from nmt_core.corpora.screening.findings import (
    Finding,
    _check_shift,
    describe_strays,
    inspect_sample,
    refuse_findings,
)
from nmt_core.corpora.screening.word_pairs import LEARNING
from tests.support.demo import draw_corpus
from tests.support.formats import read_as_windows


@pytest.fixture(autouse=True)
def _blocks(monkeypatch):
    """Compare fewer pairs together: sound ones are explained by 2.5 nats, others by less than 0."""
    monkeypatch.setattr(findings, "BLOCK", 300)


@cache
def text():
    """Sound pairs, two blocks of them even where one side is late."""
    pairs = draw_corpus()["train"][:640]
    random.Random(1).shuffle(pairs)
    return pairs


def shift(pairs, lines):
    return [
        Pair(one.source, other.target) for one, other in zip(pairs, pairs[lines:], strict=False)
    ]


def shuffle(pairs):
    targets = [pair.target for pair in pairs]
    random.Random(2).shuffle(targets)
    return [Pair(pair.source, target) for pair, target in zip(pairs, targets, strict=True)]


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
    found = inspect_sample(WRONG[kind](text()), ("de", "en"))
    assert [finding.kind for finding in found] == [kind]
    assert found[0].examples


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
    (found,) = inspect_sample([Pair(line, line) for line in lines], ("en",))
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


@pytest.mark.parametrize(("swapped", "late"), [(False, "source"), (True, "target")])
def test_the_side_that_is_late_is_named(swapped, late):
    pairs = [Pair(*pair[::-1]) if swapped else pair for pair in shift(text(), 2)]
    (found,) = inspect_sample(pairs, ("en", "de") if swapped else ("de", "en"))
    assert f"{late} is late by 2" in found.sentence


def test_a_file_that_loses_a_line_on_the_way_is_found():
    part = [*text()[:300], *shift(text()[300:], 1)]
    assert [finding.kind for finding in inspect_sample(part, ("de", "en"))] == ["shifted"]


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
    assert _check_shift(pairs) == []
    assert [found.kind for found in _check_shift(shuffle(pairs))] == ["unrelated"]
    assert [found.kind for found in _check_shift(shift(pairs, 1))] == ["shifted"]


def test_paragraphs_are_looked_at_by_their_beginnings():
    draw = random.Random(4)
    drawn = [draw.sample(text(), 12) for _ in range(620)]
    pairs = [Pair(*map(" ".join, zip(*some, strict=True))) for some in drawn]
    assert min(len(line.split()) for line in pairs[0]) > LEARNING.max_words
    assert _check_shift(pairs) == []


def test_sides_are_swapped_where_one_is_too_short_to_tell():
    """Nobody is told to set twice the same language, either."""
    lines = [pair.source for pair in text()[:200]]
    pairs = [Pair(("You see it.", "We know this.")[n % 2], line) for n, line in enumerate(lines)]
    (found,) = inspect_sample(pairs, ("de", "en"))
    assert found.kind == "swapped"
    (found,) = inspect_sample([Pair(line, line) for line in lines], ("de", "en"))
    assert found.kind == "wrong_language"
    assert "download.languages" not in found.sentence


def test_text_of_which_no_word_is_repeated_is_told():
    """Such as numbers alone."""
    (found,) = inspect_sample([Pair(str(n), str(n)) for n in range(600)], ("de", "en"))
    assert found.kind == "unrelated"
    assert found.sentence.startswith("hardly a word stands in several pairs")


@pytest.mark.parametrize(("spoilt", "kinds"), [(9, []), (10, ["entities"])])
def test_a_few_entities_are_an_accident(spoilt, kinds):
    pairs = [*change(text()[:spoilt], lambda line: f"{line} &amp;"), *text()[spoilt:200]]
    assert [finding.kind for finding in inspect_sample(pairs, ("de", "en"))] == kinds


@pytest.mark.parametrize("line", ["за цену", "την τιμή", "l’été à Nîmes", "5 °C"])
def test_mojibake_of_any_script_is_found_and_sound_ones_are_not(line):
    sound = change(text()[:200], lambda other: f"{other} ({line})")
    assert inspect_sample(sound, ("de", "en")) == []
    spoilt = change(sound, read_as_windows)
    assert [found.kind for found in inspect_sample(spoilt, ("de", "en"))] == ["mojibake"]


@pytest.mark.parametrize("line", ["« CAFÉ »", "NÃO, IRMÃ.", "à » et Â", "Ö“", "ÎLE Ñ.", "TÃO"])
def test_capitals_with_accents_are_no_mojibake(line):
    pairs = change(text()[:200], lambda other: f"{other} {line}")
    assert inspect_sample(pairs, ("de", "en")) == []


def test_a_fault_stops_unless_a_person_accepts_it():
    found = [Finding("lower_case", "the target is in lower case", (Pair("A", "a"),))]
    with pytest.raises(CorpusError, match=r"own.*lower case.*look\.accepted"):
        refuse_findings("own", found)
    found.append(Finding("tokenized", "the target was tokenized", (Pair("A", "a ."),)))
    with pytest.raises(CorpusError, match=r"look\.accepted=\[lower_case,tokenized\]$"):
        refuse_findings("own", found)  # a space would part the setting in a shell
    refuse_findings("own", found, ["lower_case", "tokenized"])
    refuse_findings("own", [])


@pytest.mark.parametrize("codes", [("de-AT", "en-GB"), ("de", "en-US"), ("de-1996", "en")])
def test_a_region_hides_no_fault(codes):
    """The classifier knows languages alone."""
    assert inspect_sample(text(), codes) == []
    (found,) = inspect_sample(WRONG["swapped"](text()), codes)
    assert found.kind == "swapped"
    (found,) = inspect_sample(WRONG["wrong_language"](text()), codes)
    assert "or set download.languages.target=fr" in found.sentence


@pytest.mark.parametrize("code", ["grc", "arz", "sh"])
def test_a_language_whose_name_nobody_knows_is_looked_at(code):
    assert inspect_sample([Pair(code, "English"), *text()[:9]], (code, "en"))[0].kind == "header"


@pytest.mark.parametrize(("swapped", "told"), [(0, False), (9, False), (10, True)])
def test_lines_that_strayed_into_another_language_are_told(swapped, told):
    """A few are an accident, and half of the corpus would be a fault of all of it."""
    pairs = [*text()]
    for row in range(0, 40 * swapped, 40):
        pairs[row] = Pair(pairs[row].target, pairs[row].source)

    assert inspect_sample(pairs, ("de", "en")) == []
    found = describe_strays(pairs, ("de", "en"))
    if not told:
        assert found is None
        return
    assert re.search(r"2% of the source is not de \(for example '(.+)' beside .+ and 2% of", found)
    assert f"{pairs[200].source[:40]}" in found
    assert "of the text is not de" in describe_strays(pairs, ("de",))
