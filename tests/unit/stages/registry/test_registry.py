"""Whatever is promoted, withdrawn, repeated or killed, in any order: the champion is whole."""

from collections import Counter
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stages.registry import __main__ as program
from stages.registry import registry as module
from stages.registry.exported import Exported, HeldOut
from stages.registry.overview import find_last_event
from stages.registry.registry import Registry
from stages.registry.versions import (
    ChampionMovedError,
    RegistryAwayError,
    RegistryError,
)
from stages.tracking.journal import BUNDLE_DIGEST, pack_tags, unpack_tags
from stages.tracking.tracker import TrackingError
from tests.support.registries import number, promote
from tests.support.scripted import LANGUAGES

VERSIONS = (1, 2, 3)
WHOLE = {"promotion", "promoted_at", "promoted_by", "reason", "previous_champion"}


class KilledError(BaseException):
    """The program is gone."""


class FakeMlflow:
    """What the registry asks of MLflow, and a life that ends after so many changes."""

    def __init__(self):
        self.tags = {number: {} for number in VERSIONS}
        self.champion = None
        self.description = None
        self.lives = None
        self.moves = []

    def told(self, version):
        """Return what the tags of a version say."""
        return unpack_tags(self.tags[version])

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
        self.moves.append(self.told(int(version))["promotion"])

    def update_registered_model(self, name, description):
        self.description = description

    def _live(self):
        if self.lives == 0:
            raise KilledError
        self.lives = None if self.lives is None else self.lives - 1


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    ticks = count()
    monkeypatch.setattr(module, "now", lambda: f"{next(ticks):09d}")


def opened(mlflow=None):
    registry = Registry("nmt-de-en", nullcontext)
    registry.__dict__["_mlflow"] = mlflow or FakeMlflow()
    return registry, registry._mlflow


def withdraw(registry, **settings):
    return registry.rollback(by="me", reason="worse", **settings).number


LIVES = st.one_of(st.none(), st.integers(0, 9))
PROMOTIONS = st.tuples(st.sampled_from("abcd"), st.sampled_from(VERSIONS), LIVES)
ROLLBACKS = st.tuples(st.none(), st.none(), LIVES)
"""Who, of which version, and changes until death."""


@given(st.lists(st.one_of(PROMOTIONS, ROLLBACKS), max_size=14))
def test_the_champion_is_whole_and_no_promotion_is_made_twice(wishes):
    """A promotion that is asked for again is about the same version and the same champion."""
    registry, mlflow = opened()
    about, promoted = {}, Counter()
    for identity, version, lives in wishes:
        mlflow.lives = lives
        before = number(registry)
        if identity is None:
            with suppress(RegistryError, KilledError):
                back = withdraw(registry)
                assert back == number(registry) != before
                assert "rolled_back_at" in mlflow.tags[before]
        else:
            asked = about.setdefault(identity, (version, before))
            with suppress(RegistryError, KilledError):
                if promote(registry, *asked, identity):
                    promoted[identity] += 1
                    assert (before, number(registry)) == asked[::-1]
        mlflow.lives = None
        after = number(registry)
        assert after is None or mlflow.told(after).keys() >= WHOLE
        assert after == before or "rolled_back_at" not in mlflow.tags[after]
    assert set(promoted.values()) <= {1}


@given(st.sampled_from(["new", "withdrawn", "replaced"]), st.integers(0, 10))
def test_a_promotion_that_was_killed_is_made_when_it_is_repeated(history, lives):
    registry, mlflow = opened()
    promote(registry, 1, None, "first")
    if history != "new":
        promote(registry, 2, 1, "before")
    if history == "withdrawn":
        withdraw(registry)
    if history == "replaced":
        promote(registry, 3, 2, "since")
    asked = (registry, 2, number(registry), "again")
    mlflow.lives, killed = lives, True
    with suppress(KilledError):
        killed = not promote(*asked, p_value_bleu="0.01")
    mlflow.lives = None

    assert number(registry) == (asked[2] if killed else 2)
    assert killed == promote(*asked, p_value_bleu="0.01")
    assert number(registry) == 2
    assert not promote(*asked, p_value_bleu="0.01")
    assert "rolled_back_at" not in mlflow.tags[2]


