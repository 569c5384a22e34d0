"""Screens: planted noise is found, sound pairs stay, and a stored screen judges alike."""

import json
import random
from functools import cache

import numpy as np
import pytest

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.screen import Screen, learn_screen, split_sides
from nmt_core.corpora.screening.settings import ScreenConfig
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
        rows = slice(140 * place, 140 * (place + 1))
        sample[rows] = spoil(kind, sample[rows])
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
def test_planted_noise_is_found(kind):
    pairs = [pair for pair in text()[3300:3700] if len(pair.target.split()) > 5]
    dropped = screen().judge([*spoil(kind, pairs)])
    assert sum(name is not None for name in dropped) >= 0.9 * len(pairs)


def test_sound_pairs_stay():
    dropped = screen().judge(text()[3300:])
    assert sum(name is not None for name in dropped) <= 0.03 * 700
    trusted = split_sides(text()[1700:3300])
    assert screen().fitted
    assert screen().signals.gains == screen().signals.find_gains(*trusted)


def test_stored_screen_judges_each_pair_alike(tmp_path):
    pairs = [*spoil("shifted", text()[:60]), *text()[:60], *spoil("language", text()[:9])]
    whole = screen().judge(pairs)
    screen().save(tmp_path / "screen")
    loaded = Screen.load(tmp_path / "screen")
    assert [name for pair in pairs for name in loaded.judge([pair])] == whole
    assert loaded.judge(pairs[::-1]) == whole[::-1]
    assert loaded.thresholds == screen().thresholds
    assert loaded.judge([]) == []


def test_any_lines_are_judged():
    odd = ["", " ", ".", "\ud800", "🙂" * 50, "x" * 5000, "1 " * 300, "漢字かな", "\u200f\u0301"]
    assert len(screen().judge([Pair(one, other) for one in odd for other in odd])) == 81


def test_thresholds_of_settings_are_stored(tmp_path):
    config = ScreenConfig(truncated="off", alignment=0.25)
    learn_screen(text()[:1000], text()[1700:3300], LANGUAGES, config).save(tmp_path / "screen")
    loaded = Screen.load(tmp_path / "screen")
    assert loaded.thresholds["alignment"] == 0.25
    assert loaded.thresholds["truncated"] == np.inf
    assert "truncated" not in loaded.judge([*spoil("truncated", text()[3300:3400])])


def test_other_text_may_be_judged():
    """Thresholds are fitted to it, and the sample still teaches the signals."""
    noise = [*spoil("shifted", text()[:300]), *text()[300:400]]
    config = ScreenConfig()
    judged = learn_screen(text()[:1000], text()[1700:3300], LANGUAGES, config, judged=noise)
    alone = learn_screen(text()[:1000], text()[1700:3300], LANGUAGES, config)
    assert judged.thresholds["alignment"] < alone.thresholds["alignment"]
    assert judged.signals.gains == alone.signals.gains
    with pytest.raises(CorpusError, match="1,000"):
        learn_screen(text()[:999], text()[1700:], LANGUAGES, config)


@pytest.mark.parametrize("damage", ["missing", "no json", "unknown key", "no arrays"])
def test_damaged_screen_is_refused(damage, tmp_path):
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
