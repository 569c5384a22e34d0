"""A model takes the place of another only if it is whole, and of the same languages."""

import json

import pytest

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.server.errors import RequestError
from nmt_core.server.models import FolderSource, LanguagePair, Models, Watched
from tests.support.stand_in import StandIn, StandInSource


class Loader:
    """Loads stand-ins by the name of their folder, and can be told to fail."""

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


@pytest.fixture
def models(source, load):
    return Models([Watched(source)], load)


def test_a_new_version_takes_the_place_of_the_old(models, source, load):
    old = models.find("de", "en")
    source.version = "2"

    [new] = models.renew()

    assert models.find("de", "en") is new is not old
    assert (new.bundle.version, old.bundle.version) == ("2", "1")
    assert ["1", "2"] == load.loaded


def test_the_same_version_is_not_loaded_again(models, load):
    assert [] == models.renew() == models.renew()
    assert ["1"] == load.loaded


def test_a_broken_version_is_refused_once_and_the_old_one_stays(models, source, load, caplog):
    load.broken["2"] = "2 is broken; export it again"
    source.version = "2"

    for _ in range(2):
        assert [] == models.renew()
        assert 1 == sum("2 is broken" in record.message for record in caplog.records)

    assert models.find("de", "en").bundle.version == "1"
    assert models.watched[0].problem == "2 is broken; export it again"
    assert ["1", "2"] == load.loaded


@pytest.mark.parametrize(
    ("versions", "served", "problem", "loaded"),
    [("23", "3", "", "123"), ("21", "1", "", "12"), ("212", "1", "broken", "12")],
    ids=["next", "back", "again"],
)
def test_after_a_broken_version_another_is_served_and_the_problem_has_ended(
    models, source, load, versions, served, problem, loaded
):
    """Unless it comes again."""
    load.broken["2"] = "broken"
    for version in versions:
        source.version = version
        models.renew()

    assert models.find("de", "en").bundle.version == served
    assert models.watched[0].problem == problem
    assert load.loaded == [*loaded]


def test_a_version_replaced_while_it_was_read_is_read_again(models, source, load):
    source.version = "2"
    load.broken["2"] = "half of it is another's"
    load.meanwhile = lambda: setattr(source, "version", "3")

    models.renew()
    assert models.find("de", "en").bundle.version == "1"
    assert not models.watched[0].refused
    load.meanwhile = lambda: None
    models.renew()

    assert models.find("de", "en").bundle.version == "3"


def test_a_whole_model_loaded_while_it_was_replaced_is_not_served(models, source, load):
    source.version = "2"
    load.meanwhile = lambda: setattr(source, "version", "3")

    assert [] == models.renew()
    assert models.find("de", "en").bundle.version == "1"


def test_a_source_that_is_away_changes_nothing_but_the_problem(models, source):
    source.error = ConfigError("MLflow is away")
    assert [] == models.renew()
    assert models.watched[0].problem == "MLflow is away"
    source.error = None
    models.renew()

    assert models.find("de", "en").bundle.version == "1"
    assert models.watched[0].problem == ""


def test_a_model_of_other_languages_is_refused(models, source, load):
    load.languages = ("fr", "en")
    source.version = "2"

    assert [] == models.renew()
    assert "translates fr-en, not de-en" in models.watched[0].problem


def test_what_goes_wrong_first_stops_the_start(source, load):
    load.broken["1"] = "broken"
    with pytest.raises(BundleError, match="broken"):
        Models([Watched(source)], load)


def serve(*pairs, given=None):
    """Return models of pairs of languages; None where a model does not say any."""
    watched = [Watched(StandInSource(str(n)), given) for n in range(len(pairs))]
    translators = [StandIn(languages=pair or ("de", "en")) for pair in pairs]
    for translator, pair in zip(translators, pairs, strict=True):
        translator.languages = translator.languages if pair else None
    return Models(watched, lambda folder: translators[int(folder.name)])


def test_models_that_cannot_be_served_are_refused():
    ja_en, de_en, fr_en = ("ja", "en"), ("de", "en"), ("fr", "en")
    for pairs, given, told in (
        ([], None, "no model to serve"),
        ([fr_en, de_en, de_en, fr_en, ja_en], None, "models translate de-en, fr-en; name one"),
        ([de_en], LanguagePair(*ja_en), "translates de-en, not ja-en"),
        ([None], None, "does not say which languages it translates"),
    ):
        with pytest.raises(ConfigError, match=told):
            serve(*pairs, given=given)
    assert serve(None, given=LanguagePair(*ja_en)).find(*ja_en).pair == ja_en


def test_models_are_found_by_their_languages_and_no_other():
    several = serve(("de", "en"), ("en", "de"), ("fr", "en"))
    assert several.find("fr", "en").pair == ("fr", "en")
    assert several.sources("en") == ["de", "fr"]
    assert several.sources("fr") == []
    assert several.list_codes() == ["de", "en", "fr"]
    assert [code for code in ("de", "es", "fr") if several.knows(code)] == ["de", "fr"]
    assert several.list_languages() == [
        {"code": "de", "name": "German", "targets": ["de", "en"]},
        {"code": "en", "name": "English", "targets": ["de", "en"]},
        {"code": "fr", "name": "French", "targets": ["en", "fr"]},
    ]
    for pair, told in (
        (("es", "en"), "^es is not supported$"),
        (("de", "x" * 30), f"^{'x' * 20} is not supported$"),
        (("de", "fr"), r"^French \(fr\) is not available as a target language from German \(de\)$"),
    ):
        with pytest.raises(RequestError, match=told):
            several.find(*pair)


def test_a_folder_is_known_by_its_manifest(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"files": 1}))
    source = FolderSource(tmp_path)
    first = source.poll()
    (tmp_path / "manifest.json").write_text(json.dumps({"files": 2}))

    assert first.digest != source.poll().digest
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(BundleError, match="is not an exported model"):
        source.poll()