@given(st.integers(0, 3))
def test_a_rollback_that_was_killed_is_repeated(lives):
    registry, mlflow = opened()
    promote(registry, 1, None, "first")
    promote(registry, 2, 1, "second")
    mlflow.lives = lives
    with pytest.raises(KilledError):
        withdraw(registry)
    mlflow.lives = None

    assert number(registry) == 2
    assert withdraw(registry) == number(registry) == 1


def test_a_promotion_is_not_repeated_after_what_followed_it():
    """Neither after a rollback nor after the next promotion, whoever is champion then."""
    registry, mlflow = opened()
    promote(registry, 1, None, "first")
    assert promote(registry, 2, 1, "second")
    assert promote(registry, 3, 2, "third")
    mlflow.champion = "1"  # by MLflow's own means

    assert not promote(registry, 2, 1, "second")
    assert promote(registry, 2, 1, "fourth")
    withdraw(registry)
    assert not promote(registry, 2, 1, "second")
    assert not promote(registry, 2, 1, "fourth")
    assert number(registry) == 1


def test_nobody_goes_back_to_what_was_withdrawn():
    registry, mlflow = opened()
    promote(registry, 1, None, "first")
    promote(registry, 2, 1, "second")
    withdraw(registry)
    promote(registry, 3, 1, "third")
    mlflow.tags[3] = pack_tags(mlflow.told(3) | {"previous_champion": "2"})

    with pytest.raises(RegistryError, match=r"version 2 of nmt-de-en, .* was withdrawn itself"):
        withdraw(registry)
    assert number(registry) == 3


def test_a_new_promotion_inherits_no_evidence():
    registry, mlflow = opened()
    promote(registry, 1, None, "first")
    promote(registry, 2, 1, "earned", p_value_bleu_bootstrap="0.01", dvc_lock_sha256="f00")
    withdraw(registry)
    promote(registry, 2, 1, "by hand")

    assert WHOLE | {"earlier_promotions"} == mlflow.told(2).keys()
    assert mlflow.told(2)["promotion"] == "by hand"


def test_what_is_refused_changes_nothing():
    registry, mlflow = opened()
    with pytest.raises(RegistryError, match="no champion to withdraw"):
        withdraw(registry)
    promote(registry, 1, None, "first")
    promote(registry, 2, 1, "second")
    told = {version: dict(tags) for version, tags in mlflow.tags.items()}

    for version, expected, error, words in (
        (3, 1, ChampionMovedError, "version 2 by now, not version 1"),
        (3, None, ChampionMovedError, "version 2 by now, not none"),
        (2, 2, RegistryError, "version 2 of nmt-de-en is the champion"),
        (7, 2, RegistryError, "no version 7; known: 3, 2, 1"),
    ):
        with pytest.raises(error, match=words):
            promote(registry, version, expected, "third")
    with pytest.raises(ChampionMovedError, match="version 2 by now, not version 3"):
        withdraw(registry, expected=3)
    assert (told, 2) == (mlflow.tags, number(registry))


def test_the_first_champion_has_none_before_it():
    registry, _ = opened()
    promote(registry, 1, None)

    with pytest.raises(RegistryError, match="version 1 is the first champion"):
        withdraw(registry)
    assert number(registry) == 1


def test_the_last_event_of_a_version_is_told():
    """Whoever made it champion again, or withdrew it, and not who promoted it first."""
    registry, _ = opened()
    promote(registry, 1, None, "first")
    promote(registry, 2, 1, "second")
    assert find_last_event(registry.version(3).tags) == ("–", "", "")
    assert find_last_event(registry.version(2).tags)[1:] == ("me", "better")
    registry.rollback(by="me", reason="nobody liked it")
    at, by, reason = find_last_event(registry.version(2).tags)
    assert (by, reason) == ("me", "nobody liked it")
    restored = "version 2 was withdrawn: nobody liked it"
    assert find_last_event(registry.version(1).tags) == (at, "me", restored)
    promote(registry, 3, 1, "third")
    promote(registry, 1, 3, "again")

    assert find_last_event(registry.version(1).tags)[1:] == ("me", "better")
    assert not [name for name in registry.version(1).tags if name.startswith("restored_")]


