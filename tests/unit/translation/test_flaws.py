"""Flaws of whole translations are reported, searched again, and flagged if they stay."""

import pytest

from nmt_core.translation.protection import find_flaws
from tests.support.scripted import scripted_translator

LINE = "der kleine Hund sieht heute keine anderen Hunde im Park"


def flaws(source, translation, *, tokens=5, limit=20):
    return [
        (flaw.problem, flaw.text)
        for flaw in find_flaws(
            source, translation, tokens=tokens, limit=limit, literals=["{x}", "5"]
        )
    ]


@pytest.mark.parametrize(
    ("source", "translation", "found"),
    [
        ("x", "a good translation", []),
        ("x", "", [("empty", "")]),
        ("x", " ", [("empty", "")]),
        ("", "", []),
        (" ", "", []),
        ("x", "well the owl the owl the owl", [("looping", "the owl")]),
        ("nein nein nein", "no no no", []),
        ("x", "and so on ....... - - - -", []),
        (LINE, LINE, [("copied", "")]),
        ("New York Times", "New York Times", []),
        ("nein", "Nineineineine.", [("looping", "ineineineine")]),
        ("Sonne", "Sonnenenergie, Urururgroßvater, hahaha", []),
        ("hahahahaha", "hahahahaha", []),
        ("{x} Gesetze", "{x}", [("empty", "")]),
        ("{x}", "{x}", []),
        ("5 Gesetze", "5", [("empty", "")]),
        ("東京に5人", "5 人", []),
    ],
)
def test_output_that_is_no_translation_is_reported(source, translation, found):
    assert flaws(source, translation) == found


@pytest.mark.parametrize(
    ("tokens", "found"), [(19, []), (20, [("too long", "")]), (21, [("too long", "")])]
)
def test_truncated_output_is_too_long(tokens, found):
    assert flaws("x", "y", tokens=tokens) == found


@pytest.mark.parametrize(("sound", "again"), [((3, 2), [3]), ((2,), [3, 2])])
def test_loops_are_searched_again_without_repetitions(sound, again):
    """Shorter and shorter repetitions are forbidden until the loop ends."""
    own = scripted_translator(lambda text: "so so so so" if text == "das Haus" else text)
    searched = []

    def search(requests, asked, **options):
        searched.append((len(requests), asked.no_repeat_ngram_size))
        if asked.no_repeat_ngram_size in sound:
            return [
                [found._replace(tokens=tuple(own.target.ids("so")))]
                for [found] in plain(requests, asked, **options)
            ]
        return plain(requests, asked, **options)

    plain = type(own.engine).search.__get__(own.engine)
    own.engine.search = search
    found = own.search(["das Haus", "ein Hund"])

    assert [(best.text, best.breaches) for [best] in found] == [("so", ()), ("ein Hund", ())]
    assert searched == [(2, 0), *((1, size) for size in again)]


def test_loops_of_symbols_are_searched_again():
    own = scripted_translator()

    def search(requests, asked, **options):
        own.engine.scripts = (str if asked.no_repeat_ngram_size else write_badly,)
        return plain(requests, asked, **options)

    def write_badly(text):
        return "so" if "94" in text else f"{text} so so so"

    plain = type(own.engine).search.__get__(own.engine)
    own.engine.search = search
    [[best]] = own.search(["94 und 17"])

    assert (best.text, best.breaches) == ("94 und 17", ())


def test_a_remaining_loop_is_flagged_once():
    [[best]] = scripted_translator(lambda _: "so so so").search(["das Haus"])
    assert [(flaw.kind, flaw.problem) for flaw in best.breaches] == [("sentence", "looping")]
    assert best.text == "so so so"
    [[same]] = scripted_translator().search(["ja ja ja"])
    assert same.breaches == ()


def test_an_empty_translation_yields_to_the_next_hypothesis():
    own = scripted_translator(lambda _: "", lambda text: f"a {text}")
    assert own.translate(["das Haus", ""]) == ["a das Haus", ""]
