"""A server offers every direction of a multilingual model, and all share its engine."""

import asyncio

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.server.models import Models, WatchedModel
from tests.support.multilingual import ENGLISH, FRENCH, GERMAN, multilingual_translator
from tests.support.scripted import scripted_translator
from tests.support.stand_in import StandInSource, ask, client_of, in_a_loop, serve_stand_in

ALL = ["de-en", "fr-en", "en-de", "en-fr", "de-fr"]


@in_a_loop
async def test_api_lists_every_direction():
    async with client_of(serve_stand_in(multilingual_translator())) as client:
        get = {path: await client.get(path) for path in (
            "/languages", "/frontend/settings", "/status", "/metrics", "/model_card/de/fr",
        )}  # fmt: skip

    assert get["/languages"].json() == [
        {"code": "de", "name": "German", "targets": ["de", "en", "fr"]},
        {"code": "en", "name": "English", "targets": ["de", "en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["en", "fr"]},
    ]
    for path in ("/frontend/settings", "/status"):
        models = get[path].json()["models"]
        assert [f"{each['source']}-{each['target']}" for each in models] == ALL
        assert [each.get("pivot") for each in models] == [None] * 4 + ["en"]
        assert models[4]["card"] == "model_card/de/fr"
    assert get["/model_card/de/fr"].status_code == 200
    for pair in ALL:
        assert f'nmt_model_current{{pair="{pair}"}} 1.0' in get["/metrics"].text


AUTO = {"source": "auto"}


@pytest.mark.parametrize(
    ("fields", "text", "detected"),
    [
        ({"q": GERMAN, "source": "de", "target": "en"}, f"EN {GERMAN}", None),
        ({"q": GERMAN, "source": "fr", "target": "en"}, f"EN {GERMAN}", None),
        ({"q": GERMAN, "source": "de", "target": "fr"}, f"FR EN {GERMAN}", None),
        ({"q": GERMAN, **AUTO, "target": "en"}, f"EN {GERMAN}", "de"),
        ({"q": FRENCH, **AUTO, "target": "en"}, f"EN {FRENCH}", "fr"),
        ({"q": GERMAN, **AUTO, "target": "fr"}, f"FR EN {GERMAN}", "de"),
        ({"q": ENGLISH, **AUTO, "target": "fr"}, f"FR {ENGLISH}", "en"),
        ({"q": ENGLISH, **AUTO, "target": "en"}, ENGLISH, "en"),
        ({"q": ENGLISH, "source": "en", "target": "en"}, ENGLISH, None),
        ({"q": [GERMAN, ""], **AUTO, "target": "en"}, [f"EN {GERMAN}", ""], "de"),
        ({"q": "Ja.", "source": "fr", "target": "en", "tag": "news"}, "EN NEWS Ja.", None),
        ({"q": "Haus", "source": "de", "target": "en", "glossary": "Haus = hut"}, "EN hut", None),
    ],
)
@in_a_loop
async def test_text_is_translated_in_its_direction(fields, text, detected):
    answer = (await ask(app=serve_stand_in(multilingual_translator()), json=fields)).json()

    assert answer["translatedText"] == text
    found = answer.get("detectedLanguage")
    assert {each["language"] for each in (found if isinstance(found, list) else [found or {}])
            if each} == ({detected} if detected else set())  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"source": "es", "target": "en"}, "es is not supported"),
        ({"source": "auto", "target": "es"}, "es is not supported"),
        ({"source": "fr", "target": "de"}, "German (de) is not available as a target language"),
        ({"source": "de", "target": "fr", "glossary": "Haus = hut"}, "glossary cannot be used"),
    ],
)
@in_a_loop
async def test_unknown_direction_is_refused(fields, error):
    answer = await ask(app=serve_stand_in(multilingual_translator()), json={"q": "Ja", **fields})

    assert answer.status_code == 400
    assert error in answer.json()["error"]


@in_a_loop
async def test_requests_of_all_directions_share_the_engine():
    app = serve_stand_in(multilingual_translator())
    served = app.state.service.models.served
    async with client_of(app) as client:
        pairs = [pair.split("-") for pair in ALL * 6]
        answers = await asyncio.gather(*(
            client.post("/translate", json={"q": f"Ja {n}", "source": source, "target": target})
            for n, (source, target) in enumerate(pairs)
        ))  # fmt: skip

    assert len({id(model.translator.engine) for model in served}) == 1
    prefixes = {"de-fr": "FR EN"}
    assert [answer.json()["translatedText"] for answer in answers] == [
        f"{prefixes.get('-'.join(pair), pair[1].upper())} Ja {n}" for n, pair in enumerate(pairs)
    ]


# replacement


class Exports:
    """Loads a translator of the directions that the version names."""

    def __call__(self, folder):
        pairs = folder.name.split()
        plain = scripted_translator()
        return plain if pairs == ["plain"] else multilingual_translator(*pairs, pivot=())


@pytest.mark.parametrize(
    ("pair", "versions", "served", "problem"),
    [
        (None, ["de-en fr-en", "de-en fr-en en-fr"], ["de-en", "fr-en", "en-fr"], ""),
        (None, ["de-en fr-en", "de-en en-fr"], ["de-en", "fr-en"], "de-en, en-fr, not fr-en; give"),
        (None, ["plain", "de-en fr-en"], ["de-en", "fr-en"], ""),
        (None, ["de-en fr-en", "plain"], ["de-en", "fr-en"], "translates de-en, not fr-en; give"),
        (("mul", "en"), ["plain", "de-en fr-en"], ["de-en", "fr-en"], ""),
        (("fr", "en"), ["de-en fr-en", "fr-en en-fr"], ["fr-en"], ""),
        (("fr", "en"), ["de-en fr-en", "de-en en-fr"], ["fr-en"], "does not translate from fr"),
    ],
)
def test_newer_model_keeps_the_directions(pair, versions, served, problem):
    source = StandInSource(versions[0])
    models = Models([WatchedModel(source.poll, pair)], Exports())
    source.version = versions[1]
    models.refresh()

    assert ["-".join(model.pair) for model in models.served] == served
    assert problem in models.watched[0].problem
    assert bool(problem) == bool(models.watched[0].problem)


def test_direction_is_served_once():
    watched = [WatchedModel(StandInSource(name).poll) for name in ("de-en fr-en", "plain")]
    with pytest.raises(ConfigError, match="several models translate de-en"):
        Models(watched, Exports())
