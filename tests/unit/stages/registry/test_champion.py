"""The champion is fetched once, and its folder is always whole."""

import logging
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import seal
from nmt_core.base.errors import BundleError, NmtError
from stages.registry import champion as module
from stages.registry.champion import fetch_champion, follow_champion
from stages.registry.registry import RegistryAwayError, RegistryError, Version
from stages.tracking.journal import BUNDLE_DIGEST

AWAY, AWAY_MIDWAY = RegistryAwayError("away"), RegistryAwayError("away")
ALTERED, NO_ROOM = BundleError("altered"), NmtError("no room")


def write_bundle(bundle, number):
    (bundle / "engines").mkdir(parents=True)
    (bundle / "engines" / "model.bin").write_text(f"weights {number}")
    (bundle / seal.MANIFEST).write_text(f"manifest {number}")
    return bundle


@cache
def digest(number):
    with TemporaryDirectory() as folder:
        return seal.digest_bundle(write_bundle(Path(folder) / "bundle", number))


class FakeRegistry:
    """Has versions whose manifest is their number, and fails on request."""

    name = "nmt-de-en"

    def __init__(self, number=None):
        self.number, self.error, self.fetched = number, None, []

    def advise(self):
        return "promote one"

    def champion(self):
        if self.error is AWAY:
            raise self.error
        return self.number and Version(
            number=self.number, tags={BUNDLE_DIGEST: digest(self.number)}
        )

    def fetch(self, version, folder):
        self.fetched.append(version.number)
        bundle = write_bundle(folder / "artifacts" / "bundle", version.number)
        if self.error:
            raise self.error
        return bundle


@pytest.fixture
def registry():
    return FakeRegistry(1)


@pytest.mark.parametrize("error", [ALTERED, RegistryError("another export")])
def test_broken_champion_is_fetched_again_after_another(registry, tmp_path, error):
    folder, refused = tmp_path / "champion", {}
    for registry.number, registry.error, reason in (
        (1, None, None),
        (2, AWAY_MIDWAY, "away"),
        (2, NO_ROOM, "no room"),
        (2, error, str(error)),
        (2, None, str(error)),
        (2, None, str(error)),
        (1, None, None),
        (2, None, None),
    ):
        with nullcontext() if reason is None else pytest.raises(NmtError, match=reason):
            assert fetch_champion(registry, folder, refused)[1] == str(registry.number)
    assert registry.fetched == [1, 2, 2, 2, 2]


def test_missing_champion_is_an_error(tmp_path):
    with pytest.raises(RegistryError, match=r"^nmt-de-en has no champion; promote one"):
        fetch_champion(FakeRegistry(), tmp_path / "champion", {})


def read_folder(folder):
    """Return the number of the version in a folder, None without a version."""
    if not folder.exists():
        return None
    contents = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert contents == {seal.MANIFEST, "engines", "engines/model.bin"}
    number = (folder / seal.MANIFEST).read_text().split()[1]
    assert (folder / "engines" / "model.bin").read_text() == f"weights {number}"
    return int(number)


ERRORS = st.sampled_from([None, AWAY, AWAY_MIDWAY, ALTERED, NO_ROOM])


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from([None, 1, 2, 3]), ERRORS), max_size=8))
def test_folder_contains_the_last_fetched_champion(tmp_path_factory, story):
    registry, last = FakeRegistry(), None
    folder = tmp_path_factory.mktemp("models") / "below" / "champion"
    for registry.number, registry.error in story:
        before, fetched = read_folder(folder), len(registry.fetched)
        try:
            _, version, _ = fetch_champion(registry, folder, {})
        except (RegistryError, BundleError, NmtError):
            assert registry.error or registry.number is None
        else:
            last = registry.number
            assert version == str(last)
            assert len(registry.fetched) == fetched + (before != last)
        assert last == read_folder(folder)
        assert not folder.parent.exists() or {*folder.parent.iterdir()} <= {folder}


def test_follower_logs_changes_and_problems_once(tmp_path, monkeypatch, caplog):
    registry = FakeRegistry()
    story = iter([(1, None), (2, AWAY), (2, AWAY), (2, None), (2, None), (2, AWAY)])

    def sleep(seconds):
        assert seconds == 7
        if not (state := next(story, None)):
            raise KeyboardInterrupt
        registry.number, registry.error = state

    monkeypatch.setattr(module.time, "sleep", sleep)
    folder = tmp_path / "champion"
    with caplog.at_level(logging.INFO), pytest.raises(KeyboardInterrupt):
        follow_champion(registry, folder, seconds=7)
    assert [record.getMessage() for record in caplog.records] == [
        f"{folder} is not updated: nmt-de-en has no champion; promote one",
        f"{folder} holds version 1 of nmt-de-en",
        f"{folder} is not updated: away",
        f"{folder} holds version 2 of nmt-de-en",
        f"{folder} is not updated: away",
    ]