def test_what_is_done_stays_done_though_it_cannot_be_described(monkeypatch):
    registry, mlflow = opened()
    monkeypatch.setattr(mlflow, "update_registered_model", lambda *_: away())

    assert promote(registry, 1, None, "first")
    assert number(registry) == 1


def away():
    raise OSError("nobody answers")


def test_what_is_packed_is_unpacked_and_short():
    tags = {"bleu": "30.1", "bundle_sha256": "0a", "p_value_bleu_bootstrap": "0.01", "reason": "-"}

    assert unpack_tags(pack_tags(tags)) == tags
    assert pack_tags(tags).keys() == {"bleu", "reason", "record"}
    assert [*pack_tags(tags)][-1] == "record"  # which says that a promotion was made
    assert pack_tags({"bleu": "1"}) == unpack_tags({"bleu": "1"}) == {"bleu": "1"}


EXPORTED = Exported(
    Path("models/export"),
    "nmt-de-en",
    LANGUAGES,
    HeldOut([], []),
    {"fingerprint": "f", BUNDLE_DIGEST: "0a"},
)


def test_an_export_that_is_not_registered_is_sent_once(project, monkeypatch):
    registry, mlflow = opened()
    sent = []
    monkeypatch.setattr(module, "send", sent.append)
    with pytest.raises(RegistryError, match=r"models/export is not the export to register"):
        registry.version_holding(EXPORTED)
    monkeypatch.setattr(module, "send", lambda journal: mlflow.tags.update({4: EXPORTED.tags}))
    found = [registry.version_holding(EXPORTED) for _ in range(2)]

    assert found == [registry.version(4)] * 2 == [registry.find_initial("0a")] * 2
    [journal] = sent
    noted = [entry for entry in journal.read()[0] if entry["kind"] == "model"]
    assert [(one["path"], one["name"], one["tags"]) for one in noted] == [
        ("models/export", "nmt-de-en", EXPORTED.tags)
    ] * 2


def test_an_export_waits_for_mlflow_to_be_back(project, monkeypatch):
    def send(_):
        raise TrackingError("nobody answers")

    monkeypatch.setattr(module, "send", send)
    with pytest.raises(RegistryAwayError, match=r"^nobody answers; start it, or set MLFLOW_TRACK"):
        opened()[0].version_holding(EXPORTED)


def test_training_starts_from_the_champion_or_from_what_is_named():
    registry, _ = opened()
    for digest, told in (("", "no champion"), ("0b", "no version of SHA-256 0b")):
        with pytest.raises(
            RegistryError, match=f"nmt-de-en has {told} to start training from; set"
        ):
            registry.find_initial(digest)
    promote(registry, 2, None)
    assert registry.find_initial("") == registry.version(2)


@pytest.mark.parametrize(("name", "pair"), [("nmt-de-en", ("de", "en")), ("another", None)])
def test_the_champion_is_served_or_followed_as_it_is_asked_for(monkeypatch, name, pair):
    registry = Registry(name, nullcontext)
    registry.__dict__["_mlflow"] = FakeMlflow()
    promote(registry, 1, None)
    asked, options = [], ["--host=::1", "--port=0", "--host-name=a.example", "--threads=2"]
    monkeypatch.setattr(program, "open_registry", lambda _: registry)
    monkeypatch.setattr(program, "serve_models", lambda *given, keys: asked.extend([given, keys]))
    monkeypatch.setattr(
        program, "follow_champion", lambda *given, **how: asked.extend([given, how])
    )
    for command in (["serve", *options, "--api-keys=keys"], ["follow", "folder", "--seconds=2"]):
        assert CliRunner().invoke(program.app, command).exit_code == 0
    ([watched], load, config), keys, followed, waits = asked

    assert (watched.pair, watched.model, keys) == (pair, None, Path("keys"))
    assert load.keywords == {"threads": 2}
    assert (config.host, config.port, config.hosts, config.workers) == ("::1", 0, ("a.example",), 2)
    assert (followed, waits) == ((registry, Path("folder")), {"seconds": 2.0})
