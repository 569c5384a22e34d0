"""After promotions, withdrawals, repetitions and crashes in any order, the champion is whole."""

from collections import Counter
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import NmtError
from stages.registry import registry as module
from stages.registry.__main__ import describe_last_event
from stages.registry.exported import Exported, HeldOut
from stages.registry.registry import ChampionMovedError, Registry, RegistryAwayError, RegistryError
from stages.tracking.journal import BUNDLE_DIGEST
from tests.support.registries import number, promote
from tests.support.scripted import LANGUAGES

VERSIONS = (1, 2, 3)
WHOLE = {"promotion", "promoted_at", "promoted_by", "reason", "previous_champion"}


class KilledError(BaseException):
    """The program has crashed."""


class FakeMlflow:
    """The part of MLflow that the registry uses; crashes after a number of changes."""

    def __init__(self):
        self.tags = {number: {} for number in VERSIONS}
        self.champion = None
        self.lives = None

    def search_model_versions(self, query):
        return [SimpleNamespace(version=n, tags=tags) for n, tags in self.tags.items()]

    def search_registered_models(self, query):
        aliases = {} if self.champion is None else {"champion": self.champion}
        return [SimpleNamespace(aliases=aliases)]

    def set_model_version_tag(self, name, version, key, value):
        self._live()
        self.tags[int(version)][key] = value

    def delete_model_version_tag(self, name, version, key):
        self._live()
        del self.tags[int(version)][key]

    def set_registered_model_alias(self, name, alias, version):
        self._live()
        self.champion = version

    def _live(self):
        if self.lives == 0:
            raise KilledError
        self.lives = None if self.lives is None else self.lives - 1


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    ticks = count()
    monkeypatch.setattr(module, "now", lambda: f"{next(ticks):09d}")


def opened(mlflow=None, champions=0):
    """Return a registry and its MLflow, with the first versions promoted in turn."""
    registry = Registry("nmt-de-en", nullcontext)
    registry.__dict__["_mlflow"] = mlflow or FakeMlflow()
    for version in range(1, champions + 1):
        promote(registry, version, version - 1 or None, f"promotion {version}")
    return registry, registry._mlflow


def withdraw(registry, **settings):
    return registry.rollback(by="me", reason="worse", **settings).number


LIVES = st.one_of(st.none(), st.integers(0, 9))
WISHES = st.tuples(st.sampled_from([*VERSIONS, None]), LIVES)
"""A version to promote, or None for a rollback; and the number of changes before a crash."""


@given(st.lists(WISHES, max_size=14))
def test_champion_is_whole_and_no_promotion_repeats(wishes):
    """A repeated promotion names the same version and the same champion."""
    registry, mlflow = opened()
    requests, promoted = {}, Counter()
    for version, lives in wishes:
        mlflow.lives = lives
        before = number(registry)
        if version is None:
            with suppress(RegistryError, KilledError):
                back = withdraw(registry)
                assert back == number(registry) != before
                assert "rolled_back_at" in mlflow.tags[before]
        else:
            expected = requests.setdefault(version, before)
            with suppress(RegistryError, KilledError):
                if promote(registry, version, expected, f"promotion {version}"):
                    promoted[version] += 1
                    assert (before, number(registry)) == (expected, version)
        mlflow.lives = None
        after = number(registry)
        assert after is None or mlflow.tags[after].keys() >= WHOLE
        assert after == before or "rolled_back_at" not in mlflow.tags[after]
    assert set(promoted.values()) <= {1}


@given(st.sampled_from(["new", "withdrawn", "replaced"]), st.integers(0, 10))
def test_killed_promotion_can_be_repeated(history, lives):
    registry, mlflow = opened(champions={"new": 1, "withdrawn": 2, "replaced": 3}[history])
    if history == "withdrawn":
        withdraw(registry)
    before = number(registry)
    request = (registry, 2, before, "again")
    mlflow.lives, killed = lives, True
    with suppress(KilledError):
        killed = not promote(*request, held_out="by hash")
    mlflow.lives = None

    assert number(registry) == (before if killed else 2)
    assert killed == promote(*request, held_out="by hash")
    assert number(registry) == 2
    assert not promote(*request, held_out="by hash")
    assert "rolled_back_at" not in mlflow.tags[2]


