"""One model of several directions: which is chosen, for which text, in one step or in two."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import read_languages
from nmt_core.literals.glossary import Glossary
from nmt_core.translation.document_files import translate_document
from nmt_core.translation.forced_decoding import score_pairs
from nmt_core.translation.memory.store import MemoryScope, MemoryUnit, TranslationMemory
from nmt_core.translation.translation import IN_TARGET
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import check_golden, find_problem
from tests.support.multilingual import (
    ENGLISH,
    FRENCH,
    GERMAN,
    PAIRS,
    export_multilingual,
    list_directions,
    multilingual_translator,
)
from tests.support.scripted import scripted_translator
from tests.support.tiny import LINES

ALL = ("de-en", "fr-en", "en-de", "en-fr", "de-fr")


@pytest.fixture(scope="module")
def several():
    return multilingual_translator()


# choosing


def test_chosen_translator_has_the_direction(several):
    for pair in ALL:
        source, target = pair.split("-")
        chosen = several.choose(source, target)
        assert str(chosen.languages) == pair
        assert chosen is several.choose(source, target) is chosen.choose()
        assert chosen.translate("Ja. 3") == several.translate("Ja. 3", source=source, target=target)
    for first, second in permutations(ALL, 2):
        via = several.choose(*first.split("-")).choose(*second.split("-"))
        assert via is several.choose(*second.split("-"))
    assert several.choose("fr") is several.choose("fr", "en")
    for search in (several.search, several.sample, several.translate):
        with pytest.raises(ConfigError, match="name the target language"):
            search([GERMAN])


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (None, None, f"translates {', '.join(ALL)}; name the target language .--to."),
        ("de", None, "translates de-en, de-fr; name the target language"),
        (None, "en", "translates de-en, fr-en; name the source language .--from."),
        ("es", None, f"does not translate from es; it translates {', '.join(ALL)}"),
        (None, "es", "does not translate into es; it"),
        ("fr", "de", "does not translate from fr into de; it"),
        ("es", "es", "does not translate from es into es; it"),
    ],
)
def test_unknown_direction_is_refused_with_the_known_ones(several, source, target, message):
    with pytest.raises(ConfigError, match=message):
        several.choose(source, target)


def test_domain_follows_the_target_language(several):
    chosen = several.choose("en", "de")
    for tagged in (chosen.choose_tag("news"), several.choose_tag("news").choose("en", "de")):
        assert tagged.source.tags == (">de", "news")
    assert several.choose("de", "fr").choose_tag("news").translate("Ja") == "FR NEWS EN NEWS Ja"
    assert several.tags == ("news",)
    assert several.translate("Ja", source="fr", tag="news") == "EN NEWS Ja"


# texts


def test_texts_of_mixed_languages_keep_their_order(several):
    texts = [FRENCH, GERMAN, ENGLISH, "", f"{GERMAN}\n", FRENCH]
    translated = several.translate_texts(texts, target="en")

    assert [each.text for each in translated] == [
        f"EN {FRENCH}", f"EN {GERMAN}", ENGLISH, "", f"EN {GERMAN}\n", f"EN {FRENCH}",
    ]  # fmt: skip
    assert [each.breaches for each in translated] == [(), (), (IN_TARGET,), (), (), ()]
    assert several.translate(texts, target="en") == [each.text for each in translated]
    named = several.translate(texts[:3], source="de", target="en")
    assert named == [f"EN {text}" for text in texts[:3]]
    assert several.translate(GERMAN, target="de") == f"DE {GERMAN}"  # from English only
    mixed = several.translate_mixed("ABC", [*map(read_languages, ("de-en", "en-de", "fr-en"))])
    assert [each.text for each in mixed] == ["EN A", "DE B", "EN C"]


@pytest.mark.parametrize("text", ["Ja.", f" - {ENGLISH}\n\t{GERMAN} Nein.  \n", "", "\u2028"])
def test_text_in_the_target_language_stays(several, text):
    kept = several.translate_texts([text], source="en", target="en")

    assert [(each.text, each.breaches) for each in kept] == [(text, (IN_TARGET,))]
    assert several.choose("en", "en").translate(text) == text


def test_bilingual_translator_detects_nothing():
    plain, texts = scripted_translator(str.upper), [GERMAN, ENGLISH, ""]
    expected = [text.upper() for text in texts]
    for codes in ({}, {"source": "de"}, {"target": "en"}, {"source": "de", "target": "en"}):
        assert plain.translate(texts, **codes) == expected
        assert plain.choose(**codes) is plain
    with pytest.raises(ConfigError, match="does not translate into fr; it translates de-en"):
        plain.translate(texts, target="fr")
    nameless = replace(plain, languages=None)
    assert nameless.translate(texts) == expected
    with pytest.raises(ConfigError, match="does not name its languages"):
        nameless.translate(texts, target="en")


@pytest.mark.parametrize(
    ("source", "target", "text", "written"),
    [
        (None, "en", f"{GERMAN}\n\n{GERMAN}\n", f"EN {GERMAN}\n\nEN {GERMAN}\n"),
        (None, "en", f"{FRENCH}\n", f"EN {FRENCH}\n"),
        (None, "en", f"- {ENGLISH}\n  {ENGLISH}\n", f"- {ENGLISH}\n  {ENGLISH}\n"),
        ("fr", None, f"{GERMAN}\n", f"EN {GERMAN}\n"),
    ],
)
def test_language_of_a_document_is_detected(several, tmp_path, source, target, text, written):
    (path := tmp_path / "letter.txt").write_text(text)
    document = translate_document(path, several, source=source, target=target)

    assert document.path == tmp_path / "letter.en.txt"
    assert document.path.read_text() == written
    breaches = [each.breaches for _, each in document.segments]
    assert ((IN_TARGET,) in breaches) == (text == written)


def test_memory_and_glossary_belong_to_a_direction(several, tmp_path):
    memory = TranslationMemory(tmp_path / "memory.db")
    memory.put(MemoryScope(several.choose("de", "en").languages), [MemoryUnit("Ja.", "Aye.")])
    remembering = several.add_memory(memory)
    for whole in (False, True):
        translated = remembering.translate_texts(["Ja."], source="de", target="en", whole=whole)
        assert [(each.text, each.origin) for each in translated] == [("Aye.", "memory")]
        assert remembering.translate("Ja.", source="fr") == "EN Ja."
    terms = several.add_glossary(Glossary({"Haus": ("manor",)}, ("de", "en")))
    assert [terms.translate("Haus", source=code, target="en") for code in ("de", "fr")] == [
        "EN manor", "EN Haus",
    ]  # fmt: skip


# two steps


def test_two_steps_report_both(several):
    through = several.choose("de", "fr")
    into, out = through.pivot
    for first, second, joined in ((0.9, 0.3, 0.3), (0.0, 0.9, 0.0), (None, 0.9, None)):
        steps = judge_as(into, first), judge_as(out, second)
        [[best, other]] = replace(through, pivot=steps).search(["Ja"], n_best=2)
        assert (best.text, best.confidence, other.text) == ("FR EN Ja", joined, "FR EN Ja")
        assert best.source_tokens == into.search_best(["Ja"])[0].source_tokens
    losing = replace(through, pivot=(scripted_translator(lambda _: "x"), out))
    assert ("number", "94", "94", "missing") in losing.search_best(["Ja 94"])[0].breaches


def judge_as(step, confidence):
    """Return a translator that has the same confidence in every translation."""

    def judge(_, found):
        return [[each._replace(confidence=confidence) for each in own] for own in found]

    return replace(step, confidence_model=SimpleNamespace(judge=judge))


def test_tags_in_a_document_follow_links_through_both_steps(several, tmp_path):
    aligner = SimpleNamespace(trace=lambda pairs: [[*range(len(t))] for _, t in pairs])
    (path := tmp_path / "page.html").write_text("<p>Ein <b>rotes</b> Haus.</p>")
    linking = replace(several, load_aligner=lambda: aligner)
    for translator, written in (
        (linking, "<p>FR <b>EN</b> Ein rotes Haus.</p>"),
        (several, "<p>FR EN <b>Ein rotes</b> Haus.</p>"),
    ):
        document = translate_document(path, translator, source="de", target="fr")
        assert document.data.decode() == written
        document.path.unlink()


def test_two_steps_cannot_be_shown_as_one(several):
    through = several.choose("de", "fr")
    for look in (through.sample, lambda _: score_pairs(through, [("Ja", "Oui")])):
        with pytest.raises(ConfigError, match="de-fr in two steps; choose de-en or en-fr"):
            look(["Ja"])
    with pytest.raises(ConfigError, match="glossary cannot be used for de-fr"):
        through.add_glossary(Glossary({"Haus": ("maison",)}, ("de", "fr")))


# exports


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return export_multilingual(tmp_path_factory.mktemp("multilingual"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["torch", "ctranslate2_int8"])
def test_export_translates_each_direction_as_before(exported, engine):
    folder, original = exported
    loaded = Translator.load(folder, engine=engine, threads=1)

    assert (loaded.languages, loaded.directions) == (None, list_directions(*PAIRS, pivot=["de-fr"]))
    assert check_golden(loaded, folder) == []
    assert find_problem(folder, engine=engine, device="cpu", threads=1) == ""
    assert [each.languages for each in loaded.glossaries] == [("de", "en")]
    found = {pair: loaded.choose(*pair.split("-")).search_best(LINES) for pair in ALL}
    scores = {pair: [each.score for each in best] for pair, best in found.items()}
    assert scores["de-en"] == scores["fr-en"]
    assert len({*map(str, scores.values())}) == len(ALL) - 1
    if engine == "torch":
        for pair, best in found.items():
            assert original.choose(*pair.split("-")).search_best(LINES) == best
