"""Screening: planted noise is found, sound pairs stay, and thresholds keep what they promise."""

import json
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.flat_text import flatten_lines
from nmt_core.corpora.screening.language_scores import LanguageScorer, load_langid
from nmt_core.corpora.screening.screen import Screen, learn_screen, split_sides
from nmt_core.corpora.screening.scripts import find_usual_scripts, measure_foreign_letters
from nmt_core.corpora.screening.settings import ScreenConfig
from nmt_core.corpora.screening.signals import (
    FILTERS,
    LengthModel,
    count_differing_literals,
    measure_copied,
)
from nmt_core.corpora.screening.thresholds import PLAINLY_WRONG, fit_thresholds
from nmt_core.corpora.screening.word_numbers import WordNumbers, measure_repetition
from tests.support.demo import draw_corpus

LANGUAGES = "de", "en"
KINDS = "shifted", "language", "copied", "repetition", "truncated", "script", "literals"
FRENCH = [
    "Les enfants jouent au ballon dans la cour de l'école depuis ce matin.",
    "Nous avons décidé de reporter la réunion à la semaine prochaine.",
    "Il pleuvait si fort que personne ne voulait sortir de la maison.",
    "Votre lettre est arrivée hier, mais je ne l'ai pas encore ouverte.",
]


@cache
def text():
    return draw_corpus()["train"]


@cache
def screen():
    sample = text()[:1700]
    for place, kind in enumerate(KINDS):
        sample[140 * place : 140 * (place + 1)] = spoil(
            kind, sample[140 * place : 140 * place + 140]
        )
    return learn_screen(sample, text()[1700:3300], LANGUAGES, ScreenConfig())