@pytest.mark.parametrize("lives", range(4))
def test_killed_rollback_can_be_repeated(lives):
    registry, mlflow = opened(champions=2)
    mlflow.lives = lives
    with pytest.raises(KilledError):
        withdraw(registry)
    mlflow.lives = None

    assert number(registry) == 2
    assert withdraw(registry) == number(registry) == 1


def test_promotion_is_not_repeated_after_a_rollback():
    registry, mlflow = opened(champions=2)
    withdraw(registry)
    assert not promote(registry, 2, 1, "promotion 2")
    assert number(registry) == 1
    assert promote(registry, 2, 1, "by hand")
    assert mlflow.tags[2].keys() == WHOLE
    assert mlflow.tags[2]["promotion"] == "by hand"


@pytest.mark.parametrize(
    ("champions", "act", "error", "words"),
    [
        (0, withdraw, RegistryError, "no champion to withdraw"),
        (1, withdraw, RegistryError, "version 1 is the first champion"),
        (2, lambda one: promote(one, 3, 1), ChampionMovedError, "from version 1 to version 2"),
        (2, lambda one: promote(one, 3, None), ChampionMovedError, "from none to version 2"),
        (2, lambda one: promote(one, 2, 2), RegistryError, "version 2 of nmt-de-en is already"),
        (2, lambda one: promote(one, 7, 2), RegistryError, "no version 7; known: 3, 2, 1"),
        (2, lambda one: withdraw(one, expected=3), ChampionMovedError, "from version 3 to"),
        (0, lambda one: one.find_initial(""), RegistryError, "has no champion to start training"),
        (1, lambda one: one.find_initial("0b"), RegistryError, "has no version of SHA-256 0b"),
    ],
)
def test_refusals_change_nothing(champions, act, error, words):
    registry, mlflow = opened(champions=champions)
    tags, before = {version: dict(tags) for version, tags in mlflow.tags.items()}, mlflow.champion
    with pytest.raises(error, match=words):
        act(registry)
    assert (mlflow.tags, mlflow.champion) == (tags, before)


def test_rollback_to_a_withdrawn_version_is_refused():
    registry, mlflow = opened(champions=2)
    withdraw(registry)
    promote(registry, 3, 1, "third")
    mlflow.tags[3] |= {"previous_champion": "2"}

    with pytest.raises(RegistryError, match="version 2, the previous champion, was withdrawn"):
        withdraw(registry)
    assert number(registry) == 3


def test_last_event_is_the_promotion_or_its_withdrawal():
    registry, _ = opened(champions=2)

    def describe(version):
        moment, _, event = describe_last_event(registry.version(version)).partition(" by ")
        return moment.isdecimal(), event

    assert describe(3) == (False, "")
    assert describe(2) == (True, "me: better")
    registry.rollback(by="you", reason="nobody liked it")
    assert describe(2) == (True, "you: nobody liked it")
    assert describe(1) == (True, "me: better")
    promote(registry, 3, 1, "third")
    promote(registry, 2, 3, "again")
    assert describe(2) == (True, "me: better")


def test_training_starts_from_the_champion():
    registry, _ = opened(champions=2)
    assert registry.find_initial("") == registry.version(2)


EXPORTED = Exported(
    Path("models/export"),
    "nmt-de-en",
    LANGUAGES,
    HeldOut([], []),
    {"fingerprint": "f", BUNDLE_DIGEST: "0a"},
)


def test_export_that_is_not_registered_is_sent_once(project, monkeypatch):
    registry, mlflow = opened()
    for send, error, words in (
        (Mock(side_effect=NmtError("no answer")), RegistryAwayError, "^no answer; start it"),
        (Mock(), RegistryError, r"has replaced models/export"),
    ):
        monkeypatch.setattr(module, "send", send)
        with pytest.raises(error, match=words):
            registry.version_holding(EXPORTED)
    [noted] = {
        (one["path"], one["name"], *one["tags"].items())
        for one in send.call_args.args[0].read()[0]
        if one["kind"] == "model"
    }
    assert noted == ("models/export", "nmt-de-en", *EXPORTED.tags.items())
    monkeypatch.setattr(module, "send", lambda journal: mlflow.tags.update({4: EXPORTED.tags}))
    assert registry.version_holding(EXPORTED) == registry.version(4) == registry.find_initial("0a")
    monkeypatch.setattr(module, "send", Mock(side_effect=AssertionError))
    assert registry.version_holding(EXPORTED) == registry.version(4)
