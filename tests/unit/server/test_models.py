"""A model replaces another only if it is whole and has the same languages."""

import json

import pytest

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.server.errors import RequestError
from nmt_core.server.models import (
    MAX_CARD_CHARACTERS,
    Models,
    WatchedModel,
    detect_languages,
    name_language,
    poll_folder,
    read_card,
)
from nmt_core.server.run import build_app
from nmt_core.server.settings import ServerConfig
from tests.support.stand_in import StandIn, StandInSource, client_of, in_a_loop


class Loader:
    """Loads stand-ins by the name of their folder, and fails on request."""

    def __init__(self):
        self.loaded = []
        self.broken = {}
        self.meanwhile = lambda: None
        self.languages = ("de", "en")

    def __call__(self, folder):
        self.loaded.append(folder.name)
        self.meanwhile()
        if folder.name in self.broken:
            raise BundleError(self.broken[folder.name])
        return StandIn(mark=folder.name, languages=self.languages)


@pytest.fixture
def load():
    return Loader()


@pytest.fixture
def source():
    return StandInSource("1")


@pytest.mark.parametrize(
    ("versions", "served", "problem", "loaded"),
    [
        ("2", "2", "", "12"),
        ("11", "1", "", "1"),
        ("bb", "1", "broken", "1b"),
        ("b3", "3", "", "1b3"),
        ("b1", "1", "", "1b"),
        ("b1b", "1", "broken", "1b"),
        ("b3b", "3", "broken", "1b3b"),
    ],
)
def test_last_valid_version_serves(source, load, caplog, versions, served, problem, loaded):
    models = Models([WatchedModel(source.poll)], load)
    load.broken["b"] = "broken"
    renewed = 0
    for version in versions:
        source.version = version
        renewed += models.refresh()

    assert models.find("de", "en").version == served
    assert models.watched[0].problem == problem
    assert load.loaded == [*loaded]
    assert renewed == len(loaded.replace("b", "")) - 1
    warnings = [record for record in caplog.records if "broken" in record.message]
    assert len(warnings) == versions.replace("bb", "b").count("b")


@pytest.mark.parametrize(
    ("thing", "name", "value", "problem"),
    [
        ("source", "error", ConfigError("MLflow is away"), "MLflow is away"),
        ("source", "error", None, ""),
        ("load", "languages", ("fr", "en"), "translates fr-en, not de-en"),
        ("load", "meanwhile", lambda: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_old_model_serves_during_a_problem(source, load, thing, name, value, problem):
    models = Models([WatchedModel(source.poll)], load)
    models.watched[0].problem = "another one"
    setattr({"source": source, "load": load}[thing], name, value)
    source.version = "1" if thing == "source" else "2"

    assert models.refresh() == 0
    assert models.find("de", "en").version == "1"
    assert problem in models.watched[0].problem
    assert bool(problem) == bool(models.watched[0].problem)


def test_broken_model_stops_the_start(source, load):
    load.broken["1"] = "broken"
    with pytest.raises(BundleError, match="broken"):
        Models([WatchedModel(source.poll)], load)


def serve(*pairs, named=None):
    """Return models of pairs of languages; None for a model that names no languages."""
    watched = [WatchedModel(StandInSource(str(number)).poll, named) for number in range(len(pairs))]
    translators = [StandIn(languages=pair or ("de", "en")) for pair in pairs]
    for translator, pair in zip(translators, pairs, strict=True):
        translator.languages = translator.languages if pair else None
    return Models(watched, lambda folder: translators[int(folder.name)])


JA_EN, DE_EN, FR_EN = ("ja", "en"), ("de", "en"), ("fr", "en")


@pytest.mark.parametrize(
    ("pairs", "named", "reason"),
    [
        ([], None, "no model to serve"),
        ([FR_EN, DE_EN, DE_EN, FR_EN, JA_EN], None, "models translate de-en, fr-en; give only one"),
        ([DE_EN], JA_EN, "translates de-en, not ja-en"),
        ([None], None, "does not name its languages"),
    ],
)
def test_models_that_cannot_be_served_are_refused(pairs, named, reason):
    with pytest.raises(ConfigError, match=reason):
        serve(*pairs, named=named)


def test_operator_may_name_the_languages():
    assert serve(None, named=JA_EN).find(*JA_EN).pair == JA_EN


def test_models_are_found_by_their_languages():
    several = serve(("de", "en"), ("en", "de"), ("fr", "en"))

    assert several.find("fr", "en").pair == ("fr", "en")
    assert several.list_sources("en") == ["de", "fr"]
    assert several.list_sources("fr") == []
    assert several.codes == ["de", "en", "fr"]
    assert several.list_languages() == [
        {"code": "de", "name": "German", "targets": ["de", "en"]},
        {"code": "en", "name": "English", "targets": ["de", "en"]},
        {"code": "fr", "name": "French", "targets": ["en", "fr"]},
    ]
    for pair, reason in (
        (("es", "en"), "^es is not supported$"),
        (("de", "x" * 30), f"^{'x' * 20} is not supported$"),
        (("de", "fr"), r"^French \(fr\) is not available as a target language from German \(de\)$"),
    ):
        with pytest.raises(RequestError, match=reason):
            several.find(*pair)


def test_folder_is_identified_by_its_manifest(tmp_path):
    digests = set()
    for number in range(2):
        (tmp_path / "manifest.json").write_text(json.dumps({"files": number}))
        folder, version, digest = poll_folder(tmp_path)
        digests.add(digest)
        assert (folder, version) == (tmp_path, digest[:12])

    assert len(digests) == 2
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(BundleError, match="is not an exported model"):
        poll_folder(tmp_path)


def test_card_is_truncated(tmp_path):
    assert read_card(tmp_path) == ""
    (tmp_path / "README.md").write_bytes(b"\xff" + b"a" * MAX_CARD_CHARACTERS)

    assert read_card(tmp_path) == "\ufffd" + "a" * (MAX_CARD_CHARACTERS - 1)


@in_a_loop
async def test_page_links_the_card(tmp_path):
    (tmp_path / "README.md").write_text("# de to en\n")
    models = Models([WatchedModel(lambda: (tmp_path, "7", "digest"), DE_EN)], lambda _: StandIn())
    async with client_of(build_app(models, ServerConfig())) as client:
        [offered] = (await client.get("/frontend/settings")).json()["models"]
        card = await client.get(f"/{offered['card']}")
        missing = await client.get("/model_card/en/de")

    assert offered == {
        "source": "de",
        "target": "en",
        "version": "7",
        "card": "model_card/de/en",
        "tags": [],
    }
    assert card.text == "# de to en\n"
    assert card.headers["Content-Type"].startswith("text/plain")
    assert missing.status_code == 400


@pytest.mark.parametrize(
    ("among", "detected"), [({"en", "de", "fr"}, ["de", "en", "fr"]), ({"xx", "x-own"}, ["x-own"])]
)
def test_likeliest_served_language_is_first(among, detected):
    found = detect_languages("Wir haben die Sitzung verschoben.", among)

    assert [each.language for each in found] == detected
    assert (found[0].confidence > 90) == ("de" in among)


NAMES = {
    "bn": "Bengali",
    "pt": "Portuguese",
    "pt-BR": "Portuguese (Brazil)",
    "sr-Latn": "Serbian (Latin)",
    "tl": "Tagalog",
    "zh": "Chinese",
    "zh-Hant": "Chinese (Traditional)",
    "x-own": "x-own",
}


def test_languages_have_the_names_of_libretranslate():
    assert {code: name_language(code) for code in NAMES} == NAMES
