"""The model to start from arrives whole, and is the requested model."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt_core.base import files, seal
from nmt_core.base.config import build
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.corpora.fetch.initial_model import (
    REQUIRED_FILES,
    BundleModel,
    ChampionModel,
    copy_initial_model,
)
from nmt_core.training.initial import load_initial_model
from stages import download
from stages.configure.compose import refresh_pins
from stages.params import DownloadParams, ExportParams, PromotionParams
from stages.registry import registry
from stages.registry.registry import RegistryAwayError
from tests.support.tiny import MODEL, export, tiny_translator


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "general")


def params(**initial_model):
    values = {
        "languages": {"source": "de", "target": "en"},
        "corpora": {"demo": {"kind": "demo", "grammar": {}}},
        "initial_model": initial_model,
    }
    return build(DownloadParams, values, at="download")


def bring(given, tmp_path):
    folder = tmp_path / "initial_model"
    return folder, download.bring_initial_model(given, folder, scratch=tmp_path / "scratch")


def test_a_bundle_has_weights_tokens_and_name(bundle, tmp_path):
    given = params(kind="bundle", folder=str(bundle)).pinned()
    folder, origin = bring(given, tmp_path)

    initial = load_initial_model(folder)
    assert initial is not None
    assert (MODEL, 320) == (initial.config, len(initial.target))
    assert origin == {"folder": str(bundle), "bundle_sha256": seal.digest_bundle(bundle)}
    assert origin == files.read_json(folder / "initial_model.json")
    assert {*REQUIRED_FILES, "initial_model.json"} == {path.name for path in folder.iterdir()}
    assert given.pins()[str(bundle)] == seal.digest_bundle(bundle)


def test_without_an_initial_model_nothing_is_fetched(tmp_path):
    folder, origin = bring(params(kind="none"), tmp_path)

    assert (load_initial_model(folder), origin) == (None, {})


def test_another_model_than_the_pinned_one_is_refused(bundle, tmp_path):
    other = export(tmp_path / "other", translator=tiny_translator(seed=2))
    given = params(kind="bundle", folder=str(other), sha256=seal.digest_bundle(bundle))

    with pytest.raises(BundleError, match="differs from params"):
        bring(given, tmp_path)
    assert not (tmp_path / "initial_model").exists()


def test_an_altered_model_is_refused(tmp_path):
    folder = export(tmp_path / "altered")
    (folder / "decoding.json").write_text("{}")

    with pytest.raises(BundleError, match=r"decoding\.json was altered"):
        copy_initial_model(folder, tmp_path)


def test_pinning_reports_files_that_are_no_model(tmp_path):
    with pytest.raises(BundleError, match="is not an exported model"):
        params(kind="bundle", folder=str(tmp_path)).pinned()


def test_training_never_starts_from_its_own_result():
    with pytest.raises(ConfigError, match=r"copy it: cp -r models/export models/initial"):
        params(kind="bundle", folder="models/export")


class RegistryOfOne:
    """A registry with one version, or one that does not answer."""

    name = "nmt-de-en"

    def __init__(self, digest):
        self.digest = digest

    def find_initial(self, digest):
        assert digest == ""
        if self.digest is None:
            raise RegistryAwayError("away")
        return SimpleNamespace(number=3, digest=self.digest)


@pytest.mark.parametrize(
    ("champion", "pinned", "found", "said"),
    [
        ("a" * 64, "", "a" * 64, 1),
        ("a" * 64, "b" * 64, "a" * 64, 1),
        ("a" * 64, "a" * 64, "a" * 64, 0),
        (None, "b" * 64, "b" * 64, 0),
    ],
)
def test_a_renewal_pins_the_current_champion(monkeypatch, champion, pinned, found, said):
    monkeypatch.setattr(registry, "Registry", lambda _: RegistryOfOne(champion))
    given = params(kind="champion", sha256=pinned)
    others = {"export": ExportParams(), "promotion": PromotionParams()}
    fresh, sentences = refresh_pins({"download": given, **others})

    assert fresh["download"].initial_model == ChampionModel(kind="champion", sha256=found)
    assert len(sentences) == said
    assert all("version 3" in sentence for sentence in sentences)


def test_the_champion_is_fetched_by_its_digest(bundle, tmp_path, monkeypatch):
    asked = []

    class FakeRegistry:
        def __init__(self, name):
            self.name = name

        def find_initial(self, digest):
            asked.append((self.name, digest))
            return SimpleNamespace(number=3)

        def fetch(self, version, folder):
            assert folder.is_dir()
            return bundle

    monkeypatch.setattr(download, "Registry", FakeRegistry)
    digest = seal.digest_bundle(bundle)
    _, origin = bring(params(kind="champion", sha256=digest), tmp_path)

    assert asked == [("nmt-de-en", digest)]
    assert origin == {"registered": "version 3 of nmt-de-en", "bundle_sha256": digest}
    assert not (tmp_path / "scratch").exists()
    with pytest.raises(
        BundleError, match="differs from params"
    ):  # independent of the registry's answer
        bring(params(kind="champion", sha256="0" * 64), tmp_path)


def test_models_are_found_from_any_folder(project):
    """An experiment works in a folder of its own."""
    given = BundleModel(kind="bundle", folder=Path("models/initial"))
    assert given.absolute().folder == project / "models/initial"
