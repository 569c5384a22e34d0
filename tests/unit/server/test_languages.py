"""Languages have names, and are detected among those that are served."""

from types import SimpleNamespace

import pytest

from nmt_core.server import languages
from nmt_core.server.languages import detect_languages, name_language


@pytest.mark.parametrize(
    ("ranked", "detected"),
    [
        ([("fr", 0.6), ("de", 0.30004), ("en", 0.1)], [("de", 30.0), ("en", 10.0)]),
        ([("fr", 0.6)], [("de", 0.0)]),
    ],
)
def test_likeliest_served_language_is_first(monkeypatch, ranked, detected):
    texts = []
    detector = SimpleNamespace(rank=lambda text: texts.append(text) or ranked)
    monkeypatch.setattr(languages, "load_detector", lambda: detector)
    found = detect_languages("x" * 3000, {"en", "de"})

    assert [(each.language, each.confidence) for each in found] == detected
    assert texts == ["x" * 2000]


NAMES = {
    "bn": "Bengali",
    "pt": "Portuguese",
    "tl": "Tagalog",
    "zh": "Chinese",
    "x-own": "x-own",
}


def test_languages_have_the_names_of_libretranslate():
    assert {code: name_language(code) for code in NAMES} == NAMES