def spoil(kind, pairs):
    draw = random.Random(kind)
    for number, (source, target) in enumerate(pairs):
        words = target.split()
        match kind:
            case "shifted":
                yield Pair(source, pairs[(number + 7) % len(pairs)].target)
            case "language":
                yield Pair(source, FRENCH[number % len(FRENCH)])
            case "copied":
                yield Pair(source, source)
            case "repetition":
                yield Pair(source, " ".join(words[:3] + words[1:3] * draw.randint(4, 9)))
            case "truncated":
                yield Pair(source, " ".join(words[: len(words) // 3]))
            case "script":
                yield Pair(source, target.replace("e", "е").replace("a", "а"))
            case "literals":
                yield Pair(source, f"{target} 17 and 345 and 8912 and 77 and 2019 and 51")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planted_is_found(kind):
    pairs = [pair for pair in text()[3300:3700] if len(pair.target.split()) > 5]
    taken = screen().judge([*spoil(kind, pairs)])
    assert sum(why is not None for why in taken) >= 0.9 * len(pairs)


def test_averages_are_those_of_trusted_pairs():
    trusted = split_sides(text()[1700:3300])
    assert screen().signals.gains == screen().signals.find_gains(*trusted)


def test_sound_pairs_stay():
    taken = screen().judge(text()[3300:])
    assert sum(why is not None for why in taken) <= 0.03 * 700


def test_a_pair_is_judged_alone(tmp_path):
    pairs = [*spoil("shifted", text()[:60]), *text()[:60], *spoil("language", text()[:9])]
    whole = screen().judge(pairs)
    screen().save(tmp_path / "screen")
    loaded = Screen.load(tmp_path / "screen")
    assert [why for pair in pairs for why in loaded.judge([pair])] == whole
    assert loaded.judge(pairs[::-1]) == whole[::-1]
    assert loaded.thresholds == screen().thresholds
    assert loaded.judge([]) == []


def test_lines_of_all_kinds_are_judged():
    odd = ["", " ", ".", "\ud800", "🙂" * 50, "x" * 5000, "1 " * 300, "漢字かな", "\u200f\u0301"]
    assert len(screen().judge([Pair(one, other) for one in odd for other in odd])) == 81


def test_a_person_sets_thresholds(tmp_path):
    config = ScreenConfig(truncated="off", alignment=0.25)
    learn_screen(text()[:1000], text()[1700:3300], LANGUAGES, config).save(tmp_path / "screen")
    learnt = Screen.load(tmp_path / "screen")
    assert learnt.thresholds["alignment"] == 0.25
    cut = [*spoil("truncated", text()[3300:3400])]
    assert "truncated" not in learnt.judge(cut)


def test_too_little_text_is_refused():
    with pytest.raises(CorpusError, match="1,000"):
        learn_screen(text()[:999], text()[1700:], LANGUAGES, ScreenConfig())


@pytest.mark.parametrize("damage", ["missing", "no json", "unknown key", "no arrays"])
def test_a_damaged_screen_is_refused(damage, tmp_path):
    folder = tmp_path / "screen"
    screen().save(folder)
    known = folder / "screen.json"
    match damage:
        case "missing":
            known.unlink()
        case "no json":
            known.write_text("{")
        case "unknown key":
            known.write_text(json.dumps({**json.loads(known.read_text()), "more": 1}))
        case "no arrays":
            (folder / "screen.npz").write_bytes(b"PK")
    with pytest.raises(CorpusError):
        Screen.load(folder)


@given(st.integers(0, 2**32), st.integers(0, 3000), st.sampled_from([0.003, 0.01, 0.1]))
def test_no_more_trusted_pairs_are_lost_than_stated(seed, pairs, share):
    draw = np.random.default_rng(seed)

    def measure(count):
        return {
            name: np.round(draw.standard_normal(count) ** 3, int(draw.integers(0, 4)))
            for name in FILTERS
        }

    sample, trusted = measure(500), measure(pairs)
    thresholds = fit_thresholds(sample, trusted, ScreenConfig(lost_share=share))
    if share * (pairs + 1) >= 10:
        lost = np.any([trusted[name] > thresholds[name] for name in FILTERS], axis=0)
        assert lost.sum() <= share * (pairs + 1)
    else:
        assert thresholds == PLAINLY_WRONG


def test_the_loss_is_spent_where_noise_is():
    quiet = np.linspace(0, 1, 3000)
    trusted = dict.fromkeys(FILTERS, quiet)
    sample = dict.fromkeys(FILTERS, quiet[::10]) | {"alignment": np.linspace(0.985, 0.999, 300)}
    thresholds = fit_thresholds(sample, trusted, ScreenConfig())
    assert thresholds["alignment"] < 0.994
    assert min(thresholds[name] for name in FILTERS if name not in {"alignment", "script"}) >= 1


def test_a_pair_that_several_filters_lose_is_lost_once():
    alike = np.linspace(10, 20, 3000)
    trusted = dict.fromkeys(FILTERS, np.zeros(3000)) | dict.fromkeys(
        ("truncated", "alignment"), alike
    )
    sample = dict(trusted) | {
        "truncated": np.repeat([19.95, 0.0, 0.0], 1000),
        "alignment": np.repeat([0.0, 19.95, 0.0], 1000),
    }
    thresholds = fit_thresholds(sample, trusted, ScreenConfig(lost_share=0.008))
    assert max(thresholds["truncated"], thresholds["alignment"]) < 19.95


def test_the_shorter_side_is_the_one_that_lacks_its_end():
    lines = ["The same sentence, said once more." for _ in range(100)]
    model = LengthModel.fit(lines, lines)
    short, endless = "The same sentence, said.", "The same sentence, said"
    surprise = model.measure(
        [short, endless, lines[0], lines[0]], [lines[0]] * 2 + [short, endless]
    )
    assert surprise[1] > surprise[0] + 3
    assert surprise[3] > surprise[2] + 3
    longer = model.measure([lines[0]], [f"{lines[0]} And so on and on"])
    assert longer[0] < model.measure([lines[0]], [f"{lines[0]} And so on and on."])[0] + 1


def test_text_like_the_trusted_one_is_left_alone():
    draw = np.random.default_rng(1)
    sample, trusted = (
        {name: draw.standard_normal(count) for name in FILTERS} for count in (4000, 3000)
    )
    thresholds = fit_thresholds(sample, trusted, ScreenConfig())
    assert sum(int((sample[name] > thresholds[name]).sum()) for name in FILTERS) <= 0.01 * 4000


def test_languages_are_scored_as_py3langid_scores_them():
    scorer, classifier = LanguageScorer(), load_langid()
    lines = (
        [line for pair in text()[:40] for line in pair] + FRENCH + ["ÜBER ALLEN GIPFELN IST RUH"]
    )
    lines = [line for line in lines if len(line) <= 150]
    scores = scorer.score(lines)
    for line, row in zip(lines, scores, strict=True):
        language, score = classifier.classify(line)
        assert scorer.codes[row.argmax()] == language
        size = len((line.lower() if line.isupper() else line).encode())
        assert row.max() * size**0.5 == pytest.approx(score, rel=1e-4)


def test_short_lines_and_unknown_languages_abstain():
    scorer = LanguageScorer(["de", "en"])
    assert scorer.measure_doubt(["Ja.", "", "42"], "en").tolist() == [-np.inf] * 3
    assert scorer.measure_doubt([FRENCH[0]], "xx").tolist() == [-np.inf]
    of_region = scorer.measure_doubt(FRENCH, "en-GB")
    assert of_region.tolist() == scorer.measure_doubt(FRENCH, "en").tolist() != [-np.inf]


@given(st.lists(st.lists(st.integers(0, 2), max_size=25), max_size=6))
def test_repetition_is_what_a_plain_search_finds(lines):
    def search(line):
        most = 0
        for size in range(1, 9):
            run = 0
            for place in range(size, len(line)):
                run = run + 1 if line[place] == line[place - size] else 0
                if run >= size:
                    most = max(most, run)
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


def test_literals_count_on_both_sides():
    source = ["Am 3. Mai kamen 12 Leute", "nichts", "siehe https://a.example/b", "Wir sind da."]
    target = ["On 3 May 15 people came", "nothing", "see there", "We are 15."]
    assert count_differing_literals(source, target, LANGUAGES).tolist() == [3, 0, 1, 2]


def test_foreign_letters_are_those_of_other_scripts():
    usual = find_usual_scripts(["Das ist ein langer Satz und nicht mehr als das"] * 9 + ["Ω"])
    assert usual == ["LATIN"]
    lines = ["abc", "αβc", "12 !?", "ｆｕｌｌ"]
    assert measure_foreign_letters(lines, usual).tolist() == pytest.approx([0, 2 / 3, 0, 0])
