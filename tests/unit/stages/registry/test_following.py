"""A folder that follows the champion: whole, whoever promotes, fails or is away."""

import logging
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import seal
from nmt_core.base.errors import BundleError, DiskError
from stages.registry import following
from stages.registry.following import fetch_champion, follow_champion
from stages.registry.versions import RegistryAwayError, RegistryError


class FakeRegistry:
    """Holds versions whose manifest is their number, and fails as it is told."""

    name = "nmt-de-en"

    def __init__(self):
        self.number = None
        self.failure = None
        self.fetched = []

    def advise(self):
        return "promote one"

    def champion(self):
        if isinstance(self.failure, RegistryAwayError):
            raise self.failure
        return self.number and SimpleNamespace(number=self.number, digest=digest(self.number))

    def fetch(self, version, folder):
        self.fetched.append(version.number)
        bundle = folder / "artifacts" / "bundle"
        (bundle / "engines").mkdir(parents=True)
        (bundle / "engines" / "model.bin").write_text(f"weights {version.number}")
        if self.failure:
            raise self.failure
        (bundle / seal.MANIFEST).write_text(f"manifest {version.number}")
        return bundle


DIGESTS = {}


def digest(number):
    return DIGESTS[number]


@pytest.fixture(scope="module", autouse=True)
def _digests(tmp_path_factory):
    for number in (1, 2, 3):
        folder = tmp_path_factory.mktemp("bundle")
        (folder / seal.MANIFEST).write_text(f"manifest {number}")
        DIGESTS[number] = seal.digest_bundle(folder)


def held(folder):
    """The number of the version that lies in a folder, None if none does."""
    if not folder.exists():
        return None
    contents = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert {seal.MANIFEST, "engines", "engines/model.bin"} == contents
    number = (folder / seal.MANIFEST).read_text().split()[1]
    assert f"weights {number}" == (folder / "engines" / "model.bin").read_text()
    return int(number)


FAILURES = [None, RegistryAwayError("away"), BundleError("altered"), DiskError("no room")]


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from([None, 1, 2, 3]), st.sampled_from(FAILURES)), max_size=8))
def test_the_folder_holds_the_champion_or_the_last_one_that_came(tmp_path_factory, story):
    registry, last = FakeRegistry(), None
    folder = tmp_path_factory.mktemp("models") / "below" / "champion"
    for registry.number, registry.failure in story:
        before, fetched = held(folder), len(registry.fetched)
        try:
            version = fetch_champion(registry, folder)
        except (RegistryError, BundleError, DiskError):
            assert registry.failure or registry.number is None
            assert before == held(folder)
        else:
            last = registry.number
            assert version is None if before == last else version.number == last
            assert len(registry.fetched) == fetched + (before != last)  # and never in vain
        assert last == held(folder)
        assert not folder.parent.exists() or {folder.name} >= {
            path.name for path in folder.parent.iterdir()
        }
    shutil.rmtree(folder.parents[1])


def test_without_a_champion_there_is_a_sentence(tmp_path):
    with pytest.raises(RegistryError, match=r"^nmt-de-en has no champion to fetch; promote one"):
        fetch_champion(FakeRegistry(), tmp_path / "champion")


def test_what_goes_wrong_is_told_once_and_what_is_well_again_too(tmp_path, monkeypatch, caplog):
    registry = FakeRegistry()
    story = iter([(1, None), (2, FAILURES[1]), (2, FAILURES[1]), (2, None), (2, None), (2, None)])

    def sleep(seconds):
        assert 7 == seconds
        try:
            registry.number, registry.failure = next(story)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(following.time, "sleep", sleep)
    folder = tmp_path / "champion"
    with caplog.at_level(logging.INFO), pytest.raises(KeyboardInterrupt):
        follow_champion(registry, folder, seconds=7)

    assert [
        f"{folder} stays as it is: nmt-de-en has no champion to fetch; promote one",
        f"{folder} holds version 1 of nmt-de-en",
        f"{folder} stays as it is: away",
        f"{folder} holds version 2 of nmt-de-en",
    ] == [record.getMessage() for record in caplog.records]
