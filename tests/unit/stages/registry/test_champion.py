"""The champion is fetched once, beside the one before, and what is broken is not fetched again."""

import pytest

from nmt_core.base.errors import BundleError
from stages.registry.champion import ChampionSource
from stages.registry.versions import RegistryAwayError, RegistryError, Version
from stages.tracking.journal import BUNDLE_DIGEST


class FakeRegistry:
    name = "nmt-de-en"

    def __init__(self):
        self.number = 1
        self.fetched = []
        self.error = None

    def advise(self):
        return "promote one"

    def champion(self):
        if self.number is None:
            return None
        return Version(number=self.number, tags={BUNDLE_DIGEST: f"digest {self.number}"})

    def fetch(self, version, folder):
        self.fetched.append(version.number)
        (folder / "bundle").mkdir(parents=True)
        if self.error:
            raise self.error
        return folder / "bundle"


@pytest.fixture
def registry():
    return FakeRegistry()


@pytest.fixture
def source(registry, tmp_path):
    return ChampionSource(registry, tmp_path)


def poll(source, registry, number):
    registry.number = number
    return source.poll()


def test_a_champion_is_fetched_once(source, registry, tmp_path):
    first, again = source.poll(), source.poll()

    assert first == again == (tmp_path / "1/bundle", "1", "digest 1")
    assert [1] == registry.fetched


def test_the_folder_of_the_one_that_may_be_at_work_stays(source, registry, tmp_path):
    for number in (1, 2, 1):
        poll(source, registry, number)
    assert [1, 2] == registry.fetched
    poll(source, registry, 3)

    assert ["1", "3"] == sorted(folder.name for folder in tmp_path.iterdir())
    poll(source, registry, 2)
    assert [1, 2, 3, 2] == registry.fetched  # its folder was removed


def test_a_broken_version_is_not_fetched_again(source, registry, tmp_path):
    source.poll()
    registry.error = BundleError("altered")
    for _ in range(3):
        with pytest.raises(BundleError, match="altered"):
            poll(source, registry, 2)

    assert [1, 2] == registry.fetched
    assert ["1"] == [folder.name for folder in tmp_path.iterdir()]
    assert poll(source, registry, 1).version == "1"


def test_what_could_not_be_fetched_for_now_is_tried_again(source, registry, tmp_path):
    registry.error = RegistryAwayError("MLflow is away")
    with pytest.raises(RegistryAwayError):
        source.poll()
    assert [] == list(tmp_path.iterdir())
    registry.error = None

    assert source.poll().version == "1"
    assert [1, 1] == registry.fetched


def test_no_champion_is_told(source, registry):
    with pytest.raises(RegistryError, match="has no champion to serve"):
        poll(source, registry, None)
